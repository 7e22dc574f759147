"""What verdicts came to: counts, and corrections of what was recorded."""

from judgebatch.contracts import columns as c
from judgebatch.contracts.table import Table


class _Counted(Table):
    run = c.count("The run that published the row.", key=True)
    as_of = c.time("The logical time of that run.")
    tenant_id = c.text("The isolation boundary.", key=True)
    task_id = c.text("The task that was judged.", key=True)
    judge_id = c.text("The judge of the verdicts' rows; empty where they name none.", key=True)
    day = c.day("UTC day of judged_at.", key=True)


class Accounting(_Counted):
    """Verdicts newly read in a run, by task, judge and day: additive counts."""

    name = "audit/accounting"
    order = ("tenant_id", "task_id", "judge_id", "day")

    passes = c.count("Accepted.")
    non_passes = c.count("Rejected or undecided.")
    excluded = c.count("Not applicable.")
    instrument_failures = c.count(
        "Not assessed, plus those with a reading in which a judge of the root errored."
    )
    unattestable = c.count("Contradicted, or without a reading.")


class AccountingCodes(_Counted):
    """Instrument failures newly read in a run, by error code: additive counts."""

    name = "audit/accounting_codes"
    order = ("tenant_id", "task_id", "judge_id", "day", "code")

    code = c.text("The terminal error code; empty where none is stored.", key=True)
    instrument_failures = c.count("Verdicts that failed with it; one may count under several.")


class _Verdict(Table):
    run = c.count("The run that published the row.")
    as_of = c.time("The logical time of that run.")
    tenant_id = c.text("The isolation boundary.", key=True)
    task_id = c.text("The task that was judged.")
    verdict_id = c.text("Identity of the verdict inside the tenant.", key=True)


class Restatements(_Verdict):
    """One row per verdict whose recorded flag and reading disagree, or whose pass is vacuous."""

    name = "audit/restatements"
    order = ("tenant_id", "task_id", "verdict_id", "reading_version")

    reading_version = c.count("The reading concerned.", key=True)
    recorded_passed = c.flag("What an older pipeline recorded.")
    reading = c.text("What the verdict says.", null=True)
    reading_support = c.text("How far what is stored supports that.")
    cause = c.text("Why the two disagree; the first cause that applies.")


class Reclassifications(_Verdict):
    """One row per judgment that a curator reclassified, beside the verdict as it was."""

    name = "audit/reclassifications"
    order = ("tenant_id", "task_id", "verdict_id", "path")

    path = c.text("The judgment, such as verdict.individual[2].", key=True)
    judge = c.text("Name of the judge; null for an aggregate.", null=True)
    from_status = c.text("What was stored.")
    to_status = c.text("What it is read as.")
    new_verdict_id = c.text("The verdict that was written beside the old one.")
    who = c.text("Who asked for it.")
    why = c.text("The reason given.")
