"""The tables of a settings file, as it may write them.

Every key is optional and every unknown one refused. What the values come to, with inheritance
and defaults, is in :mod:`judgebatch.settings.model`.
"""

from typing import Annotated, Any, Self
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from judgebatch.errors import did_you_mean
from judgebatch.inputs.spec import CONTRACTS, InputKind
from judgebatch.settings.values import (
    Ceiling,
    Duration,
    Fraction,
    NotAllowedError,
    PathText,
    PlaceText,
    PositiveDuration,
    Text,
    Window,
    flag,
    token,
    whole,
)
from judgebatch.vocabulary import BudgetPeriod, Mode, TieModel, Token, UnknownTenants

ANSWER_COLUMNS: dict[str, tuple[str, ...]] = {
    "noul": ("probability",),
    "choice": ("choice", "confidence"),
    "score": ("score", "confidence", "probabilities"),
}
"""The columns of each answer type; all but ``probabilities`` are needed."""


class PromotionScope(Token):
    """Over what a variant is decided."""

    TASK = "task"
    OVERALL = "overall"


def _zone(value: object) -> str:
    expected = 'expected the name of a time zone, such as "UTC" or "Europe/Paris"'
    if not isinstance(value, str):
        raise NotAllowedError(expected)
    try:
        ZoneInfo(value)
    except (OSError, ValueError, KeyError):
        raise NotAllowedError(expected) from None
    return value


def _answer_type(value: object) -> str:
    if not isinstance(value, str) or value not in ANSWER_COLUMNS:
        hint = did_you_mean(value, ANSWER_COLUMNS) if isinstance(value, str) else ""
        raise NotAllowedError(f'expected one of "noul", "choice", "score"{hint}')
    return value


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(n, str) and n for n in value):
        hint = f' (did you mean ["{value}"]?)' if isinstance(value, str) else ""
        raise NotAllowedError(f"expected a list of names of policy files{hint}")
    unsafe = [n for n in value if "/" in n or "\\" in n or "\0" in n or n.startswith(".")]
    if unsafe:
        raise NotAllowedError(f"expected names of files in the folder policies, not {unsafe[0]!r}")
    if len(set(value)) < len(value):
        raise NotAllowedError("expected each policy once")
    return tuple(name.removesuffix(".json") for name in value)


def _column_map(kind: InputKind, value: object) -> dict[str, str]:
    known = list(CONTRACTS[kind].columns())
    if not isinstance(value, dict):
        raise NotAllowedError('expected a table such as {episode_id = "run_id"}')
    for name, source in value.items():
        if name not in known:
            hint = did_you_mean(name, known)
            swapped = source if isinstance(source, str) and source in known else None
            meant = f' (did you mean {swapped} = "{name}"?)' if swapped else hint
            raise NotAllowedError(f"unknown column {name!r}{meant}; allowed: {', '.join(known)}")
        if not isinstance(source, str) or not source:
            raise NotAllowedError(f"expected the file's name for {name}, a text, not {source!r}")
    return dict(value)


