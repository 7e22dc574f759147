"""Sequential decisions about a variant, and the sums they continue from."""

from judgebatch.contracts import columns as c
from judgebatch.contracts.judgments import WantedPairs
from judgebatch.contracts.table import Table


class _Run(Table):
    run = c.count("The run that published the row.")
    as_of = c.time("The logical time of that run.")


class _Counted(Table):
    tenant_id = c.text("The isolation boundary.")
    task_id = c.text("The task; null where all tasks are decided together.", null=True)
    variant = c.text("The agent version under test: left in every comparison.")
    baseline = c.text("The version it is compared with.")

    wins = c.count("Comparisons the variant won.")
    losses = c.count("Comparisons it lost.")
    ties = c.count("Ties; they do not move the likelihood, nor does anything below.")
    undecided = c.count("Comparisons that came out undecided.")
    not_applicable = c.count("Comparisons that should not have been asked.")
    errors = c.count("Comparisons in which the instrument failed.")
    unattestable = c.count("Comparisons whose reading cannot be attested.")


class Promotions(_Run, _Counted):
    """One row per sequential decision; counts and sums as they stood when it fell."""

    name = "audit/promotions"
    order = ("tenant_id", "task_id", "variant", "baseline")
    identified_by = ("tenant_id", "task_id", "variant", "baseline")

    decision = c.text("accept or reject.")
    decided_at = c.time("When the deciding comparison was judged.")
    verdict_id = c.text("The deciding comparison.")
    decided_after = c.count("Comparisons up to and with the deciding one, whatever came of them.")
    llr = c.number("Log likelihood ratio of p1 against p0: wins ln(p1/p0) + losses ln(...).")
    accept_at = c.number("Accepted once llr is at least this: ln((1 - beta) / alpha).")
    reject_at = c.number("Rejected once llr is at most this: ln(beta / (1 - alpha)).")
    p0 = c.number("Chance to win a decisive comparison under the hypothesis of no gain.")
    p1 = c.number("That chance under the hypothesis of a gain.")
    alpha = c.number("Bound on the chance to accept where p0 holds.")
    beta = c.number("Bound on the chance to reject where p1 holds.")
    log_e_value = c.number("Logarithm of the anytime-valid e-value against no difference.")
    e_value_crossed_after = c.count(
        "Comparisons after which the e-value first reached 1 / alpha; null if it had not.",
        null=True,
    )


class PromotionSteps(_Run, _Counted):
    """One row per sequential test and run that brought it comparisons: its path, night by night."""

    name = "audit/promotion_steps"
    order = ("tenant_id", "task_id", "variant", "baseline")
    identified_by = ("run", "tenant_id", "task_id", "variant", "baseline")

    decision = c.text("accept, reject or continue, as it stood after the run.")
    decided_after = c.count("Comparisons up to the decision; null while undecided.", null=True)
    llr = c.number("Log likelihood ratio at the decision, or else after the run.")
    accept_at = c.number("Accepted once llr is at least this.")
    reject_at = c.number("Rejected once llr is at most this.")
    log_e_value = c.number("Logarithm of the anytime-valid e-value after the run.")
    e_value_crossed_after = c.count(
        "Comparisons after which the e-value first reached 1 / alpha; null if it has not.",
        null=True,
    )


class OpenPromotions(_Run, _Counted):
    """Snapshot: one row per undecided sequential test of the settings, and how far it is."""

    name = "open_promotions"
    kind = "snapshot"
    order = ("tenant_id", "task_id", "variant", "baseline")

    comparisons = c.count("Comparisons so far, whatever came of them.")
    llr = c.number("Log likelihood ratio of p1 against p0 so far.")
    accept_at = c.number("Accepted once llr is at least this: ln((1 - beta) / alpha).")
    reject_at = c.number("Rejected once llr is at most this: ln(beta / (1 - alpha)).")
    wins_to_accept = c.count("How many more wins, without a loss, would accept.")
    losses_to_reject = c.count("How many more losses, without a win, would reject.")
    p0 = c.number("Chance to win a decisive comparison under the hypothesis of no gain.")
    p1 = c.number("That chance under the hypothesis of a gain.")
    alpha = c.number("Bound on the chance to accept where p0 holds.")
    beta = c.number("Bound on the chance to reject where p1 holds.")
    log_e_value = c.number("Logarithm of the anytime-valid e-value against no difference.")
    e_value_crossed_after = c.count(
        "Comparisons after which the e-value first reached 1 / alpha; null if it has not.",
        null=True,
    )


class PromotionPairs(WantedPairs):
    """One row per pair that a judge may be asked about for an undecided test."""

    name = "promotion_pairs"

    scope_task_id = c.text("The test's task; null where all are decided together.", null=True)
    variant_is_left = c.flag("Whether the left episode is the variant's.")
    wins = c.count("Comparisons the variant has won in the test.")
    losses = c.count("Comparisons it has lost.")
    affordable = c.count("Answers that the tenant's ceiling still allows; null: any.", null=True)


class SequentialSums(_Counted):
    """What a sequential test has seen so far, decided or not; later comparisons add to it."""

    name = "sequential_sums"
    kind = "state"
    order = ("tenant_id", "task_id", "variant", "baseline")

    decision = c.text("accept, reject or continue.")
    decided_after = c.count("Comparisons up to the decision; null while undecided.", null=True)
    llr = c.number("Log likelihood ratio at the decision, or else now.")
    log_e_value = c.number("Logarithm of the e-value over everything so far.")
    e_value_crossed_after = c.count(
        "Comparisons after which the e-value first reached 1 / alpha; null if it has not.",
        null=True,
    )
