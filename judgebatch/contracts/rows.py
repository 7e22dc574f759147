"""Accepted input rows: what ingest hands to the stages of a run.

These are the users' tables after mapping, casting and checking: ids non-empty, times in UTC
microseconds, money as integer nano-dollars. They live in staging and in the checkpoint.
"""

from judgebatch.contracts import columns as c
from judgebatch.contracts.table import Table


class EpisodeRows(Table):
    """Accepted episodes."""

    name = "episode_rows"
    kind = "state"
    order = (
        "tenant_id",
        "task_id",
        "episode_id",
        "arrived_at",
        "source_file",
        "source_row",
    )

    tenant_id = c.text("The isolation boundary.")
    episode_id = c.text("Identity inside the tenant.")
    task_id = c.text("What makes two episodes of a tenant comparable.")
    arrived_at = c.time("When the episode ended and arrived.")
    verifier_outcome = c.text("The deterministic verifier's result.")
    cost_nano_usd = c.count("Cost in nano-dollars.")
    latency_ms = c.number("Latency in milliseconds.")
    tool_calls = c.count("Tool calls.")
    tool_errors = c.count("Tool calls that failed.")
    variant = c.text("The agent version under test.", null=True)
    extra = c.text("Columns outside the contract, as JSON text.", null=True)
    source_file = c.text("The input file.")
    source_row = c.count("The row's number in that file, from 0.")


class VerdictRows(Table):
    """Accepted verdicts, single-subject and pairwise."""

    name = "verdict_rows"
    kind = "state"
    order = (
        "tenant_id",
        "task_id",
        "verdict_id",
        "judged_at",
        "source_file",
        "source_row",
    )

    tenant_id = c.text("The isolation boundary.")
    verdict_id = c.text("Identity inside the tenant.")
    task_id = c.text("The task that was judged.")
    episode_id = c.text("The judged episode; the left one of a comparison.")
    judged_at = c.time("When the jury answered.")
    verdict = c.text("The stored verdict, JSON text, unchanged.")
    compared_episode_id = c.text("The right episode of a comparison.", null=True)
    judge_id = c.text("Who judged.", null=True)
    cost_nano_usd = c.count("What judging cost, in nano-dollars.")
    recorded_passed = c.flag("What an older pipeline recorded.", null=True)
    source_file = c.text("The input file.")
    source_row = c.count("The row's number in that file, from 0.")


class QuarantineRows(Table):
    """Rows that were not accepted, before the run stamps them."""

    name = "quarantine_rows"
    kind = "state"
    order = ("input", "source_file", "source_row")

    input = c.text("The input table: episodes, verdicts or answers.")
    tenant_id = c.text("The row's tenant, where it has one.", null=True)
    id = c.text("The row's own id, where it has one.", null=True)
    source_file = c.text("The input file.")
    source_row = c.count("The row's number in that file, from 0.")
    reason = c.text("A token of the closed vocabulary.")
    message = c.text("What exactly is wrong.")
    content = c.text("The row as it came, as JSON text.")


class QuarantinedBefore(QuarantineRows):
    """Rows that earlier runs set aside, of input files that are read again."""

    name = "quarantined_before"
