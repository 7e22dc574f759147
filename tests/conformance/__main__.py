"""Run expected results: ``python -m tests.conformance FILE…``.

Each line of a file is one case, recognised by its shape. Prints what failed, then
``N passed, N failed``; exits 1 if anything failed.
"""

import gzip
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import orjson

AREAS = ("grading", "interpret", "juries", "policies", "strengths")
_SHOWN = 20


def cases(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the cases of a file, which may be gzipped."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as lines:
        for line in lines:
            if line.strip():
                yield orjson.loads(line)


def area_of(case: dict[str, Any]) -> Any:
    """Return the module that runs a case; raise ``ValueError`` where none does."""
    for name in AREAS:
        module = import_module(f"tests.conformance.{name}")
        if module.matches(case):
            return module
    raise ValueError(f"no runner knows a case with the members {sorted(case)}")


def failures(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield for each case its name and what differs (nothing where it agrees)."""
    for number, case in enumerate(cases(path), start=1):
        name = f"{path.name}:{number} {case.get('id', '')}".strip()
        try:
            yield name, area_of(case).check(case)
        except Exception as error:  # noqa: BLE001 - a case that raises has failed, the others go on
            yield name, [f"{type(error).__name__}: {error}"]


def main(paths: Sequence[str]) -> int:
    """Run the files; return the exit code."""
    if not paths:
        sys.stderr.write("usage: python -m tests.conformance FILE...\n")
        return 2
    passed = failed = 0
    for path in paths:
        for name, messages in failures(Path(path)):
            if not messages:
                passed += 1
                continue
            failed += 1
            if failed <= _SHOWN:
                sys.stdout.write(f"{name}: {'; '.join(messages)[:1000]}\n")
    sys.stdout.write(f"{passed} passed, {failed} failed\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
