"""The views that put tables together. Rates live here and nowhere else: null over nothing."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DerivedView:
    """A query over other views, and the tables it cannot do without."""

    needs: frozenset[str]
    sql: str


DERIVED: dict[str, DerivedView] = {
    "readings_in_force": DerivedView(
        needs=frozenset({"audit/interpretations", "audit/reclassifications"}),
        # A contradicted reading is unattestable and counts as none; an undetermined one counts.
        # A verdict that was reclassified gives way to the one that was written beside it.
        sql="""
SELECT *, CASE WHEN reading_support <> 'CONTRADICTED' THEN reading END AS counted
FROM audit_interpretations
ANTI JOIN audit_reclassifications USING (tenant_id, verdict_id)
QUALIFY row_number() OVER (
    PARTITION BY tenant_id, verdict_id ORDER BY reading_version DESC
) = 1
""",
    ),
    "gradings": DerivedView(
        needs=frozenset({"graded", "ungraded"}),
        sql="""
SELECT * FROM graded
UNION ALL BY NAME
SELECT * FROM ungraded
""",
    ),
    "policies_by_episode": DerivedView(
        needs=frozenset({"audit/policy_results"}),
        sql="""
SELECT
    tenant_id,
    episode_id,
    count(*) AS policies,
    count(*) FILTER (WHERE policy_passed) AS policies_passed,
    count(*) FILTER (WHERE NOT policy_passed) AS policies_unmet,
    count(*) FILTER (WHERE policy_passed IS NULL) AS policies_not_evaluated,
    string_agg(policy, ', ' ORDER BY policy) FILTER (WHERE NOT policy_passed)
        AS policies_unmet_names
FROM audit_policy_results
GROUP BY tenant_id, episode_id
""",
    ),
    "readings_by_episode": DerivedView(
        needs=frozenset({"audit/verdicts", "audit/interpretations"}),
        sql="""
SELECT
    v.tenant_id,
    v.episode_id,
    count(*) AS verdicts,
    count(*) FILTER (WHERE i.counted = 'ACCEPTED') AS accepted,
    count(*) FILTER (WHERE i.counted = 'REJECTED') AS rejected,
    count(*) FILTER (WHERE i.counted = 'UNDECIDED') AS undecided_verdicts,
    count(*) FILTER (WHERE i.counted = 'NOT_APPLICABLE') AS not_applicable_verdicts,
    count(*) FILTER (WHERE i.counted = 'NOT_ASSESSED') AS not_assessed,
    count(*) FILTER (WHERE i.counted IS NULL) AS unattestable_verdicts,
    last(i.reading ORDER BY v.judged_at, v.verdict_id) AS last_reading,
    last(i.reading_support ORDER BY v.judged_at, v.verdict_id) AS last_reading_support,
    last(v.verdict_id ORDER BY v.judged_at, v.verdict_id) AS last_verdict_id
FROM audit_verdicts v
JOIN readings_in_force i USING (tenant_id, verdict_id)
WHERE v.compared_episode_id IS NULL
GROUP BY v.tenant_id, v.episode_id
""",
    ),
    "episodes": DerivedView(
        needs=frozenset(
            {
                "graded",
                "ungraded",
                "audit/policy_results",
                "audit/verdicts",
                "audit/interpretations",
            }
        ),
        sql="""
SELECT
    g.*,
    coalesce(p.policies, 0) AS policies,
    coalesce(p.policies_passed, 0) AS policies_passed,
    coalesce(p.policies_unmet, 0) AS policies_unmet,
    coalesce(p.policies_not_evaluated, 0) AS policies_not_evaluated,
    p.policies_unmet_names,
    coalesce(r.verdicts, 0) AS verdicts,
    coalesce(r.accepted, 0) AS accepted,
    coalesce(r.rejected, 0) AS rejected,
    coalesce(r.undecided_verdicts, 0) AS undecided_verdicts,
    coalesce(r.not_applicable_verdicts, 0) AS not_applicable_verdicts,
    coalesce(r.not_assessed, 0) AS not_assessed,
    coalesce(r.unattestable_verdicts, 0) AS unattestable_verdicts,
    r.last_reading,
    r.last_reading_support,
    r.last_verdict_id
