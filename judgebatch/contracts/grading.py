"""The tables that grading publishes."""

from judgebatch.contracts import columns as c
from judgebatch.contracts.table import Table


class _Run(Table):
    run = c.count("The run that published the row.")
    as_of = c.time("The logical time of that run.")


class _Subject(_Run):
    tenant_id = c.text("The isolation boundary.", key=True)
    task_id = c.text("What makes two episodes of a tenant comparable.")


class _Dimensions(_Subject):
    episode_id = c.text("Identity inside the tenant.", key=True)
    verifier_outcome = c.text("The deterministic verifier's result.")
    group_epoch = c.count("The group's epoch; null in reference mode.", null=True)
    group_size = c.count("Members of the closed group; null in reference mode.", null=True)
    undecided = c.count("Counted comparisons naming the episode that came out undecided.")
    not_applicable = c.count("Counted comparisons naming it that should not have been asked.")
    errors = c.count("Counted comparisons naming it in which the instrument failed.")
    unattestable = c.count("Counted comparisons naming it whose reading cannot be attested.")
    cost_usd = c.number("What the episode cost.")
    latency_ms = c.number("How long it took.")
    tool_calls = c.count("Tool calls.")
    tool_errors = c.count("Tool calls that failed.")
    tool_efficiency = c.number(
        "(tool_calls - tool_errors) / tool_calls; null without calls.", null=True
    )
    variant = c.text("The agent version under test.", null=True)
    arrived_at = c.time("When the episode arrived.")
    decided_at = c.time("When it was decided: a property of the data, not of the run.")
    state = c.text("Graded or Ungraded; both are terminal.")
    is_reducible = c.flag("Whether storage held for the episode may be reduced.")
    is_reference = c.flag("Whether references names it: then it must be kept.")
    extra = c.text("Columns of the input outside the contract, as JSON text.", null=True)


class Graded(_Dimensions):
    """One row per graded episode."""

    name = "graded"
    order = ("tenant_id", "task_id", "episode_id")

    score_kind = c.text("relative (to the reference) or tournament (to the group).")
    score = c.number("(wins + ties/2) / usable, or the chance to beat an average member.")
    score_low = c.number("Lower end of the score's 95 % interval.")
    score_high = c.number("Upper end of the score's 95 % interval.")
    strength = c.number("Fitted log-odds, centred in its group; null in reference mode.", null=True)
    strength_se = c.number("Standard error of the strength.", null=True)
    wins = c.count("Counted comparisons the episode won.")
    losses = c.count("Counted comparisons it lost.")
    ties = c.count("Counted ties.")
    reference_episode_id = c.text("What it was compared with; null in tournaments.", null=True)
    cost_ratio = c.number("Cost relative to the reference.", null=True)
    latency_ratio = c.number("Latency relative to the reference.", null=True)
    tool_efficiency_ratio = c.number("Tool efficiency relative to the reference.", null=True)


class Ungraded(_Dimensions):
    """One row per episode without a score, with the reason; there is no score column.

    The counts by cause stand beside ``no_usable_comparison`` and are null beside the others.
    """

    name = "ungraded"
    order = ("tenant_id", "task_id", "episode_id")

    ungraded_reason = c.text(
        "no_reference, budget_exhausted, insufficient_group or no_usable_comparison."
    )
    undecided = c.count("Counted comparisons that came out undecided.", null=True)
    not_applicable = c.count("Counted comparisons that should not have been asked.", null=True)
    errors = c.count("Counted comparisons in which the instrument failed.", null=True)
    unattestable = c.count("Counted comparisons whose reading cannot be attested.", null=True)
    missing = c.count("Wanted pairs without a counted comparison.", null=True)
    disconnected = c.count(
        "Counted usable comparisons that do not connect it to its group.", null=True
    )
    error_codes = c.text("Terminal codes of the errors, as JSON counts; null without.", null=True)


