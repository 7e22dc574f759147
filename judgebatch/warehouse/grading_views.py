"""Views of what was graded, what was not and why, what it cost, and what changed."""

from judgebatch.warehouse.derived_view import DerivedView
from judgebatch.warehouse.rate_sql import mean_ms, mean_usd, rate, score, share

_GRADED = "('relative', 'tournament')"

GRADING: dict[str, DerivedView] = {
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
    "nights": DerivedView(
        needs=frozenset({"audit/grading_counts"}),
        sql=f"""
WITH counts AS (
    SELECT
        run,
        as_of,
        count(DISTINCT tenant_id) AS tenants,
        CAST(sum(CASE WHEN outcome IN {_GRADED} THEN count ELSE 0 END) AS BIGINT) AS graded,
        CAST(sum(count) AS BIGINT) - graded AS ungraded
    FROM audit_grading_counts
    GROUP BY run, as_of
)
SELECT
    *,
    {rate("graded", "(graded + ungraded)")} AS graded_rate
FROM counts
""",
    ),
    "ungraded_over_time": DerivedView(
        needs=frozenset({"audit/grading_counts"}),
        sql=f"""
WITH decided AS (
    SELECT run, tenant_id, CAST(sum(count) AS BIGINT) AS decided
    FROM audit_grading_counts
    GROUP BY run, tenant_id
)
SELECT
    c.run,
    c.as_of,
    c.tenant_id,
    c.outcome AS ungraded_reason,
    c.count AS episodes,
    d.decided,
    {rate("c.count", "d.decided")} AS ungraded_rate
FROM audit_grading_counts c
JOIN decided d USING (run, tenant_id)
WHERE c.outcome NOT IN {_GRADED}
""",
    ),
    "never_graded": DerivedView(
        needs=frozenset({"audit/grading_counts"}),
        sql=f"""
SELECT
    tenant_id,
    CAST(sum(count) AS BIGINT) AS decided,
    first(outcome ORDER BY count DESC, outcome) AS largest_reason
FROM (
    SELECT tenant_id, outcome, CAST(sum(count) AS BIGINT) AS count
    FROM audit_grading_counts
    GROUP BY tenant_id, outcome
)
GROUP BY tenant_id
HAVING decided > 0 AND coalesce(sum(count) FILTER (WHERE outcome IN {_GRADED}), 0) = 0
""",
    ),
    "leaderboard": DerivedView(
        needs=frozenset({"graded"}),
        # Strengths are centred in their group: places are given inside it and nowhere else.
        sql="""
SELECT
    tenant_id,
    task_id,
    score_kind,
    verifier_outcome,
    group_epoch,
    rank() OVER peers AS place,
    count(*) OVER everyone AS episodes,
    episode_id,
    variant,
    score,
    score_low,
    score_high,
    score_high >= max(score_low) OVER everyone AS may_be_first,
    strength,
    strength_se,
    wins,
    losses,
    ties,
    cost_usd,
    latency_ms
FROM graded
WINDOW
    everyone AS (PARTITION BY tenant_id, task_id, score_kind,
        CASE WHEN score_kind = 'tournament' THEN verifier_outcome END, group_epoch),
    peers AS (PARTITION BY tenant_id, task_id, score_kind,
        CASE WHEN score_kind = 'tournament' THEN verifier_outcome END, group_epoch
        ORDER BY score DESC)
""",
    ),
    "variant_leaderboard": DerivedView(
        needs=frozenset({"graded", "ungraded"}),
        sql=f"""
WITH counts AS (
    SELECT
        tenant_id,
        task_id,
        variant,
        count(*) AS episodes,
        count(score) AS graded,
        CAST(coalesce(sum(wins), 0) AS BIGINT) AS wins,
        CAST(coalesce(sum(losses), 0) AS BIGINT) AS losses,
        CAST(coalesce(sum(ties), 0) AS BIGINT) AS ties,
        {mean_usd("cost_usd")} AS mean_cost_usd,
        {mean_ms("latency_ms")} AS mean_latency_ms
    FROM gradings
    WHERE variant IS NOT NULL
    GROUP BY tenant_id, task_id, variant
), scored AS (
    SELECT
        *,
        {score("wins", "ties", "losses", "win_rate")}
    FROM counts
)
SELECT
    *,
    CASE WHEN win_rate IS NOT NULL THEN rank() OVER (
        PARTITION BY tenant_id, task_id ORDER BY win_rate DESC NULLS LAST
    ) END AS place
FROM scored
""",
    ),
    "verifier_outcomes": DerivedView(
        needs=frozenset({"graded", "ungraded"}),
        sql=f"""
WITH counts AS (
    SELECT
        tenant_id,
        task_id,
        count(*) FILTER (WHERE verifier_outcome = 'passed') AS verifier_passed,
        count(*) FILTER (WHERE verifier_outcome = 'failed') AS verifier_failed,
        count(*) FILTER (WHERE verifier_outcome NOT IN ('passed', 'failed')) AS verifier_other
    FROM gradings
    GROUP BY tenant_id, task_id
)
SELECT
    *,
    {share("verifier_passed", "(verifier_passed + verifier_failed)", "verifier_pass_rate")}
FROM counts
""",
    ),
    "policy_pass_rates": DerivedView(
        needs=frozenset({"audit/policy_counts"}),
        sql=f"""
WITH counts AS (
    SELECT
        tenant_id,
        policy,
        CAST(sum(met) AS BIGINT) AS met,
        CAST(sum(unmet) AS BIGINT) AS unmet,
        CAST(sum(not_evaluated) AS BIGINT) AS not_evaluated
    FROM audit_policy_counts
    GROUP BY tenant_id, policy
)
SELECT
    *,
    {share("met", "(met + unmet)", "met_rate")}
FROM counts
""",
    ),
    "spend_against_ceiling": DerivedView(
        needs=frozenset({"audit/budgets"}),
        sql=f"""
SELECT
    tenant_id,
    period,
    as_of,
    spent_usd,
    ceiling_usd,
    CASE WHEN ceiling_usd IS NOT NULL THEN round(greatest(ceiling_usd - spent_usd, 0), 9) END
        AS left_usd,
    {rate("spent_usd", "ceiling_usd")} AS spent_share,
    refused
FROM audit_budgets
QUALIFY row_number() OVER (PARTITION BY tenant_id, period ORDER BY run DESC) = 1
""",
    ),
    "decisions": DerivedView(
        needs=frozenset({"audit/promotion_steps", "audit/promotions"}),
        sql="""
WITH now AS (
    SELECT *
    FROM audit_promotion_steps
    QUALIFY row_number() OVER (
        PARTITION BY tenant_id, task_id, variant, baseline ORDER BY run DESC
    ) = 1
)
SELECT
    n.tenant_id,
    n.task_id,
    n.variant,
    n.baseline,
    CASE n.decision WHEN 'continue' THEN 'pending' ELSE n.decision END AS decision,
    p.decided_at,
    p.run AS decided_in_run,
    n.decided_after,
    n.wins,
    n.losses,
    n.ties,
    n.undecided,
    n.not_applicable,
    n.errors,
    n.unattestable,
    n.llr,
    n.accept_at,
    n.reject_at,
    n.log_e_value,
    n.as_of AS last_comparison_as_of
FROM now n
LEFT JOIN audit_promotions p
    ON p.tenant_id = n.tenant_id
    AND p.task_id IS NOT DISTINCT FROM n.task_id
    AND p.variant = n.variant
    AND p.baseline = n.baseline
""",
    ),
    "changes_since_previous_run": DerivedView(
        needs=frozenset({"audit/grading_counts"}),
        sql="""
WITH newest AS (
    SELECT max(run) AS run FROM audit_grading_counts
), before AS (
    SELECT max(run) AS run FROM audit_grading_counts WHERE run < (SELECT run FROM newest)
), now AS (
    SELECT * FROM audit_grading_counts WHERE run = (SELECT run FROM newest)
), earlier AS (
    SELECT * FROM audit_grading_counts WHERE run = (SELECT run FROM before)
)
SELECT
    (SELECT run FROM newest) AS run,
    (SELECT run FROM before) AS previous_run,
    tenant_id,
    outcome,
    coalesce(now.count, 0) AS episodes,
    coalesce(earlier.count, 0) AS episodes_before,
    coalesce(now.count, 0) - coalesce(earlier.count, 0) AS change
FROM now
FULL JOIN earlier USING (tenant_id, outcome)
""",
    ),
}
"""By name, in an order in which they can be made."""
