"""What judges answered, counted so that nights add up; rates are views."""

from judgebatch.contracts import columns as c
from judgebatch.contracts.table import Table


class _Counted(Table):
    run = c.count("The run that published the row.", key=True)
    as_of = c.time("The logical time of that run.")
    tenant_id = c.text("The isolation boundary.", key=True)
    judge_id = c.text("The judge of the verdicts' rows; empty where they name none.", key=True)
    subject = c.text("What was judged: episode or comparison.", key=True)


class JudgeAnswers(_Counted):
    """Answers newly read in a run, by judge: additive counts.

    A verdict counts once as a whole, under the empty ``judge``, and once for each judge of its
    root. Judges of earlier tiers and of members stand in audit/interpretation_judges alone: a
    cascade's root repeats the judges of the tier that decided.
    """

    name = "audit/judge_answers"
    order = ("tenant_id", "judge_id", "subject", "judge", "answer", "code")

    judge = c.text("A judge of the jury by name; empty: the verdict as a whole.", key=True)
    answer = c.text(
        "pass or fail, left, right or tie; undecided, not_applicable, error or unattestable.",
        key=True,
    )
    code = c.text(
        "The code of a judge's error; empty otherwise. Those of whole verdicts stand in "
        "audit/accounting_codes.",
        key=True,
    )
    answers = c.count("How many.")


class JudgeAgreement(_Counted):
    """How the judges of one verdict split, newly read in a run: additive counts.

    Verdicts in which two judges or more passed, failed, tied or abstained; errors and exclusions
    are no votes.
    """

    name = "audit/judge_agreement"
    order = ("tenant_id", "judge_id", "subject", "first", "second", "ties", "undecided")

    first = c.count("Judges that passed it, or found the left one better.", key=True)
    second = c.count("Judges that failed it, or found the right one better.", key=True)
    ties = c.count("Judges that found neither better.", key=True)
    undecided = c.count("Judges that abstained.", key=True)
    verdicts = c.count("Verdicts that split so.")
