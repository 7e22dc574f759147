"""The tables around juries: judgments in, verdicts and their parts out."""

import dataframely as dy

from judgebatch.contracts import columns as c
from judgebatch.contracts.table import Table


def _judge_name(doc: str) -> dy.String:
    # The column is called `name`, which as an attribute is the table's own name.
    return dy.String(nullable=True, alias="name", metadata={"doc": doc})


class _Verdict(Table):
    tenant_id = c.text("The isolation boundary.", key=True)
    verdict_id = c.text("Identity inside the tenant.", key=True)


class Judgments(_Verdict):
    """One row per judgment of a seat: what a jury reduces."""

    name = "judgments"
    kind = "input"
    order = ("tenant_id", "verdict_id", "stage", "position")

    stage = c.text("RFC 6901 pointer of the tier or member; empty for the root.", key=True)
    position = c.count("The seat's position in its stage, from 0.", key=True)
    judge_name = _judge_name("The judge's declared name; null where it is positional.")
    status = c.text("pass, fail, abstain, not_applicable or error.", null=True)
    score = c.number("In [0, 1], on pass and fail only.", null=True)
    label = c.text("The judge's own word for its answer; not on an error.", null=True)
    reason_code = c.text("The instrument code of an error, or subject_empty.", null=True)
    error_code_counts = c.text("Causes of errors_propagated, as a JSON object.", null=True)
    reasoning = c.text("Why the judge answered so.", null=True)
    checks = c.text("A JSON array of {name, passed, message}.", null=True)
    weight = c.number("The recorded weight; a weight in the jury goes before it.", null=True)
    may_exclude = c.flag("Whether the seat had declared when it does not apply.", null=True)
    outcome = c.text("returned, raised or nothing; null means returned.", null=True)


class WantedPairs(Table):
    """One row per question to put to a judge attached to a run."""

    name = "wanted_pairs"
    kind = "state"
    order = ("tenant_id", "task_id", "episode_id", "compared_episode_id", "ordinal")

    tenant_id = c.text("The isolation boundary.", key=True)
    task_id = c.text("The task that is judged.", key=True)
    episode_id = c.text("The episode asked about; the left one of a pair.", key=True)
    compared_episode_id = c.text("The right one; null for a question about one.", null=True)
    ordinal = c.count("How often the question was put before, in earlier runs.", key=True)


class _Evidence(_Verdict):
    strategy = c.text("The reducing strategy; null without evidence.", null=True)
    error_policy = c.text("What became of errors.", null=True)
    not_applicable_policy = c.text("What became of exclusions.", null=True)
    input_count = c.count("Judgments submitted.", null=True)
    eligible_count = c.count("Judgments that were reduced.", null=True)
    explicit_abstain_count = c.count("Abstentions submitted.", null=True)
    not_applicable_count = c.count("Exclusions submitted.", null=True)
    error_count = c.count("Errors submitted.", null=True)
    ignored_error_count = c.count("Errors dropped.", null=True)
    errors_treated_as_abstain_count = c.count("Errors dropped as abstentions.", null=True)
    errors_treated_as_fail_count = c.count("Errors counted as failures.", null=True)
    not_applicable_treated_as_fail_count = c.count("Exclusions counted as failures.", null=True)
    error_code_counts = c.text("Causes of the errors, as a JSON object.", null=True)
    pass_count = c.count("Eligible judgments that passed.", null=True)
    fail_count = c.count("Eligible judgments that failed.", null=True)
    threshold = c.number("What the score had to reach.", null=True)
    binding_index = c.count("Index of the earliest smallest score.", null=True)
    input_weight = c.number("Weight of all judgments submitted.", null=True)
    eligible_weight = c.number("Weight of those that were reduced.", null=True)


class JuryVerdicts(_Evidence):
    """One row per verdict a jury gave: its own aggregate, its decision, its evidence."""

    name = "jury_verdicts"
    order = ("tenant_id", "verdict_id")

    status = c.text("pass, fail, abstain, not_applicable or error.")
    score = c.number("The reduced score.", null=True)
    reason_code = c.text("The instrument code of an error.", null=True)
    reasoning = c.text("What the jury states.")
    decision_kind = c.text("own, tier or undecided.")
    decision_tier = c.text("The deciding tier.", null=True)
    decision_basis = c.text("tier_outcome or individual_rejection.", null=True)
    reading = c.text("ACCEPTED, REJECTED, UNDECIDED, NOT_APPLICABLE or NOT_ASSESSED.")


class JuryAttempts(_Verdict):
    """One row per tier or member a jury entered, at any depth."""

    name = "jury_attempts"
    order = ("tenant_id", "verdict_id", "ordinal")

    ordinal = c.count("Depth first, in attempt order.", key=True)
    path = c.text("RFC 6901 pointer of the stage.")
    stage = c.text("The tier's or member's name.")
    relation = c.text("cascade_tier or meta_member.")
    policy = c.text("The tier's policy.", null=True)
    disposition = c.text("used or stage_failed.")
    disposition_reason = c.text("Why the stage failed.", null=True)
    failure = c.text("jury_execution_failed where there is no verdict.", null=True)
    status = c.text("Status of the stage's aggregate.", null=True)
    score = c.number("Score of the stage's aggregate.", null=True)
    reason_code = c.text("Code of the stage's aggregate.", null=True)


class UnseatedJudgments(_Verdict):
    """One row per judgment for which the jury has no seat."""

    name = "unseated_judgments"
    order = ("tenant_id", "verdict_id", "stage", "position")

    stage = c.text("RFC 6901 pointer of the tier or member; empty for the root.", key=True)
    position = c.count("The recorded position.", key=True)
    judge_name = _judge_name("The judge's declared name.")
    status = c.text("What the judge answered.", null=True)


class JudgmentQuarantine(Table):
    """One row per judgment that was not reduced, with the reason; its verdict is not given."""

    name = "judgment_quarantine"
    order = ("source_row", "stage", "position")

    source_row = c.count("The row's number, from 0, in the judgments or stored verdicts.")
    tenant_id = c.text("The row's tenant.", null=True)
    verdict_id = c.text("The row's verdict.", null=True)
    stage = c.text("The row's stage.", null=True)
    position = c.integer("The row's position.", null=True)
    judge_name = _judge_name("The row's judge.")
    reason = c.text("A token of the closed vocabulary.")
    message = c.text("What exactly is wrong.")


class RescoredVerdicts(_Verdict):
    """One row per verdict a jury gave, complete, as portable JSON."""

    name = "rescored_verdicts"
    order = ("tenant_id", "verdict_id")

    verdict = c.text("The verdict, JSON text.")


class ChangeMatrix(Table):
    """How often a recorded reading met a new one."""

    name = "change_matrix"
    order = ("recorded", "reads", "rescored")

    recorded = c.text("passed, not_passed, or nothing where no flag was recorded.", key=True)
    reads = c.text("The stored verdict's reading; nothing where it has none.", key=True)
    rescored = c.text("The new verdict's reading.", key=True)
    verdicts = c.count("How many.")


class ChangedVerdicts(_Verdict):
    """One row per verdict whose new reading differs from what was recorded."""

    name = "changed_verdicts"
    order = ("tenant_id", "verdict_id")

    recorded = c.text("passed, not_passed, or nothing where no flag was recorded.")
    reads = c.text("The stored verdict's reading; nothing where it has none.")
    rescored = c.text("The new verdict's reading.")
    recorded_status = c.text("Status of the stored aggregate.", null=True)
    rescored_status = c.text("Status of the new aggregate.")
    why = c.text("What the new jury states.")
