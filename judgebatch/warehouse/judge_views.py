"""Views of how far judges can be relied on: every rate with its counts and an interval."""

from judgebatch.warehouse.derived_view import DerivedView
from judgebatch.warehouse.rate_sql import alpha, rate, share, total_usd

JUDGES: dict[str, DerivedView] = {
    "judge_reliability": DerivedView(
        needs=frozenset({"audit/judge_answers"}),
        sql=f"""
WITH counts AS (
    SELECT
        tenant_id,
        judge_id,
        judge,
        CAST(sum(answers) AS BIGINT) AS answers,
        CAST(sum(CASE WHEN answer = 'pass' THEN answers ELSE 0 END) AS BIGINT) AS passes,
        CAST(sum(CASE WHEN answer = 'fail' THEN answers ELSE 0 END) AS BIGINT) AS fails,
        CAST(sum(CASE WHEN answer = 'left' THEN answers ELSE 0 END) AS BIGINT) AS left_wins,
        CAST(sum(CASE WHEN answer = 'right' THEN answers ELSE 0 END) AS BIGINT) AS right_wins,
        CAST(sum(CASE WHEN answer = 'tie' THEN answers ELSE 0 END) AS BIGINT) AS ties,
        CAST(sum(CASE WHEN answer = 'undecided' THEN answers ELSE 0 END) AS BIGINT) AS undecided,
        CAST(sum(CASE WHEN answer = 'not_applicable' THEN answers ELSE 0 END) AS BIGINT)
            AS not_applicable,
        CAST(sum(CASE WHEN answer = 'error' THEN answers ELSE 0 END) AS BIGINT) AS errors,
        CAST(sum(CASE WHEN answer = 'unattestable' THEN answers ELSE 0 END) AS BIGINT)
            AS unattestable
    FROM audit_judge_answers
    GROUP BY tenant_id, judge_id, judge
)
SELECT
    *,
    {share("errors", "answers", "error_rate")},
    {share("undecided", "answers", "undecided_rate")},
    {share("not_applicable", "answers", "exclusion_rate")},
    {share("ties", "(left_wins + right_wins + ties)", "tie_rate")}
FROM counts
""",
    ),
    "judge_errors": DerivedView(
        needs=frozenset({"audit/judge_answers", "audit/accounting_codes"}),
        sql=f"""
WITH asked AS (
    SELECT tenant_id, judge_id, judge, CAST(sum(answers) AS BIGINT) AS answers
    FROM audit_judge_answers
    GROUP BY tenant_id, judge_id, judge
), codes AS (
    SELECT tenant_id, judge_id, judge, code, CAST(sum(answers) AS BIGINT) AS errors
    FROM audit_judge_answers
    WHERE answer = 'error' AND judge <> ''
    GROUP BY tenant_id, judge_id, judge, code
    UNION ALL
    SELECT tenant_id, judge_id, '', code, CAST(sum(instrument_failures) AS BIGINT)
    FROM audit_accounting_codes
    GROUP BY tenant_id, judge_id, code
)
SELECT
    tenant_id,
    judge_id,
    judge,
    code,
    errors,
    answers,
    {share("errors", "answers", "error_rate")}
FROM codes
JOIN asked USING (tenant_id, judge_id, judge)
""",
    ),
    "position_bias": DerivedView(
        needs=frozenset({"audit/comparisons"}),
        # Only pairs that a judge saw in both orders: there neither side is the better one.
        sql=f"""
WITH decisive AS (
    SELECT
        tenant_id,
        coalesce(judge_id, '') AS judge_id,
        least("left", "right") AS one,
        greatest("left", "right") AS two,
        "left" < "right" AS straight,
        outcome
    FROM audit_comparisons
    WHERE outcome IN ('left', 'right', 'tie')
), pairs AS (
    SELECT
        tenant_id,
        judge_id,
        count(*) FILTER (WHERE straight) AS straights,
        count(*) FILTER (WHERE NOT straight) AS turned,
        count(*) FILTER (WHERE straight AND outcome = 'left') AS straight_left,
        count(*) FILTER (WHERE straight AND outcome = 'right') AS straight_right,
        count(*) FILTER (WHERE NOT straight AND outcome = 'left') AS turned_left,
        count(*) FILTER (WHERE NOT straight AND outcome = 'right') AS turned_right
    FROM decisive
    GROUP BY tenant_id, judge_id, one, two
), counts AS (
    SELECT
        tenant_id,
        judge_id,
        count(*) AS pairs,
        CAST(sum(straight_left + turned_left) AS BIGINT) AS left_wins,
        CAST(sum(straight_right + turned_right) AS BIGINT) AS right_wins,
        CAST(sum(straights + turned) AS BIGINT) - left_wins - right_wins AS ties
    FROM pairs
    WHERE straights = turned
    GROUP BY tenant_id, judge_id
)
SELECT
    *,
    {share("left_wins", "(left_wins + right_wins)", "left_rate")}
FROM counts
""",
    ),
    "judge_agreement": DerivedView(
        needs=frozenset({"audit/judge_agreement"}),
        sql=alpha(
            "audit_judge_agreement",
            ("first", "second", "ties", "undecided"),
            "verdicts",
            "tenant_id, judge_id, subject",
        ),
    ),
    "agreement_on_pairs": DerivedView(
        needs=frozenset({"audit/comparisons"}),
        sql=f"""
WITH units AS (
    SELECT
        tenant_id,
        least("left", "right") AS one,
        greatest("left", "right") AS two,
        count(*) FILTER (WHERE (outcome = 'left') = ("left" < "right") AND outcome <> 'tie')
            AS first,
        count(*) FILTER (WHERE (outcome = 'left') <> ("left" < "right") AND outcome <> 'tie')
            AS second,
        count(*) FILTER (WHERE outcome = 'tie') AS ties,
        1 AS pairs
    FROM audit_comparisons
    WHERE outcome IN ('left', 'right', 'tie')
    GROUP BY tenant_id, one, two
    HAVING count(DISTINCT coalesce(judge_id, '')) > 1
)
{alpha("units", ("first", "second", "ties"), "pairs", "tenant_id")}
""",
    ),
    "verifier_disagreement": DerivedView(
        needs=frozenset({"graded", "ungraded", "audit/verdicts", "audit/interpretations"}),
        sql=f"""
WITH counts AS (
    SELECT
        v.tenant_id,
        coalesce(v.judge_id, '') AS judge_id,
        count(*) FILTER (WHERE g.verifier_outcome = 'passed' AND i.counted = 'ACCEPTED')
            AS both_pass,
        count(*) FILTER (WHERE g.verifier_outcome = 'failed' AND i.counted = 'REJECTED')
            AS both_fail,
        count(*) FILTER (WHERE g.verifier_outcome = 'failed' AND i.counted = 'ACCEPTED')
            AS only_judge_passes,
        count(*) FILTER (WHERE g.verifier_outcome = 'passed' AND i.counted = 'REJECTED')
            AS only_verifier_passes
    FROM audit_verdicts v
    JOIN readings_in_force i USING (tenant_id, verdict_id)
    JOIN gradings g ON
        g.tenant_id = v.tenant_id
        AND g.task_id = v.task_id
        AND g.episode_id = v.episode_id
    WHERE v.compared_episode_id IS NULL
    GROUP BY v.tenant_id, coalesce(v.judge_id, '')
), totals AS (
    SELECT
        *,
        both_pass + both_fail + only_judge_passes + only_verifier_passes AS compared,
        only_judge_passes + only_verifier_passes AS disagreements
    FROM counts
)
SELECT
    *,
    {share("disagreements", "compared", "disagreement_rate")}
FROM totals
""",
    ),
    "judge_costs": DerivedView(
        needs=frozenset({"audit/comparisons"}),
        sql=f"""
WITH counts AS (
    SELECT
        tenant_id,
        coalesce(judge_id, '') AS judge_id,
        count(*) AS comparisons,
        count(*) FILTER (WHERE outcome IN ('left', 'right', 'tie')) AS usable,
        {total_usd("cost_usd")} AS cost_usd
    FROM audit_comparisons
    GROUP BY tenant_id, coalesce(judge_id, '')
)
SELECT
    *,
    {rate("cost_usd", "usable")} AS cost_per_usable_usd
FROM counts
""",
    ),
}
"""By name, in an order in which they can be made."""