class Groups(_Subject):
    """One row per decided tournament group."""

    name = "groups"
    order = ("tenant_id", "task_id", "verifier_outcome", "group_epoch")

    task_id = c.text("What makes two episodes of a tenant comparable.", key=True)
    verifier_outcome = c.text("The outcome all members share.", key=True)
    group_epoch = c.count("Counts from 0 for each tenant, task and outcome.", key=True)
    opened_at = c.time("Effective arrival of the first member.")
    closed_at = c.time("Arrival of the quorum's last member, or the timeout.")
    close_reason = c.text("quorum or timeout.")
    decided_at = c.time("When no wanted pair wanted more, or the window ended.")
    group_size = c.count("Members.")
    comparable_size = c.count(
        "Members of the largest connected component; null where never compared.", null=True
    )
    comparisons = c.count("Comparisons that counted.")
    usable = c.count("Usable comparisons among them.")
    ungraded_reason = c.text("Why the whole group has no scores; null otherwise.", null=True)
    fit_status = c.text("converged; null where nothing was fitted.", null=True)
    iterations = c.count("Newton steps.", null=True)
    gradient_norm = c.number("Largest gradient component at the end.", null=True)
    tie_parameter = c.number("The tie parameter of a Davidson fit.", null=True)


class Strengths(_Subject):
    """One row per fitted member of a group."""

    name = "strengths"
    order = ("tenant_id", "task_id", "verifier_outcome", "group_epoch", "episode_id")

    verifier_outcome = c.text("The outcome all members share.")
    group_epoch = c.count("The group's epoch.")
    episode_id = c.text("The member.", key=True)
    strength = c.number("Fitted log-odds, centred in the group.")
    strength_se = c.number("Standard error.")
    strength_low = c.number("Lower end of the 95 % interval.")
    strength_high = c.number("Upper end of the 95 % interval.")
    wins = c.count("Comparisons won.")
    losses = c.count("Comparisons lost.")
    ties = c.count("Ties.")
    never_won = c.flag("Neither won nor tied once.")
    never_lost = c.flag("Neither lost nor tied once.")


class References(_Subject):
    """One row per task of a tenant in reference mode; write-once."""

    name = "references"
    order = ("tenant_id", "task_id")

    task_id = c.text("What makes two episodes of a tenant comparable.", key=True)
    episode_id = c.text("The reference.")
    registered_at = c.time("Its effective arrival.")


class Comparisons(_Subject):
    """One row per comparison that ended."""

    name = "audit/comparisons"
    order = ("tenant_id", "task_id", "verdict_id")

    verdict_id = c.text("Identity inside the tenant.", key=True)
    left = c.text("The episode asked about.")
    right = c.text("The episode it was compared with.")
    judge_id = c.text("Who judged.", null=True)
    judged_at = c.time("When the jury answered.")
    outcome = c.text("left, right, tie, undecided, not_applicable, error or unattestable.")
    error_codes = c.text("Terminal codes of an error, as JSON counts.", null=True)
    cost_usd = c.number("What judging cost.")
    verifier_outcome = c.text("Of the group or episode that counted it, or null.", null=True)
    group_epoch = c.count("Of the group that counted it; null otherwise.", null=True)
    disposition = c.text(
        "used, undecided, not_applicable, error, unattestable, over_budget, late, "
        "cross_group or not_needed."
    )


class Ledger(_Subject):
    """One row per admitted group, or compared episode in reference mode."""

    name = "audit/ledger"
    order = ("tenant_id", "task_id", "verifier_outcome", "group_epoch", "episode_id")
    identified_by = ("tenant_id", "task_id", "verifier_outcome", "group_epoch", "episode_id")

    verifier_outcome = c.text("Of the group or episode.")
    group_epoch = c.count("The group's epoch; null in reference mode.", null=True)
    episode_id = c.text("The compared episode; null in tournaments.", null=True)
    decided_at = c.time("When it was decided: names the period.")
    period = c.text("The budget period, such as 2026-03, 2026-03-01 or all.")
    cost_usd = c.number("What admission reckoned with.")
    actual_cost_usd = c.number("What the counted comparisons cost.")


