"""The tables that hold what stored verdicts say: in a warehouse, and of a single command."""

import dataframely as dy

from judgebatch.contracts import columns as c
from judgebatch.contracts.table import Table

READING_VERSION = 1
"""The version of a verdict's first reading; each later one has a higher number."""


def _named(column: str, doc: str) -> dy.String:
    """Return a text column whose name a contract's own attributes take."""
    return dy.String(nullable=False, alias=column, metadata={"doc": doc})


class _Published(Table):
    run = c.count("The run that published the row.")
    as_of = c.time("The logical time of that run.")
    tenant_id = c.text("The isolation boundary.", key=True)
    task_id = c.text("The task that was judged.")
    verdict_id = c.text("Identity of the verdict inside the tenant.", key=True)
    reading_version = c.count(
        "1 for the first reading; a later one with other rules has a higher number.", key=True
    )


class _Read(Table):
    source_file = c.text("The input file.", key=True)
    source_row = c.count("The row's or line's number in that file, from 0.", key=True)
    item = c.count("The item's number in a document of results; 0 elsewhere.", key=True)
    verdict_id = c.text("The verdict's own id, where the file names one.", null=True)


class _Evidence(Table):
    status = c.text("Status of the aggregate; null where it cannot be read.", null=True)
    reason_code = c.text("Reason code of the aggregate.", null=True)
    label = c.text("Label of the aggregate.", null=True)
    reasoning = c.text("Reasoning of the aggregate.", null=True)
    has_evidence = c.flag("Whether the aggregate carries evidence.")
    strategy = c.text("How judgments were reduced.", null=True)
    error_policy = c.text("What errors were counted as.", null=True)
    not_applicable_policy = c.text("What exclusions were counted as.", null=True)
    input_count = c.integer("Judgments submitted.", null=True)
    eligible_count = c.integer("Judgments that voted.", null=True)
    explicit_abstain_count = c.integer("Judges that abstained.", null=True)
    not_applicable_count = c.integer("Judges that excluded the subject.", null=True)
    error_count = c.integer("Judges that errored.", null=True)
    ignored_error_count = c.integer("Errors ignored.", null=True)
    errors_treated_as_abstain_count = c.integer("Errors counted as abstentions.", null=True)
    errors_treated_as_fail_count = c.integer("Errors counted as failures.", null=True)
    not_applicable_treated_as_fail_count = c.integer("Exclusions counted as failures.", null=True)
    error_code_counts = c.text("Errors by code, JSON text.", null=True)
    pass_count = c.integer("Judgments that passed.", null=True)
    fail_count = c.integer("Judgments that failed.", null=True)
    threshold = c.number("The score that passes.", null=True)
    binding_index = c.integer("Index of the judgment that binds.", null=True)
    input_weight = c.number("Weight submitted.", null=True)
    eligible_weight = c.number("Weight that voted.", null=True)


class _Interpretation(_Evidence):
    source_version = c.count("1 where decision and seats are recorded, else 0.")
    reading = c.text(
        "ACCEPTED, REJECTED, UNDECIDED, NOT_APPLICABLE or NOT_ASSESSED; null: none.", null=True
    )
    reading_support = c.text("SUPPORTED, CONTRADICTED or UNDETERMINED.")
    decided_by_stage = c.text("The stage that decided, where one did.", null=True)
    decided_by_path = c.text("The names on the way to it, an RFC 6901 pointer.", null=True)
    decided_by_basis = c.text("On what it decided.", null=True)
    error_codes = c.text(
        "Terminal error codes with their counts, JSON text; null unless NOT_ASSESSED.", null=True
    )
    stage_count = c.count("Composite attempts.")
    judge_count = c.count("Judges of all stages.")
    absent = c.count("Defects of kind ABSENT.")
    unparseable = c.count("Defects of kind UNPARSEABLE.")
    unknown_vocabulary = c.count("Defects of kind UNKNOWN_VOCABULARY.")
    inconsistent = c.count("Defects of kind INCONSISTENT.")
    some_judge_errored = c.flag("Whether a judge of the root errored.")
    vacuous_pass = c.flag("Whether something passed over an empty roster of requirements.")
    summary = c.text("All of it in one paragraph.")


class _Stage(_Evidence):
    ordinal = c.count("Number of the stage in its verdict, from 1, depth first.", key=True)
    stage = c.text("Its name.", null=True)
    path = c.text("The names on the way to it, an RFC 6901 pointer.")
    relation = c.text("cascade_tier or meta_member.", null=True)
    policy = c.text("When a cascade stops at it.", null=True)
    disposition = c.text("used or stage_failed.", null=True)
    reason = c.text("Why it failed.", null=True)
    failure = c.text("What stands for its verdict.", null=True)
    used_by_parent = c.flag("Whether its parent used it; null: unknown.", null=True)


