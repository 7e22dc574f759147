"""Views of what verdicts say: readings in force, pass rates, what was recorded and is restated."""

from judgebatch.warehouse.derived_view import DerivedView
from judgebatch.warehouse.rate_sql import share

_COUNTED = """
    count(*) FILTER (WHERE i.counted = 'ACCEPTED') AS passes,
    count(*) FILTER (WHERE i.counted IN ('REJECTED', 'UNDECIDED')) AS non_passes,
    count(*) FILTER (WHERE i.counted = 'NOT_APPLICABLE') AS excluded,
    count(*) FILTER (WHERE i.counted = 'NOT_ASSESSED') AS not_assessed,
    count(*) FILTER (WHERE i.counted IS NULL) AS unattestable
"""

VERDICTS: dict[str, DerivedView] = {
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
    "pass_rates": DerivedView(
        needs=frozenset({"audit/verdicts", "audit/interpretations"}),
        # A comparison passes nobody: its left side winning is no pass of an episode.
        sql=f"""
WITH counts AS (
    SELECT
        v.tenant_id,
        v.task_id,
        coalesce(v.judge_id, '') AS judge_id,
        CAST(v.judged_at AT TIME ZONE 'UTC' AS DATE) AS day,
        {_COUNTED}
    FROM audit_verdicts v
    JOIN readings_in_force i USING (tenant_id, verdict_id)
    WHERE v.compared_episode_id IS NULL
    GROUP BY ALL
)
SELECT
    *,
    {share("passes", "(passes + non_passes)", "pass_rate")},
    true AS contradicted_never_counted,
    true AS undetermined_counted
FROM counts
""",
    ),
    "verdict_rates": DerivedView(
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