FROM gradings g
LEFT JOIN policies_by_episode p USING (tenant_id, episode_id)
LEFT JOIN readings_by_episode r USING (tenant_id, episode_id)
""",
    ),
    "ungraded_by_reason": DerivedView(
        needs=frozenset({"audit/grading_counts"}),
        sql="""
SELECT tenant_id, outcome AS ungraded_reason, CAST(sum(count) AS BIGINT) AS episodes
FROM audit_grading_counts
WHERE outcome NOT IN ('relative', 'tournament')
GROUP BY tenant_id, outcome
""",
    ),
    "grading_rates": DerivedView(
        needs=frozenset({"audit/grading_counts"}),
        sql="""
SELECT
    tenant_id,
    CAST(sum(CASE WHEN outcome IN ('relative', 'tournament') THEN count ELSE 0 END) AS BIGINT)
        AS graded,
    CAST(sum(count) AS BIGINT) - graded AS ungraded,
    graded / nullif(graded + ungraded, 0) AS graded_rate
FROM audit_grading_counts
GROUP BY tenant_id
""",
    ),
    "not_judged": DerivedView(
        needs=frozenset({"graded", "ungraded", "audit/verdicts"}),
        sql="""
WITH judged AS (
    SELECT tenant_id, episode_id FROM audit_verdicts
    UNION
    SELECT tenant_id, compared_episode_id FROM audit_verdicts WHERE compared_episode_id IS NOT NULL
)
SELECT
    g.tenant_id,
    g.task_id,
    count(*) AS episodes,
    count(*) FILTER (WHERE j.episode_id IS NULL) AS not_judged
FROM gradings g
LEFT JOIN judged j USING (tenant_id, episode_id)
GROUP BY g.tenant_id, g.task_id
""",
    ),
    "pass_rates": DerivedView(
        needs=frozenset({"audit/accounting"}),
        sql="""
SELECT
    tenant_id,
    task_id,
    judge_id,
    day,
    CAST(sum(passes) AS BIGINT) AS passes,
    CAST(sum(non_passes) AS BIGINT) AS non_passes,
    CAST(sum(excluded) AS BIGINT) AS excluded,
    CAST(sum(instrument_failures) AS BIGINT) AS instrument_failures,
    CAST(sum(unattestable) AS BIGINT) AS unattestable,
    sum(passes) / nullif(sum(passes) + sum(non_passes), 0) AS pass_rate,
    true AS contradicted_never_counted,
    true AS undetermined_counted
FROM audit_accounting
GROUP BY tenant_id, task_id, judge_id, day
""",
    ),
    "restated_pass_rates": DerivedView(
        needs=frozenset({"audit/verdicts", "audit/interpretations"}),
        sql="""
SELECT
    v.tenant_id,
    v.task_id,
    count(*) AS verdicts,
    count(*) FILTER (WHERE v.recorded_passed) AS recorded_passes,
    count(*) FILTER (WHERE NOT v.recorded_passed) AS recorded_non_passes,
    recorded_passes / nullif(recorded_passes + recorded_non_passes, 0) AS recorded_pass_rate,
    count(*) FILTER (WHERE i.counted = 'ACCEPTED') AS restated_passes,
    count(*) FILTER (WHERE i.counted IN ('REJECTED', 'UNDECIDED')) AS restated_non_passes,
    count(*) FILTER (WHERE i.counted = 'NOT_APPLICABLE') AS excluded,
    count(*) FILTER (WHERE i.counted = 'NOT_ASSESSED') AS instrument_failures,
    count(*) FILTER (WHERE i.counted IS NULL) AS unattestable,
    restated_passes / nullif(restated_passes + restated_non_passes, 0) AS restated_pass_rate
FROM audit_verdicts v
JOIN readings_in_force i USING (tenant_id, verdict_id)
WHERE v.recorded_passed IS NOT NULL
GROUP BY v.tenant_id, v.task_id
""",
    ),
}
"""By name, in an order in which they can be made."""