class _Judge(Table):
    ordinal = c.count("Number of the judge in its verdict, from 0.", key=True)
    stage_ordinal = c.count("The judge's stage; 0 is the verdict itself.")
    position = c.integer("Seat of the judge.")
    judge_name = _named("name", "Name of the judge.")
    key_source = c.text("Where the name comes from.", null=True)
    status = c.text("What the judge answered.", null=True)
    reason_code = c.text("Why, for an error.", null=True)
    label = c.text("Label of the judgment.", null=True)
    score = c.number("The judge's score, in [0, 1].", null=True)
    scale_min = c.number("Lower end of the scale of a legacy score.", null=True)
    scale_max = c.number("Upper end of that scale.", null=True)
    reasoning = c.text("The judge's words.")


class _Check(Table):
    ordinal = c.count("Number of the check in its verdict, from 0.", key=True)
    judge_ordinal = c.count("The judge that made it.")
    check_name = _named("name", "Name of the check.")
    passed = c.flag("Whether it passed.")
    detail = c.text("Its message.")


class _Defect(Table):
    ordinal = c.count("Number of the defect in its verdict, from 0.", key=True)
    path = c.text("Where it is, such as verdict.individual[2].")
    field = c.text("The member concerned.")
    defect_kind = _named("kind", "ABSENT, UNPARSEABLE, UNKNOWN_VOCABULARY or INCONSISTENT.")
    note = c.text("What is wrong, in words.")


class Interpretations(_Published, _Interpretation):
    """One row per reading of a verdict."""

    name = "audit/interpretations"
    order = ("tenant_id", "task_id", "verdict_id", "reading_version")


class InterpretationStages(_Published, _Stage):
    """One row per composite attempt of a verdict."""

    name = "audit/interpretation_stages"
    order = ("tenant_id", "task_id", "verdict_id", "reading_version", "ordinal")


class InterpretationJudges(_Published, _Judge):
    """One row per judge of a verdict, stages included."""

    name = "audit/interpretation_judges"
    order = ("tenant_id", "task_id", "verdict_id", "reading_version", "ordinal")


class InterpretationChecks(_Published, _Check):
    """One row per check of a judge."""

    name = "audit/interpretation_checks"
    order = ("tenant_id", "task_id", "verdict_id", "reading_version", "ordinal")


class InterpretationDefects(_Published, _Defect):
    """One row per defect of a stored verdict."""

    name = "audit/interpretation_defects"
    order = ("tenant_id", "task_id", "verdict_id", "reading_version", "ordinal")


class ReadInterpretations(_Read, _Interpretation):
    """One row per verdict of the files that were read."""

    name = "read/interpretations"
    order = ("source_file", "source_row", "item")


class ReadStages(_Read, _Stage):
    """One row per composite attempt of a verdict that was read."""

    name = "read/interpretation_stages"
    order = ("source_file", "source_row", "item", "ordinal")


class ReadJudges(_Read, _Judge):
    """One row per judge of a verdict that was read, stages included."""

    name = "read/interpretation_judges"
    order = ("source_file", "source_row", "item", "ordinal")


class ReadChecks(_Read, _Check):
    """One row per check of a judge of a verdict that was read."""

    name = "read/interpretation_checks"
    order = ("source_file", "source_row", "item", "ordinal")


class ReadDefects(_Read, _Defect):
    """One row per defect of a verdict that was read."""

    name = "read/interpretation_defects"
    order = ("source_file", "source_row", "item", "ordinal")


class ReadVerdicts(_Read):
    """One row per verdict that was read, its text unchanged."""

    name = "read/verdicts"
    order = ("source_file", "source_row", "item")

    verdict = c.text("The stored verdict, JSON text, unchanged.")
    recorded_passed = c.flag("What an older pipeline recorded.", null=True)


class ReadRestatements(_Read):
    """One row per verdict that was read whose recorded flag and reading disagree."""

    name = "read/restatements"
    order = ("source_file", "source_row", "item")

    recorded_passed = c.flag("What an older pipeline recorded.")
    reading = c.text("What the verdict says.", null=True)
    reading_support = c.text("How far what is stored supports that.")
    cause = c.text("Why the two disagree; the first cause that applies.")


class ReadQuarantine(Table):
    """One row per line, item or row that holds no verdict that can be read."""

    name = "read/quarantine"
    order = ("source_file", "source_row", "item")

    source_file = c.text("The input file.", key=True)
    source_row = c.count("The row's or line's number in that file, from 0.", key=True)
    item = c.count("The item's number in a document of results; 0 elsewhere.", key=True)
    reason = c.text("unreadable_verdict or bad_row.")
    message = c.text("What exactly is wrong, with the parser's position.")
    content = c.text("The text as it came.", null=True)
