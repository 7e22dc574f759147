"""Stored verdicts and what they must be read as."""

from typing import Any

from judgebatch.verdicts import interpret

_PROSE = frozenset({"summary"})


def matches(case: dict[str, Any]) -> bool:
    """Return whether a case is one of these."""
    return "verdict" in case and "expect" in case and "jury" not in case


def check(case: dict[str, Any]) -> list[str]:
    """Return where the interpretation differs from what is expected."""
    return differences(
        case["expect"], interpret(case["verdict"]).model_dump(mode="json", by_alias=True)
    )


def differences(expected: dict[str, Any], got: dict[str, Any]) -> list[str]:
    """Return where an interpretation differs in a field that is expected."""
    found = dict(got)
    found["defects"] = [
        {key: defect[key] for key in ("path", "field", "kind")} for defect in got["defects"]
    ]
    return [
        f"{name}: got {found.get(name)!r:.300}, expected {value!r:.300}"
        for name, value in expected.items()
        if name not in _PROSE and not _same(found.get(name), value)
    ]


def _same(got: Any, expected: Any) -> bool:
    if isinstance(expected, dict):
        return (
            isinstance(got, dict)
            and got.keys() == expected.keys()
            and all(_same(got[key], value) for key, value in expected.items())
        )
    if isinstance(expected, list):
        return (
            isinstance(got, list) and len(got) == len(expected) and all(map(_same, got, expected))
        )
    if isinstance(expected, bool) or isinstance(got, bool):
        return got is expected
    return bool(got == expected)
