"""One interpretation as a value: what ``interpret`` and ``interpret_many`` return."""

from typing import Any

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer
from pydantic.alias_generators import to_camel

from judgebatch.vocabulary import DefectKind, Reading, ReadingSupport


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class DecidedBy(_Value):
    """The stage that decided: its name, the names on the way to it, and on what it decided."""

    stage: str
    path: tuple[str, ...]
    basis: str


class Check(_Value):
    """One check of a judge."""

    name: str
    passed: bool
    detail: str


class ScoreScale(_Value):
    """The scale that a legacy score was stored on."""

    min: float
    max: float


class Judge(_Value):
    """What one judge said; ``scoreScale`` stands only where a scale was read."""

    position: int
    name: str
    key_source: str | None
    status: str | None
    reason_code: str | None
    score: float | None
    score_scale: ScoreScale | None = None
    reasoning: str
    checks: tuple[Check, ...]

    @model_serializer(mode="wrap")
    def _without_missing_scale(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = handler(self)
        if self.score_scale is None:
            content.pop("scoreScale", None)
            content.pop("score_scale", None)
        return content


class Evidence(_Value):
    """What an aggregate says of how it came about."""

    strategy: str | None
    error_policy: str | None
    not_applicable_policy: str | None
    input_count: int | None
    eligible_count: int | None
    explicit_abstain_count: int | None
    not_applicable_count: int | None
    error_count: int | None
    ignored_error_count: int | None
    errors_treated_as_abstain_count: int | None
    errors_treated_as_fail_count: int | None
    not_applicable_treated_as_fail_count: int | None
    error_code_counts: dict[str, int] | None
    pass_count: int | None
    fail_count: int | None
    threshold: float | None
    binding_index: int | None
    input_weight: float | None
    eligible_weight: float | None


class Stage(_Value):
    """A composite attempt, or the verdict's own aggregate: then the attempt's fields are null."""

    stage: str | None = None
    path: tuple[str, ...] = ()
    relation: str | None = None
    policy: str | None = None
    disposition: str | None = None
    reason: str | None = None
    failure: str | None = None
    used_by_parent: bool | None = None
    status: str | None
    reason_code: str | None
    reasoning: str | None
    evidence: Evidence | None
    judges: tuple[Judge, ...]


class Defect(_Value):
    """What is missing or wrong in the stored verdict."""

    path: str
    field: str
    kind: DefectKind
    note: str


class Interpretation(_Value):
    """The one reading of a stored verdict, and what is missing in it."""

    source_version: int
    reading: Reading | None
    reading_support: ReadingSupport
    decided_by: DecidedBy | None
    root: Stage
    stages: tuple[Stage, ...]
    defects: tuple[Defect, ...]
    summary: str
