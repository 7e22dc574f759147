"""The settings of a run, resolved: tenants with what they inherit, paths made absolute."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import polars as pl

from judgebatch.inputs.spec import InputKind, InputSpec, WideQuestion
from judgebatch.objects.url import ObjectUrl
from judgebatch.settings.effective import effective_text
from judgebatch.settings.tables import (
    AnswersTable,
    EpisodesTable,
    FitTable,
    GradingTable,
    JudgeTable,
    PromotionTable,
    SettingsFile,
    TenantTable,
    VerdictsTable,
)
from judgebatch.settings.values import resolve, resolve_place
from judgebatch.vocabulary import BudgetPeriod, Mode, UnknownTenants

SMALLEST_DEFAULT_GROUP = 3


@dataclass(frozen=True)
class TenantSettings:
    """How the episodes of a tenant are graded. Times in microseconds, money in nano-dollars."""

    mode: Mode
    quorum: int
    min_group_size: int
    group_timeout_us: int
    judging_window_us: int | None
    unknown_episode_window_us: int
    pair_degree: int
    comparisons_per_pair: int
    ceiling_nano_usd: int | None
    budget_period: BudgetPeriod
    policies: tuple[str, ...]
    task_policies: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, table: GradingTable) -> Self:
        """Return what a table of the settings file comes to."""
        tasks = table.tasks if isinstance(table, TenantTable) else {}
        return cls(
            mode=table.mode,
            quorum=table.quorum,
            min_group_size=table.min_group_size or min(SMALLEST_DEFAULT_GROUP, table.quorum),
            group_timeout_us=table.group_timeout,
            judging_window_us=table.judging_window,
            unknown_episode_window_us=table.unknown_episode_window,
            pair_degree=table.pair_degree,
            comparisons_per_pair=table.comparisons_per_pair,
            ceiling_nano_usd=table.grading_ceiling_usd,
            budget_period=table.budget_period,
            policies=table.policies,
            task_policies={
                name: task.policies for name, task in tasks.items() if task.policies is not None
            },
        )

    def policies_of(self, task_id: str) -> tuple[str, ...]:
        """Return the names of the policies that a task's episodes are held against."""
        return self.task_policies.get(task_id, self.policies)


TENANT_FRAME = pl.Schema(
    {
        "tenant_id": pl.String(),
        "known": pl.Boolean(),
        "mode": pl.String(),
        "quorum": pl.Int64(),
        "min_group_size": pl.Int64(),
        "group_timeout_us": pl.Int64(),
        "judging_window_us": pl.Int64(),
        "unknown_episode_window_us": pl.Int64(),
        "pair_degree": pl.Int64(),
        "comparisons_per_pair": pl.Int64(),
        "ceiling_nano_usd": pl.Int64(),
        "budget_period": pl.String(),
    }
)


@dataclass(frozen=True)
class Settings:
    """Everything a run is told, as values."""

    source: Path
    """The settings file; relative paths start at its folder."""
    warehouse: Path | ObjectUrl
    scratch: Path | None
    """Where copies of a warehouse in an object store stay; None for a folder of the moment."""
    unknown_tenants: UnknownTenants
    inputs: Mapping[InputKind, InputSpec]
    """Episodes and verdicts always; answers where the settings have them."""
    defaults: TenantSettings
    tenants: Mapping[str, TenantSettings]
    fit: FitTable
    promotion: PromotionTable | None
    judge: JudgeTable | None
    metrics_textfile: Path | None
    writes_report: bool = True
    """Whether a run leaves its report beside its tables."""

    @property
    def policies_folder(self) -> Path:
        """The folder of the policy files."""
        return self.source.parent / "policies"

    def tenant(self, tenant_id: str) -> TenantSettings:
        """Return a tenant's settings; the defaults where it has none of its own."""
        return self.tenants.get(tenant_id, self.defaults)

    def policy_names(self) -> tuple[str, ...]:
        """Return every policy that the settings name, sorted."""
        everyone = [self.defaults, *self.tenants.values()]
        named = {name for one in everyone for name in one.policies}
        named |= {name for one in everyone for task in one.task_policies.values() for name in task}
        return tuple(sorted(named))

    def tenant_frame(self, tenant_ids: pl.Series) -> pl.DataFrame:
        """Return the grading settings of tenants, one row per distinct id, sorted by id.

        ``known`` is true for tenants that the settings name; the others have the defaults. A null
        window is no window, a null ceiling no ceiling.
        """
        ids = tenant_ids.cast(pl.String).drop_nulls().unique().sort().alias("tenant_id")
        own = _frame(list(self.tenants), list(self.tenants.values()))
        default = _frame([""], [self.defaults]).drop("tenant_id", "known")
        wanted = ids.to_frame()
        known = wanted.join(own, on="tenant_id", how="inner")
        unknown = (
            wanted.join(own.select("tenant_id"), on="tenant_id", how="anti")
            .with_columns(known=pl.lit(False))
            .join(default, how="cross")
        )
        return pl.concat([known, unknown]).sort("tenant_id").select(TENANT_FRAME.names())

    def effective_text(self) -> str:
        """Return the settings as canonical TOML, the same on every machine.

        Paths of the machine are left out, so are values that look like secrets. Two files that
        mean the same give the same text.
        """
        return effective_text(self)


def resolve_settings(file: SettingsFile, source: Path) -> Settings:
    """Return the settings that ``file``, read from ``source``, comes to."""
    root = source.parent
    inputs = {
        InputKind.EPISODES: _input(InputKind.EPISODES, file.inputs.episodes, root),
        InputKind.VERDICTS: _input(InputKind.VERDICTS, file.inputs.verdicts, root),
    }
    if file.inputs.answers is not None:
        inputs[InputKind.ANSWERS] = _input(InputKind.ANSWERS, file.inputs.answers, root)
    textfile = file.metrics.textfile
    return Settings(
        source=source,
        warehouse=resolve_place(root, file.warehouse),
        scratch=None if file.scratch is None else resolve(root, file.scratch),
        unknown_tenants=file.unknown_tenants,
        inputs=inputs,
        defaults=TenantSettings.of(file.defaults),
        tenants={name: TenantSettings.of(file.tenants[name]) for name in sorted(file.tenants)},
        fit=file.fit,
        promotion=file.promotion,
        judge=file.judge,
        metrics_textfile=None if textfile is None else resolve(root, textfile),
        writes_report=file.report.write,
    )


def _input(
    kind: InputKind, table: EpisodesTable | VerdictsTable | AnswersTable, root: Path
) -> InputSpec:
    wide = table.wide if isinstance(table, AnswersTable) else {}
    return InputSpec(
        kind=kind,
        root=root,
        path=table.path,
        columns=table.columns,
        assume_timezone=table.assume_timezone,
        wide=tuple(
            WideQuestion(name, one.type, one.model_dump(exclude={"type"}, exclude_none=True))
            for name, one in sorted(wide.items())
        ),
    )


def _frame(names: list[str], tenants: list[TenantSettings]) -> pl.DataFrame:
    columns: dict[str, list[Any]] = {"tenant_id": names, "known": [True] * len(names)}
    for column in TENANT_FRAME.names()[2:]:
        columns[column] = [getattr(tenant, column) for tenant in tenants]
    columns["mode"] = [tenant.mode.value for tenant in tenants]
    columns["budget_period"] = [tenant.budget_period.value for tenant in tenants]
    return pl.DataFrame(columns, schema=TENANT_FRAME)
