"""What a run warns of: nothing is wrong with it, and somebody should know."""

from collections.abc import Iterable, Sequence

from judgebatch.grading.clock import Clock
from judgebatch.judging import Counts
from judgebatch.pipeline.shard import ShardGraded
from judgebatch.settings import Settings
from judgebatch.settings.values import duration_text
from judgebatch.vocabulary import UnknownTenants

_NAMED = 3


def run_warnings(
    settings: Settings,
    empty: Iterable[str],
    changed: Iterable[str],
    shards: Sequence[ShardGraded],
    asked: Counts | None,
    clock: Clock,
) -> tuple[str, ...]:
    """Return the warnings of a run.

    Parameters
    ----------
    settings
        The run's settings.
    empty
        What to say of inputs without any files.
    changed
        Input files that an earlier run read with other content.
    shards
        What became of them.
    asked
        What came of asking an attached judge; None without one.
    clock
        The run's logical time, and that of the run before.
    """
    warnings = [
        f"{name} changed since an earlier run read it and was read again; rows that run knew "
        "count as already known."
        for name in changed
    ]
    failed = sum(one.fit_failed for one in shards)
    if failed:
        warnings.append(
            f"{failed} groups did not converge and stay in Grading (fit_failed); "
            "`judgebatch doctor` names them."
        )
    if asked is None:
        warnings += _short_windows(settings, clock)
    else:
        warnings += _judge_warnings(asked)
    return (*warnings, *empty)


def _short_windows(settings: Settings, clock: Clock) -> list[str]:
    """Warn where a group can close and be decided between two runs: nobody asked for its pairs."""
    if clock.previous is None:
        return []
    between = int((clock.as_of - clock.previous).total_seconds() * 1_000_000)
    everyone = dict(settings.tenants)
    short = [
        name
        for name, tenant in everyone.items()
        if tenant.judging_window_us is not None and tenant.judging_window_us < between
    ]
    window = settings.defaults.judging_window_us
    strangers = settings.unknown_tenants == UnknownTenants.DEFAULTS
    by_default = strangers and window is not None and window < between
    if not short and not by_default:
        return []
    named = ", ".join(short[:_NAMED]) + (", \u2026" if len(short) > _NAMED else "")
    who = f"{len(short)} tenants ({named})" if len(short) != 1 else f"tenant {named}"
    if by_default:
        who = f"[defaults] and {who}" if short else "[defaults]"
    warning = (
        f"judging_window is shorter than the {duration_text(between)} between the last two runs "
        f"for {who}: a group that closes between two runs may be decided before anybody is asked "
        "for its comparisons. Lengthen the window, or run more often."
    )
    return [warning]


def _judge_warnings(asked: Counts) -> list[str]:
    """Return what went wrong with an attached judge: what it decides is decided for good."""
    warnings = []
    failures = asked.raised + asked.short + asked.twice + asked.malformed
    if failures:
        warnings.append(
            f"the judge failed on {failures} of the pairs that it was asked about (raised "
            f"{asked.raised}, no answer {asked.short}, answered twice {asked.twice}, malformed "
            f"{asked.malformed}); they count as errors of the instrument, and their groups are "
            "decided. The messages stand in audit/interpretation_judges."
        )
    if asked.abandoned:
        warnings.append(
            "the judge said nothing about several pairs in a row, so it was asked about no more "
            f"for promotions; {asked.abandoned} undecided ones go on in the next run."
        )
    if asked.unseated:
        warnings.append(
            f"{asked.unseated} judgments found no seat in the jury: give the seat the judge's own "
            "name, or let the judge name its judgments."
        )
    return warnings
