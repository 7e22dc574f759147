"""The checkpoint: what a run leaves for the next one, per shard.

Only what is new or open is in it, apart from identities (kept in sorted immutable runs),
references, epoch counters, tenants and spend, which are small.
"""

from judgebatch.contracts import columns as c
from judgebatch.contracts.rows import EpisodeRows, VerdictRows
from judgebatch.contracts.table import Table


class _State(Table):
    kind = "state"


class PendingEpisodes(EpisodeRows):
    """Accepted rows whose arrival lies after as_of."""

    name = "pending_episodes"
    version = 2
    order = ("arrived_at", "tenant_id", "task_id", "episode_id", "source_file", "source_row")


class PendingVerdicts(VerdictRows):
    """Accepted rows judged after as_of."""

    name = "pending_verdicts"
    order = ("judged_at", "tenant_id", "task_id", "verdict_id", "source_file", "source_row")


class PendingTenants(_State):
    """Tenants with pending episodes or verdicts."""

    name = "pending_tenants"
    order = ("tenant_id",)

    tenant_id = c.text("The isolation boundary.", key=True)
    until = c.time("When the last of them becomes visible.")


class WaitingVerdicts(VerdictRows):
    """Comparisons whose episode has not been seen, and in a run rows that become visible."""

    name = "waiting_verdicts"

    considered_at = c.time("Effective time, fixed when first considered; null: pending.", null=True)
    unknown_episode_window_us = c.count("Its window, fixed with it.", null=True)


class ActiveEpisodes(_State):
    """Episodes in Grading."""

    name = "active_episodes"
    order = ("tenant_id", "task_id", "episode_id")

    tenant_id = c.text("The isolation boundary.", key=True)
    episode_id = c.text("Identity inside the tenant.", key=True)
    task_id = c.text("What makes two episodes of a tenant comparable.")
    arrived_at = c.time("When the episode arrived.")
    verifier_outcome = c.text("The deterministic verifier's result.")
    cost_nano_usd = c.count("Cost in nano-dollars.")
    latency_ms = c.number("Latency in milliseconds.")
    tool_calls = c.count("Tool calls.")
    tool_errors = c.count("Tool calls that failed.")
    variant = c.text("The agent version under test.", null=True)
    extra = c.text("Columns outside the contract, as JSON text.", null=True)
    id_high = c.integer("First half of the identity's fingerprint.")
    id_low = c.integer("Second half.")
    digest_high = c.integer("First half of the content's fingerprint.")
    digest_low = c.integer("Second half.")
    effective_arrival = c.time("Its place in time, fixed when first considered.")
    group_epoch = c.count("Its epoch; null in reference mode.", null=True)
    judging_window_us = c.count("Reference mode: its window; null: don't wait.", null=True)
    comparisons_per_pair = c.count("Reference mode: comparisons wanted.", null=True)


class OpenGroups(_State):
    """Tournament groups that are open, or closed and undecided, with the settings they keep."""

    name = "open_groups"
    order = ("tenant_id", "task_id", "verifier_outcome", "group_epoch")

    tenant_id = c.text("The isolation boundary.", key=True)
    task_id = c.text("What makes two episodes of a tenant comparable.", key=True)
    verifier_outcome = c.text("The outcome all members share.", key=True)
    group_epoch = c.count("Counts from 0 for each tenant, task and outcome.", key=True)
    opened_at = c.time("Effective arrival of the first member.")
    quorum = c.count("Members that close it.")
    min_group_size = c.count("Members below which nothing is compared.")
    group_timeout_us = c.count("How long it stays open.")
    judging_window_us = c.count("How long its comparisons are awaited; null: not.", null=True)
    pair_degree = c.count("Wanted comparisons a member.")
    comparisons_per_pair = c.count("Usable comparisons wanted for a pair.")
    group_size = c.count("Members so far.")
    closed_at = c.time("When it closed; null: open.", null=True)
    close_reason = c.text("quorum or timeout; null: open.", null=True)
    fit_failed = c.flag("Its fit did not converge: it stays undecided.")


class EpochCounters(_State):
    """How many epochs a (tenant, task, outcome) has opened."""

    name = "epoch_counters"
    order = ("tenant_id", "task_id", "verifier_outcome")

    tenant_id = c.text("The isolation boundary.", key=True)
    task_id = c.text("What makes two episodes of a tenant comparable.", key=True)
    verifier_outcome = c.text("The outcome all members share.", key=True)
    epochs = c.count("Epochs opened so far.")


