"""``judgebatch import``: files of other tools as the inputs of a run."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from judgebatch.cli import console
from judgebatch.cli.local_paths import LocalCommand
from judgebatch.cli.options import JsonOption, read_moment
from judgebatch.errors import InputError, UsageError, did_you_mean
from judgebatch.imports import arena as arena_files
from judgebatch.imports import inspect_logs
from judgebatch.imports import results as result_files
from judgebatch.imports.output import Destination, Digest, Source, files_of, settings_text

app = typer.Typer(
    no_args_is_help=True,
    help="""Bring files of other tools into the form that a run reads.

    For example:

        judgebatch import inspect logs/ -o evals

        judgebatch import arena battles.parquet -o arena
    """,
)

InputsArgument = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="Files, or folders of them.")
]
OutOption = Annotated[
    Path,
    typer.Option(
        "--out", "-o", metavar="DIR", help="Where it goes; a folder of earlier imports is added to."
    ),
]


@app.command("inspect", cls=LocalCommand)
def inspect(
    logs: InputsArgument,
    *,
    out: OutOption,
    tenant: Annotated[str, typer.Option(help="Whose episodes they are.")] = "inspect",
    verifier: Annotated[
        str | None,
        typer.Option(
            help="The scorer whose answer is the verifier outcome. Without it: completed, limit "
            "or error.",
            metavar="SCORER",
        ),
    ] = None,
    scale: Annotated[
        list[str] | None,
        typer.Option(
            help="A scorer whose numbers lie on a scale from 0 upwards, not between 0 and 1.",
            metavar="SCORER",
        ),
    ] = None,
    pass_at: Annotated[
        float | None,
        typer.Option(
            help="Also make verdicts of numbers: accepted from this number on.", metavar="NUMBER"
        ),
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option(help="TOML with USD per million tokens by model.", metavar="FILE"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Import logs of Inspect AI: samples become episodes, scores verdicts or answers.

    Reads .eval and .json logs with Inspect's own reader (pip install 'judgebatch[inspect]').
    A log that was imported before is passed over, so that this can run every night.

    For example:

        judgebatch import inspect logs/ -o evals --verifier match

        cd evals && judgebatch run
    """
    options = inspect_logs.Options(
        tenant=_tenant(tenant),
        verifier=verifier,
        scales=tuple(scale or ()),
        pass_at=pass_at,
        prices=inspect_logs.read_prices(prices) if prices is not None else {},
    )
    files = files_of(logs, inspect_logs.SUFFIXES)
    destination = Destination(out, "inspect")
    total, failed = _each(
        files,
        destination,
        options,
        lambda path, source: inspect_logs.read_log(path, options, source),
        inspect_logs.EXTRA,
    )
    _settle(destination, options.tenant, ['mode = "reference"'])
    _tell(destination, total, failed, as_json=as_json)