class Strict(BaseModel):
    """A frozen table that refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class WideTable(Strict):
    """``[inputs.answers.wide.QUESTION]``."""

    type: Annotated[str, BeforeValidator(_answer_type)]
    probability: Text | None = None
    choice: Text | None = None
    confidence: Text | None = None
    score: Text | None = None
    probabilities: Text | None = None

    @model_validator(mode="after")
    def _columns_fit_the_type(self) -> Self:
        allowed = ANSWER_COLUMNS[self.type]
        given = set(self.model_dump(exclude_none=True)) - {"type"}
        needed = set(allowed) - {"probabilities"}
        if given - set(allowed) or needed - given:
            raise NotAllowedError(f"a {self.type} question has the columns {', '.join(allowed)}")
        return self


class InputTable(Strict):
    """What the tables of the inputs share."""

    assume_timezone: Annotated[str, BeforeValidator(_zone)] | None = None


class EpisodesTable(InputTable):
    """``[inputs.episodes]``."""

    path: PlaceText = "episodes"
    columns: Annotated[
        dict[str, str], BeforeValidator(lambda value: _column_map(InputKind.EPISODES, value))
    ] = Field(default_factory=dict)


class VerdictsTable(InputTable):
    """``[inputs.verdicts]``."""

    path: PlaceText = "verdicts"
    columns: Annotated[
        dict[str, str], BeforeValidator(lambda value: _column_map(InputKind.VERDICTS, value))
    ] = Field(default_factory=dict)


class AnswersTable(InputTable):
    """``[inputs.answers]``."""

    path: PlaceText = "answers"
    columns: Annotated[
        dict[str, str], BeforeValidator(lambda value: _column_map(InputKind.ANSWERS, value))
    ] = Field(default_factory=dict)
    wide: dict[Text, WideTable] = Field(default_factory=dict)


class InputsTable(Strict):
    """``[inputs]``."""

    episodes: EpisodesTable = EpisodesTable()
    verdicts: VerdictsTable = VerdictsTable()
    answers: AnswersTable | None = None


class TaskTable(Strict):
    """``[tenants."id".tasks."id"]``."""

    policies: Annotated[tuple[str, ...], BeforeValidator(_names)] | None = None


class GradingTable(Strict):
    """What ``[defaults]`` and ``[tenants."id"]`` share."""

    mode: Annotated[Mode, BeforeValidator(lambda value: token(Mode, value))] = Mode.REFERENCE
    quorum: Annotated[int, BeforeValidator(lambda value: whole(value, minimum=2))] = 8
    min_group_size: (
        Annotated[int, BeforeValidator(lambda value: whole(value, minimum=2))] | None
    ) = None
    group_timeout: PositiveDuration = 24 * 3_600_000_000
    judging_window: Window = 36 * 3_600_000_000
    unknown_episode_window: Duration = 7 * 86_400_000_000
    pair_degree: Annotated[
        int, BeforeValidator(lambda value: whole(value, minimum=2, even=True))
    ] = 8
    comparisons_per_pair: Annotated[int, BeforeValidator(lambda value: whole(value, minimum=1))] = 1
    grading_ceiling_usd: Ceiling = None
    budget_period: Annotated[
        BudgetPeriod, BeforeValidator(lambda value: token(BudgetPeriod, value))
    ] = BudgetPeriod.MONTH
    policies: Annotated[tuple[str, ...], BeforeValidator(_names)] = ()

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        if self.min_group_size is not None and self.min_group_size > self.quorum:
            raise NotAllowedError(
                f"min_group_size = {self.min_group_size} is above quorum = {self.quorum}: "
                "a group closes at its quorum, so min_group_size can be at most that"
            )
        return self


class TenantTable(GradingTable):
    """``[tenants."id"]``: the grading settings, and what holds for single tasks."""

    tasks: dict[Text, TaskTable] = Field(default_factory=dict)


class FitTable(Strict):
    """``[fit]``."""

    tie_model: Annotated[TieModel, BeforeValidator(lambda value: token(TieModel, value))] = (
        TieModel.HALF_WIN
    )
    level: Fraction = 0.95


class PromotionTable(Strict):
    """``[promotion]``."""

    variant: Text
    baseline: Text
    scope: Annotated[
        PromotionScope, BeforeValidator(lambda value: token(PromotionScope, value))
    ] = PromotionScope.TASK
    p0: Fraction = 0.5
    p1: Fraction = 0.6
    alpha: Fraction = 0.05
    beta: Fraction = 0.05

    @model_validator(mode="after")
    def _a_test_is_possible(self) -> Self:
        if self.variant == self.baseline:
            raise NotAllowedError("variant and baseline must be two different variants")
        if self.p0 >= self.p1:
            raise NotAllowedError(f"p0 = {self.p0} must be below p1 = {self.p1}")
        if self.alpha + self.beta >= 1:
            raise NotAllowedError("alpha and beta together must stay below 1")
        return self


class JudgeTable(BaseModel):
    """``[judge]``: the judge's name, its jury, and options that belong to the judge."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: Text
    jury: Text | dict[str, Any] | None = None
    options: dict[str, Any] = Field(default_factory=dict)


class MetricsTable(Strict):
    """``[metrics]``."""

    textfile: PathText | None = None


class ReportTable(Strict):
    """``[report]``."""

    write: Annotated[bool, BeforeValidator(flag)] = True


class SettingsFile(Strict):
    """The whole file."""

    warehouse: PlaceText = "warehouse"
    scratch: PathText | None = None
    unknown_tenants: Annotated[
        UnknownTenants, BeforeValidator(lambda value: token(UnknownTenants, value))
    ] = UnknownTenants.QUARANTINE
    inputs: InputsTable = InputsTable()
    defaults: GradingTable = GradingTable()
    tenants: dict[Text, TenantTable] = Field(default_factory=dict)
    fit: FitTable = FitTable()
    promotion: PromotionTable | None = None
    judge: JudgeTable | None = None
    metrics: MetricsTable = MetricsTable()
    report: ReportTable = ReportTable()
