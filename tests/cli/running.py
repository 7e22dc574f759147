"""Running the command line inside a test."""

from typing import NamedTuple

from judgebatch.cli.main import run_command


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def run(capsys, *arguments: object) -> Ran:
    capsys.readouterr()
    code = run_command([str(one) for one in arguments])
    captured = capsys.readouterr()
    return Ran(code, captured.out, captured.err)
