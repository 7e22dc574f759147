"""What an evaluation says, rule by rule."""

from collections.abc import Sequence
from dataclasses import dataclass

from judgebatch.policies.arguments import plain_items, plain_text, shown
from judgebatch.policies.errors import PolicyDefinitionError


@dataclass(frozen=True, slots=True)
class RuleReport:
    """Whether the answer to ``question`` met its rule, and the comparison in words.

    Raises
    ------
    PolicyDefinitionError
        The question is not a nonempty text, ``passed`` not a bool, or ``detail`` not a text.
    """

    question: str
    passed: bool
    detail: str

    def __post_init__(self) -> None:
        question, detail = plain_text(self.question), plain_text(self.detail)
        if not question:
            raise PolicyDefinitionError(
                f"a report's question is a nonempty text, not {shown(self.question)}"
            )
        if not isinstance(self.passed, bool):
            raise PolicyDefinitionError(f"passed is a bool, not {shown(self.passed)}")
        if detail is None:
            raise PolicyDefinitionError(f"a report's detail is a text, not {shown(self.detail)}")
        object.__setattr__(self, "question", question)
        object.__setattr__(self, "detail", detail)


@dataclass(frozen=True, slots=True)
class PolicyReport:
    """The reports of a policy's rules, in its order.

    Raises
    ------
    PolicyDefinitionError
        ``rules`` is not a nonempty sequence of :class:`RuleReport` with unique questions.
    """

    rules: tuple[RuleReport, ...]

    def __post_init__(self) -> None:
        given = _items(self.rules)
        if not given:
            raise PolicyDefinitionError(
                f"the reports of a policy are a nonempty sequence, not {shown(self.rules)}"
            )
        reports: list[RuleReport] = []
        questions: set[str] = set()
        for report in given:
            if not isinstance(report, RuleReport):
                raise PolicyDefinitionError(f"{shown(report)} is not a RuleReport")
            if report.question in questions:
                raise PolicyDefinitionError(f"two reports on {shown(report.question)}")
            questions.add(report.question)
            reports.append(report)
        object.__setattr__(self, "rules", tuple(reports))

    @property
    def passed(self) -> bool:
        """Whether every rule was met."""
        return all(report.passed for report in self.rules)


def _items(value: object) -> tuple[object, ...] | None:
    """Return the items of any sequence but a text."""
    if isinstance(value, Sequence) and not isinstance(value, list | tuple | str | bytes):
        try:
            return tuple(value)
        except Exception:  # noqa: BLE001  a sequence may iterate as it likes
            return None
    return plain_items(value)