class KnownReferences(_State):
    """The reference of each task, with its dimensions."""

    name = "known_references"
    order = ("tenant_id", "task_id")

    tenant_id = c.text("The isolation boundary.", key=True)
    task_id = c.text("What makes two episodes of a tenant comparable.", key=True)
    episode_id = c.text("The reference.")
    cost_nano_usd = c.count("Cost in nano-dollars.")
    latency_ms = c.number("Latency in milliseconds.")
    tool_calls = c.count("Tool calls.")
    tool_errors = c.count("Tool calls that failed.")
    variant = c.text("The agent version under test.", null=True)


class KnownTenants(_State):
    """Tenants of which an episode was considered, with their last settings."""

    name = "known_tenants"
    order = ("tenant_id",)

    tenant_id = c.text("The isolation boundary.", key=True)
    mode = c.text("reference or tournament.")
    quorum = c.count("Members that close a group.")
    min_group_size = c.count("Members below which nothing is compared.")
    group_timeout_us = c.count("How long a group stays open.")
    judging_window_us = c.count("How long comparisons are awaited; null: not.", null=True)
    unknown_episode_window_us = c.count("How long a comparison waits for its episode.")
    pair_degree = c.count("Wanted comparisons a member.")
    comparisons_per_pair = c.count("Usable comparisons wanted for a pair.")
    ceiling_nano_usd = c.count("Grading ceiling; null: none.", null=True)
    budget_period = c.text("day, month or all.")


class AwaitingComparisons(_State):
    """Comparisons inside an undecided group."""

    name = "awaiting_comparisons"
    order = ("tenant_id", "task_id", "verdict_id")

    tenant_id = c.text("The isolation boundary.", key=True)
    verdict_id = c.text("Identity inside the tenant.", key=True)
    task_id = c.text("The task that was judged.")
    left = c.text("The episode asked about.")
    right = c.text("The episode it was compared with.")
    judged_at = c.time("When the jury answered.")
    considered_at = c.time("Its effective time, fixed when first considered.")
    outcome = c.text("What it came to.")
    error_codes = c.text("Terminal codes of an error, as JSON counts.", null=True)
    judge_id = c.text("Who judged.", null=True)
    cost_nano_usd = c.count("What judging cost, in nano-dollars.")


class Spend(_State):
    """Admission costs per tenant and UTC day of the decision."""

    name = "spend"
    order = ("tenant_id", "day")

    tenant_id = c.text("The isolation boundary.", key=True)
    day = c.day("The day on which what was admitted was decided.", key=True)
    cost_nano_usd = c.count("What was admitted, in nano-dollars.")


class Refusals(_State):
    """Budget periods in which something was refused."""

    name = "refusals"
    order = ("tenant_id", "period")

    tenant_id = c.text("The isolation boundary.", key=True)
    period = c.text("The period's name.", key=True)
    ceiling_nano_usd = c.count("The highest ceiling under which it was refused.")


class KnownEpisodes(_State):
    """Identities of ended episodes, sorted by fingerprint."""

    name = "known_episodes"
    order = ("id_high", "id_low")

    id_high = c.integer("First half of the identity's fingerprint.", key=True)
    id_low = c.integer("Second half.", key=True)
    digest_high = c.integer("First half of the content's fingerprint.")
    digest_low = c.integer("Second half.")
    task_hash = c.integer("Fingerprint of the task.")
    outcome_hash = c.integer("Fingerprint of the verifier outcome.")
    group_epoch = c.integer("Its epoch; -1 in reference mode.")
    arrived_us = c.integer("Arrival, microseconds since 1970 UTC.")
    insufficient = c.flag("Its group closed too small to compare.")
    is_reference = c.flag("It is its task's reference.")


class KnownVerdicts(_State):
    """Identities of considered verdicts, sorted by fingerprint."""

    name = "known_verdicts"
    order = ("id_high", "id_low")

    id_high = c.integer("First half of the identity's fingerprint.", key=True)
    id_low = c.integer("Second half.", key=True)
    digest_high = c.integer("First half of the content's fingerprint.")
    digest_low = c.integer("Second half.")
