"""The command line: ``judgebatch COMMAND``."""

import sys
import traceback
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Annotated, NoReturn

import typer

from judgebatch import __version__
from judgebatch.cli import console
from judgebatch.cli.registry import LazyGroup
from judgebatch.errors import JudgebatchError, UsageError

UNEXPECTED = 1
INTERRUPTED = 130
"""What Typer exits with when the keyboard interrupts."""
DEBUG = "--debug"
LOG_FORMAT = "--log-format"
_LONGEST = 500

app = typer.Typer(
    cls=LazyGroup,
    add_completion=True,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:  # noqa: FBT001 - the signature is Typer's
    if asked:
        sys.stdout.write(f"judgebatch {__version__}\n")
        raise typer.Exit


@app.callback()
def judgebatch(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
    debug: Annotated[
        bool, typer.Option(DEBUG, help="Show the traceback of an unexpected error.")
    ] = False,
    log_format: Annotated[
        str,
        typer.Option(
            LOG_FORMAT,
            metavar="[text|json]",
            help="What standard error holds: text for people, or lines of JSON.",
        ),
    ] = "text",
) -> None:
    """Grade agent episodes night after night: every one ends with a score or a stated reason.

    Try it on made-up data:

        judgebatch synth corpus --episodes 2000 --tenants 6 --nights 3 --seed 1

        judgebatch check --settings corpus/judgebatch.toml

        judgebatch run --settings corpus/judgebatch.toml --as-of 2026-03-04T03:00:00Z

    Start with your own:

        judgebatch init

    Exit codes: 0 done, or nothing to do; 1 writing failed, a store is down, or unexpected; 2 usage,
    settings or credentials; 3 bad input; 4 warehouse conflict; 5 verify or doctor found something.
    """
    # The first exits; the others are read before the command line is parsed.
    del version, debug, log_format


def run_command(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code.

    An expected error is one paragraph on standard error. So is an unexpected one, unless
    ``--debug`` stands anywhere before ``--``: then its traceback comes first. With
    ``--log-format json`` there, standard error holds lines of JSON.
    """
    before = list(arguments[: arguments.index("--")] if "--" in arguments else arguments)
    after = list(arguments[len(before) :])
    debug = DEBUG in before
    before = [one for one in before if one != DEBUG]
    log_format = _taken(before, LOG_FORMAT)
    if log_format not in (None, "text", "json"):
        console.fail(f"{LOG_FORMAT} {log_format!r}: expected text or json.")
        return UsageError.exit_code
    with console.json_lines() if log_format == "json" else nullcontext():
        return _run(before + after, debug=debug)


def _taken(arguments: list[str], option: str) -> str | None:
    """Take an option with its value out of the arguments; the last one stands."""
    value = None
    at = 0
    while at < len(arguments):
        name, given, own = arguments[at].partition("=")
        if name != option:
            at += 1
            continue
        value = own if given else "".join(arguments[at + 1 : at + 2])
        del arguments[at : at + (1 if given else 2)]
    return value


def _run(rest: Sequence[str], *, debug: bool) -> int:
    try:
        typer.main.get_command(app)(list(rest), prog_name="judgebatch")
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else int(done.code is not None)
        if code == INTERRUPTED:
            console.fail("interrupted. A run that was not finished has published nothing.")
        return code
    except JudgebatchError as error:
        if debug:
            traceback.print_exc()
        console.fail(str(error))
        return error.exit_code
    except BaseException as error:  # noqa: BLE001 - also what compiled libraries panic with
        return _unexpected(error, debug=debug)
    return 0


def _unexpected(error: BaseException, *, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    advice = "" if debug else " Run it again with --debug to see where, and report what it prints."
    said = " ".join(str(error).split())[:_LONGEST].rstrip(".")
    console.fail(
        f"something unexpected went wrong: {type(error).__name__}: {said}. Nothing that was "
        f"published before has changed.{advice}"
    )
    return UNEXPECTED


def main() -> NoReturn:
    """Run the command line of the process."""
    for stream in (sys.stdout, sys.stderr):
        # Ids are any Unicode; a terminal that cannot show one must not stop a run.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run_command(sys.argv[1:]))


if __name__ == "__main__":
    main()
