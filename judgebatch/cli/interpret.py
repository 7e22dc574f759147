"""``judgebatch interpret``: say what stored verdicts mean, in files or in a warehouse."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from judgebatch.cli import console
from judgebatch.cli.opening import named_warehouse
from judgebatch.cli.options import AsOfOption, JsonOption, read_as_of
from judgebatch.errors import UsageError
from judgebatch.pipeline.corpus import Counts, interpret_files
from judgebatch.pipeline.mapping import in_processes
from judgebatch.pipeline.reinterpreting import Reinterpreted, reinterpret
from judgebatch.verdicts import instrument_sentence, pass_rates

_COMMONEST = 10


def interpret(
    inputs: Annotated[
        list[Path] | None,
        typer.Argument(help="Files of verdicts, or folders of them.", metavar="INPUT..."),
    ] = None,
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The new folder for the tables.")
    ] = None,
    column: Annotated[
        str, typer.Option("--column", help="The column of Parquet files with the JSON text.")
    ] = "verdict",
    warehouse: Annotated[
        str | None,
        typer.Option(
            "--warehouse",
            help="Read a warehouse's stored verdicts again instead.",
            metavar="FOLDER",
        ),
    ] = None,
    as_of: AsOfOption = None,
    processes: Annotated[
        int | None, typer.Option("--processes", "-p", min=1, help="Local processes to use.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say what stored verdicts mean, and what is missing in them.

    Reads Parquet with a column of JSON text, lines of JSON, and result documents with items.
    Needs no warehouse. With --warehouse it reads what is stored there with today's rules, as a new
    reading beside the old ones.

    For example:

        judgebatch interpret old-results/ -o readings

        judgebatch interpret runs.parquet --column jury_json -o readings

        judgebatch interpret --warehouse warehouse
    """
    count = processes or _cores()
    if warehouse is not None:
        if inputs or out is not None:
            raise UsageError(
                "--warehouse reads a warehouse's own verdicts and writes to it: name neither INPUT "
                "nor --out with it."
            )
        with in_processes(count) as mapper:
            report = reinterpret(named_warehouse(warehouse), read_as_of(as_of), mapper)
        _tell_reading(report, as_json=as_json)
        return
    if not inputs or out is None:
        raise UsageError(
            "name what to read and where to write: judgebatch interpret INPUT... -o FOLDER, or "
            "--warehouse FOLDER."
        )
    with ExitStack() as stack:
        steps: list[console.Step] = []

        def progress(done: int, total: int) -> None:
            if done == 0:
                steps.append(stack.enter_context(console.progress("reading", total, "parts")))
            else:
                steps[0](1)

        mapper = stack.enter_context(in_processes(count))
        counts = interpret_files(inputs, out, column=column, mapper=mapper, progress=progress)
    if as_json:
        console.say_json(
            {"out": str(out), "inputs": {name: summary(c) for name, c in counts.items()}}
        )
        return
    for name, read in counts.items():
        _tell(name, read)
    console.say(f"All tables are in {out}.")


def _cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def summary(counts: Counts) -> dict[str, Any]:
    """Return what was read of a corpus, for scripts."""
    return {
        "verdicts": int(counts.readings["count"].sum()),
        "quarantined": counts.quarantined,
        "readings": counts.readings.to_dicts(),
        "defects": counts.defects.to_dicts(),
        "restatements": counts.causes.to_dicts(),
        **(
            {"sentence": instrument_sentence(counts.recorded), **_rates(counts.recorded)}
            if counts.recorded.height
            else {}
        ),
    }


def _rates(recorded: pl.DataFrame) -> Mapping[str, Any]:
    return pass_rates(recorded).row(0, named=True)


def _tell(name: str, counts: Counts) -> None:
    verdicts = int(counts.readings["count"].sum())
    unread = f", {counts.quarantined:,} in quarantine" if counts.quarantined else ""
    console.say_table(
        f"{name}: {console.counted(verdicts, 'verdict')} read{unread}",
        ["reading", "support", "verdicts"],
        [(reading or "none", support, n) for reading, support, n in counts.readings.rows()],
        right=["verdicts"],
    )
    commonest = counts.defects.sort("count", "field", "kind", descending=[True, False, False])
    if commonest.height:
        console.say_table(
            "Commonest defects",
            ["field", "kind", "times"],
            commonest.head(_COMMONEST).rows(),
            right=["times"],
        )
    if counts.recorded.height:
        console.say(instrument_sentence(counts.recorded))
        for line in _restated(counts):
            console.say(line)


def _restated(counts: Counts) -> Iterator[str]:
    rates = _rates(counts.recorded)
    for kind in ("recorded", "restated"):
        passes, others = rates[f"{kind}_passes"], rates[f"{kind}_non_passes"]
        rate = rates[f"{kind}_pass_rate"]
        shown = "no rate" if rate is None else f"{rate:.1%}"
        yield f"Pass rate {kind}: {shown} ({passes:,} of {passes + others:,})."
    for cause, count in counts.causes.rows():
        yield f"{count:,} to restate: {cause}."


def _tell_reading(report: Reinterpreted, *, as_json: bool) -> None:
    if as_json:
        console.say_json(report._asdict())
        return
    console.say(
        f"Run {report.run}: {console.counted(report.verdicts, 'verdict')} read again as reading "
        f"version {report.reading_version}; {report.changed:,} read differently than before."
    )