class Budgets(_Run):
    """One row per run, tenant with input or open state, and budget period that the run met."""

    name = "audit/budgets"
    order = ("tenant_id", "period")
    identified_by = ("run", "tenant_id", "period")

    tenant_id = c.text("The isolation boundary.", key=True)
    period = c.text("The budget period, such as 2026-03, 2026-03-01 or all.", key=True)
    ceiling_usd = c.number("What grading may cost in the period; null: no ceiling.", null=True)
    spent_usd = c.number("What was admitted in the period, up to and with this run.")
    refused = c.flag("Whether something was over the ceiling: the rest of the period waits.")


class GradingCounts(_Run):
    """Episodes decided in a run, per tenant and kind or reason; zeros included."""

    name = "audit/grading_counts"
    order = ("tenant_id", "outcome")
    identified_by = ("run", "tenant_id", "outcome")

    tenant_id = c.text("The isolation boundary.", key=True)
    outcome = c.text("A score kind or an ungraded reason.", key=True)
    count = c.count("Episodes decided in this run.")


class Quarantine(_Run):
    """One row per input row that was not accepted."""

    name = "audit/quarantine"
    version = 3
    # A file may have changed: two readings of it have different rows in one place.
    order = ("input", "source_file", "source_row", "tenant_id", "id", "content")
    identified_by = ("run", "input", "source_file", "source_row", "id", "content")

    input = c.text("The input table: episodes, verdicts or answers.")
    tenant_id = c.text("The row's tenant, where it has one.", null=True)
    id = c.text("The row's own id, where it has one.", null=True)
    source_file = c.text("The input file.")
    source_row = c.count("The row's number in that file, from 0.")
    reason = c.text("A token of the closed vocabulary.")
    message = c.text("What exactly is wrong.")
    content = c.text("The row as JSON text; one that was read well, under the contract's names.")
    released_in = c.count(
        "The run that had released the row, where it was set aside again after that.", null=True
    )


class OpenEpisodes(_Subject):
    """Snapshot: one row per episode in Grading."""

    name = "open_episodes"
    kind = "snapshot"
    order = ("tenant_id", "task_id", "episode_id")

    episode_id = c.text("Identity inside the tenant.", key=True)
    verifier_outcome = c.text("The deterministic verifier's result.")
    group_epoch = c.count("The group's epoch; null in reference mode.", null=True)
    arrived_at = c.time("When the episode arrived.")
    effective_arrival = c.time("Its place in time, fixed when first considered.")
    state = c.text("Grading.")
    waits_for = c.text("closing, comparisons or fit_failed.")
    deadline = c.time("When it ends at the latest, or its group closes.")


class ComparisonRequests(_Subject):
    """Snapshot: one row per pair that is still wanted."""

    name = "comparison_requests"
    kind = "snapshot"
    order = (
        "tenant_id",
        "task_id",
        "verifier_outcome",
        "group_epoch",
        "episode_id",
        "compared_episode_id",
    )

    verifier_outcome = c.text("Of the group or episode.")
    group_epoch = c.count("The group's epoch; null in reference mode.", null=True)
    episode_id = c.text("The left episode of the pair.", key=True)
    compared_episode_id = c.text("The right one; the reference in reference mode.", key=True)
    wanted = c.count("Usable comparisons still wanted.")
    deadline = c.time("When the pair's group is decided at the latest.", null=True)


class AuditVerdicts(_Subject):
    """One row per accepted verdict, as it came, its text unchanged."""

    name = "audit/verdicts"
    order = ("tenant_id", "task_id", "verdict_id")

    verdict_id = c.text("Identity inside the tenant.", key=True)
    episode_id = c.text("The judged episode; the left one of a comparison.")
    judged_at = c.time("When the jury answered.")
    verdict = c.text("The stored verdict, JSON text, unchanged.")
    compared_episode_id = c.text("The right episode of a comparison.", null=True)
    judge_id = c.text("Who judged.", null=True)
    cost_usd = c.number("What judging cost.")
    recorded_passed = c.flag("What an older pipeline recorded.", null=True)
