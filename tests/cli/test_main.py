import subprocess
import sys

import pytest

from judgebatch import __version__
from judgebatch.cli import check, registry
from judgebatch.cli.registry import ENTRIES
from judgebatch.errors import (
    InputError,
    JudgebatchError,
    SettingsError,
    UsageError,
    WarehouseConflictError,
    WarehouseDamagedError,
)
from tests.cli.running import run


def test_version(capsys):
    assert run(capsys, "--version") == (0, f"judgebatch {__version__}\n", "")


def test_help_lists_every_command_with_its_summary_and_examples(capsys):
    ran = run(capsys, "--help")
    assert ran.code == 0
    for entry in ENTRIES:
        assert entry.name in ran.out
        assert entry.summary in " ".join(ran.out.replace("│", " ").split())
    assert "judgebatch init" in ran.out
    assert "Exit codes" in ran.out


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry.name for entry in ENTRIES])
def test_every_command_has_a_help_with_an_example(capsys, entry):
    ran = run(capsys, entry.name, "--help")
    assert ran.code == 0
    assert "Usage: judgebatch " + entry.name in ran.out
    assert f"judgebatch {entry.name}" in ran.out.split("For example", 1)[-1]


def test_help_loads_no_command():
    program = (
        "import sys; from judgebatch.cli.main import run_command; run_command(['--help']);"
        "sys.exit(any(name in sys.modules for name in ('polars', 'pyarrow', 'duckdb')))"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True).returncode == 0  # noqa: PLW1510


def test_no_command_shows_the_help_and_is_a_usage_error(capsys):
    assert run(capsys).code == 2


def test_an_unknown_command_says_what_was_meant(capsys):
    ran = run(capsys, "chek")
    assert ran.code == 2
    assert "Did you mean 'check'?" in ran.err


def test_an_unknown_option_is_a_usage_error(capsys):
    assert run(capsys, "check", "--settigns", "x").code == 2


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (JudgebatchError, 1),
        (UsageError, 2),
        (SettingsError, 2),
        (InputError, 3),
        (WarehouseConflictError, 4),
        (WarehouseDamagedError, 5),
    ],
)
def test_an_expected_error_is_one_paragraph_and_its_exit_code(capsys, monkeypatch, error, code):
    def fail(path):
        raise error("It went wrong there. Do this.")

    monkeypatch.setattr(check, "load_settings", fail)
    assert run(capsys, "check") == (code, "", "error: It went wrong there. Do this.\n")


def test_an_unexpected_error_is_one_paragraph_and_a_traceback_only_if_asked(capsys, monkeypatch):
    def fail(path):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(check, "load_settings", fail)
    ran = run(capsys, "check")
    assert ran.code == 1
    assert ran.err.startswith("error: something unexpected went wrong: RuntimeError: two lines.")
    assert ran.err.count("\n") == 1
    assert "--debug" in ran.err
    for arguments in (["--debug", "check"], ["check", "--debug"]):
        ran = run(capsys, *arguments)
        assert ran.code == 1
        assert "Traceback" in ran.err


def test_no_color_is_honoured(tmp_path):
    program = "from judgebatch.cli import console; console.fail('x')"
    environment = {"NO_COLOR": "1", "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    done = subprocess.run(  # noqa: PLW1510
        [sys.executable, "-c", program], capture_output=True, env=environment, text=True
    )
    assert "31m" not in done.stderr
    assert "error: x" in done.stderr.replace("\x1b[1m", "").replace("\x1b[0m", "")


def test_the_module_is_a_program():
    done = subprocess.run([sys.executable, "-m", "judgebatch", "--version"], capture_output=True)  # noqa: PLW1510
    assert done.stdout.decode() == f"judgebatch {__version__}\n"


def test_names_of_commands_are_unique():
    names = [entry.name for entry in registry.ENTRIES]
    assert len(set(names)) == len(names)


class PanicError(BaseException):
    pass


def test_a_panic_of_a_compiled_library_is_an_unexpected_error(capsys, monkeypatch):
    def fail(path):
        raise PanicError("index out of bounds")

    monkeypatch.setattr(check, "load_settings", fail)
    ran = run(capsys, "check")
    assert ran.code == 1
    assert "PanicError: index out of bounds" in ran.err


def test_an_interrupt_is_one_line_and_exit_code_130(capsys, monkeypatch):
    def interrupt(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "load_settings", interrupt)
    ran = run(capsys, "check")
    assert ran.code == 130
    assert (
        ran.err.strip() == "error: interrupted. A run that was not finished has published nothing."
    )