@app.command("arena", cls=LocalCommand)
def arena(
    files: InputsArgument,
    *,
    out: OutOption,
    tenant: Annotated[str, typer.Option(help="The tenant they belong to.")] = "arena",
    task: Annotated[str, typer.Option(help="The task they belong to.")] = "arena",
    task_column: Annotated[
        str | None,
        typer.Option(help="The column that tells tasks apart, such as a category.", metavar="NAME"),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Your name of a column: one of {', '.join(arena_files.KNOWN)}.",
            metavar="NAME=YOURS",
        ),
    ] = None,
    judged_at: Annotated[
        str | None,
        typer.Option(help="When rows without a time were judged.", metavar="TIME"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Import pairwise preferences between models: each row becomes a comparison.

    Reads Parquet and CSV with model_a, model_b and winner (model_a, model_b, tie,
    tie (bothbad)), or with winner_model_a, winner_model_b and winner_tie. All files together are
    one corpus: every model one episode, every task one group.

    For example:

        judgebatch import arena battles.parquet -o arena

        cd arena && judgebatch run && judgebatch sql "select * from leaderboard"
    """
    options = arena_files.Options(
        tenant=_tenant(tenant),
        task=task,
        task_column=task_column,
        columns=_columns(column or []),
        judged_at=_moment(judged_at, "--judged-at"),
    )
    found = files_of(files, arena_files.SUFFIXES)
    digest = Digest(options)
    for path in found:
        digest.with_file(path)
    text = digest.text()
    destination = Destination(out, "arena")
    corpus = arena_files.Corpus(options)
    largest = 0

    def read(source: Source) -> None:
        nonlocal largest
        with console.progress("importing", len(found), "files") as step:
            for path in found:
                corpus.read(path, text, source)
                step(1)
        largest = corpus.finish(source)

    rows = destination.known(text)
    total = Counter[str](known=int(rows is not None))
    if rows is None:
        rows = destination.take(found, text, read)
        _settle(destination, options.tenant, arena_files.settings_lines(largest))
    total.update(rows)
    _tell(destination, total, [], as_json=as_json)


@app.command("results", cls=LocalCommand)
def results(
    files: InputsArgument,
    *,
    out: OutOption,
    tenant: Annotated[str, typer.Option(help="Whose episodes they are.")] = "results",
    verifier_outcome: Annotated[
        str, typer.Option(help="The outcome of items that name none.", metavar="TEXT")
    ] = "unverified",
    at: Annotated[
        str | None,
        typer.Option(help="When items arrived that do not say so.", metavar="TIME"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Import result files with stored verdicts: items become episodes, their verdicts stay.

    Reads {"items": [{"itemId", "passed", "verdict": {…}}]}, a document a file or a line. The
    verdicts' text is not changed; the flag passed (or success) becomes recorded_passed.

    For example:

        judgebatch import results results/ -o legacy --at 2026-03-02T03:00:00Z
    """
    options = result_files.Options(
        tenant=_tenant(tenant),
        verifier_outcome=verifier_outcome or "unverified",
        at=_moment(at, "--at"),
    )
    found = files_of(files, result_files.SUFFIXES)
    destination = Destination(out, "results")
    total, failed = _each(
        found,
        destination,
        options,
        lambda path, source: result_files.read_results(path, options, source),
        result_files.EXTRA,
    )
    _settle(destination, options.tenant, ['mode = "reference"', 'judging_window = "none"'])
    _tell(destination, total, failed, as_json=as_json)


def _each(
    files: list[Path],
    destination: Destination,
    options: object,
    read: Callable[[Path, Source], None],
    extra: Mapping[str, Any],
) -> tuple[Counter[str], list[str]]:
    """Import every file that was not imported before; a broken one does not stop the others."""
    total: Counter[str] = Counter()
    failed = []
    with console.progress("importing", len(files), "files") as step:
        for path in files:
            digest = Digest(options).with_file(path).text()
            known = destination.known(digest)
            if known is not None:
                total["known"] += 1
            else:
                try:
                    rows = destination.take([path], digest, partial(read, path), extra)
                    total.update(rows)
                except InputError as error:
                    failed.append(str(error))
            step(1)
    return total, failed


def _settle(destination: Destination, tenant: str, lines: Iterable[str]) -> None:
    if destination.settle(settings_text(tenant, lines)):
        console.note(f"Wrote {destination.out / 'judgebatch.toml'}.")


def _tell(
    destination: Destination, total: Counter[str], failed: list[str], *, as_json: bool
) -> None:
    counts = {
        name: total[name] for name in ("episodes", "verdicts", "answers", "quarantine", "known")
    }
    if as_json:
        console.say_json({"out": str(destination.out), **counts, "failed": failed})
    else:
        console.say(
            f"{console.counted(counts['episodes'], 'episode')}, "
            f"{console.counted(counts['verdicts'], 'verdict')} and "
            f"{console.counted(counts['answers'], 'answer')} imported into {destination.out}; "
            f"{console.counted(counts['quarantine'], 'row')} set aside in its folder quarantine; "
            f"{console.counted(counts['known'], 'source')} imported before."
        )
    if failed:
        raise InputError(
            f"{console.counted(len(failed), 'file')} could not be imported; the others were. "
            + " ".join(failed)
        )


def _tenant(text: str) -> str:
    if not text:
        raise UsageError("--tenant is empty. Name the tenant that the rows belong to.")
    return text


def _moment(text: str | None, option: str) -> datetime | None:
    return None if text is None else read_moment(text, option)


def _columns(pairs: Iterable[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        name, sign, yours = pair.partition("=")
        if not sign or not yours:
            raise UsageError(f"--column {pair!r} is not NAME=YOURS, such as winner=result.")
        if name not in arena_files.KNOWN:
            raise UsageError(
                f"--column {pair!r}: {name!r} is none of {', '.join(arena_files.KNOWN)}"
                f"{did_you_mean(name, arena_files.KNOWN)}."
            )
        found[name] = yours
    return found
