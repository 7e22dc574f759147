"""One episode's whole story, from what the warehouse holds and the input files still say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from judgebatch.contracts import grading as g
from judgebatch.contracts.interpretations import Interpretations
from judgebatch.contracts.state import (
    AwaitingComparisons,
    PendingEpisodes,
    PendingVerdicts,
    WaitingVerdicts,
)
from judgebatch.contracts.table import Table, schema_of
from judgebatch.errors import UsageError
from judgebatch.inputs import InputKind, discover, rows_with
from judgebatch.pipeline.checkpoint import shard_folder
from judgebatch.pipeline.pending import open_pending
from judgebatch.settings import Settings
from judgebatch.warehouse import Warehouse

Row = dict[str, Any]

_END = datetime.max.replace(tzinfo=UTC)
_READING = ("verdict_id", "reading_version", "reading", "reading_support", "summary")


@dataclass(frozen=True)
class Story:
    """What is known of one episode; every list is in the order of the nights."""

    tenant_id: str
    episode_id: str
    sources: list[Row] = field(default_factory=list)
    """``file, row`` of the input rows that carry the identity, where the files are still there."""
    vanished: list[str] = field(default_factory=list)
    """Consumed files that are no longer there, so that their rows cannot be looked up."""
    state: str = "unknown"
    """Pending, Grading, Graded, Ungraded, quarantined or unknown."""
    episode: Row | None = None
    """Its row in graded, ungraded, open_episodes, or the pending rows."""
    group: Row | None = None
    strength: Row | None = None
    ledger: Row | None = None
    comparisons: list[Row] = field(default_factory=list)
    """Ended ones with their disposition, then those that wait (``disposition`` null).

    Those that wait for an episode that was not seen have ``unseen``, its id or both, and
    ``waits_until``; those judged after the last run's as_of have ``waits_until`` null.
    """
    verdicts: list[Row] = field(default_factory=list)
    """Verdicts on the episode alone, with their newest reading."""
    requests: list[Row] = field(default_factory=list)
    quarantined: list[Row] = field(default_factory=list)
    quarantined_verdicts: list[Row] = field(default_factory=list)
    """Verdicts that name the episode, on either side."""


def explain(settings: Settings, warehouse: Warehouse, tenant_id: str, episode_id: str) -> Story:
    """Tell one episode's story.

    Raises
    ------
    UsageError
        Nothing that was read names the episode.
    """
    looker = _Looker(warehouse, tenant_id)
    own = pl.col("episode_id") == episode_id
    named = (pl.col("left") == episode_id) | (pl.col("right") == episode_id)
    state, episode = looker.where_it_is(own)
    quarantined = looker.rows(g.Quarantine, pl.col("id") == episode_id)
    quarantined = [row for row in quarantined if row["input"] == InputKind.EPISODES]
    if episode is None and quarantined:
        state = "quarantined"
    sources, vanished = _sources(settings, warehouse, tenant_id, episode_id)
    comparisons = [*looker.rows(g.Comparisons, named), *looker.waiting_comparisons(named)]
    verdicts = looker.verdicts(own)
    columns = settings.inputs[InputKind.VERDICTS].columns
    quarantined_verdicts = looker.quarantined_verdicts(episode_id, columns)
    told = [quarantined, sources, comparisons, verdicts, quarantined_verdicts]
    if episode is None and not any(told):
        known = looker.tenants()
        hint = "" if tenant_id in known else f" Tenants with rows: {', '.join(known[:10])}."
        if not known:
            hint = " No tenant has rows yet."
        raise UsageError(
            f"No run of {warehouse.name} has seen episode {episode_id!r} of tenant {tenant_id!r}; "
            f"ids are compared exactly.{hint}"
        )
    group = _group_of(episode)
    return Story(
        tenant_id,
        episode_id,
        sources,
        vanished,
        state,
        episode,
        group=looker.one(g.Groups, group),
        strength=looker.one(g.Strengths, own),
        ledger=looker.one(g.Ledger, own | group),
        comparisons=comparisons,
        verdicts=verdicts,
        requests=looker.newest(
            g.ComparisonRequests, own | (pl.col("compared_episode_id") == episode_id)
        ),
        quarantined=quarantined,
        quarantined_verdicts=quarantined_verdicts,
    )


def _group_of(episode: Row | None) -> pl.Expr:
    """Return which rows belong to the episode's group."""
    if episode is None or episode.get("group_epoch") is None:
        return pl.lit(False)
    key = ("task_id", "verifier_outcome", "group_epoch")
    return pl.all_horizontal(pl.col(name) == episode[name] for name in key)


class _Looker:
    """Reads a tenant's rows from committed runs."""

    def __init__(self, warehouse: Warehouse, tenant_id: str) -> None:
        self._warehouse = warehouse
        self._tenant = pl.col("tenant_id") == tenant_id
        shard = int(warehouse.shard_of(pl.Series([tenant_id]))[0])
        self._log = warehouse.runs()
        self._last_as_of = self._log.last_as_of
        self._state = shard_folder(shard)

    def _scan(self, table: type[Table]) -> pl.LazyFrame:
        return self._warehouse.scan(self._log, table)

    def rows(self, table: type[Table], which: pl.Expr) -> list[Row]:
        found = self._scan(table).filter(self._tenant & which).collect(engine="in-memory")
        return found.sort("run", maintain_order=True).to_dicts()

    def one(self, table: type[Table], which: pl.Expr) -> Row | None:
        return next(iter(self.rows(table, which)), None)

    def newest(self, table: type[Table], which: pl.Expr) -> list[Row]:
        found = self._warehouse.scan(self._log[-1:], table).filter(self._tenant & which)
        return found.collect(engine="in-memory").to_dicts()

    def where_it_is(self, own: pl.Expr) -> tuple[str, Row | None]:
        for table in (g.Graded, g.Ungraded):
            row = self.one(table, own)
            if row is not None:
                return str(row["state"]), row
        for row in self.newest(g.OpenEpisodes, own):
            return str(row["state"]), row
        for row in self._pending(PendingEpisodes, own):
            return "Pending", row
        return "unknown", None

    def _checkpoint(self, table: type[Table], which: pl.Expr) -> list[Row]:
        path = self._warehouse.state_file(f"{self._state}/{table.name}.parquet", check=False)
        if path is None:
            return []
        found = pl.scan_parquet(path, hive_partitioning=False).filter(self._tenant & which)
        return found.collect(engine="in-memory").to_dicts()

    def _pending(self, table: type[Table], which: pl.Expr) -> list[Row]:
        """Return rows that no run could see yet."""
        last = self._log.last
        if last is None or self._last_as_of is None:
            return []
        folder = self._warehouse.state_folder(last, self._state)
        rows = open_pending(table, folder, None, self._last_as_of).unseen()
        return rows.filter(self._tenant & which).to_dicts()

    def waiting_comparisons(self, named: pl.Expr) -> list[Row]:
        inside = self._checkpoint(AwaitingComparisons, named)
        pairwise = pl.col("compared_episode_id").is_not_null()
        waiting = [
            *self._checkpoint(WaitingVerdicts, pairwise),
            *self._pending(PendingVerdicts, pairwise),
        ]
        outside = pl.DataFrame(waiting, schema=schema_of(WaitingVerdicts)).with_columns(
            left=pl.col("episode_id"), right=pl.col("compared_episode_id")
        )
        rows = [self._waiting(row) for row in outside.filter(named).drop("verdict").to_dicts()]
        return [{**row, "disposition": None} for row in inside + rows]

    def _waiting(self, row: Row) -> Row:
        """Add what a comparison outside all groups waits for."""
        if row["considered_at"] is None:
            return {**row, "unseen": [], "waits_until": None}
        unseen = [name for name in (row["left"], row["right"]) if not self._is_seen(name)]
        window = timedelta(microseconds=row["unknown_episode_window_us"])
        until = row["judged_at"] + min(window, _END - row["judged_at"])
        return {**row, "unseen": unseen, "waits_until": until}

    def _is_seen(self, episode_id: str) -> bool:
        state, _ = self.where_it_is(pl.col("episode_id") == episode_id)
        return state not in {"unknown", "Pending"}

    def verdicts(self, own: pl.Expr) -> list[Row]:
        """Return single-subject verdicts with their newest reading."""
        alone = own & pl.col("compared_episode_id").is_null()
        verdicts = (
            self._scan(g.AuditVerdicts)
            .filter(self._tenant & alone)
            .select("run", "verdict_id", "judged_at", "judge_id")
            .collect(engine="in-memory")
        )
        ids = verdicts["verdict_id"].to_list()
        readings = (
            self._scan(Interpretations)
            .filter(self._tenant & pl.col("verdict_id").is_in(ids))
            .select(_READING)
            .collect(engine="in-memory")
            .sort("verdict_id", "reading_version")
            .unique("verdict_id", keep="last", maintain_order=True)
        )
        found = verdicts.join(readings, on="verdict_id", how="left")
        return found.sort("judged_at", "verdict_id").to_dicts()

    def quarantined_verdicts(self, episode_id: str, columns: Mapping[str, str]) -> list[Row]:
        """Return verdicts in quarantine whose content names the episode on either side.

        Bad rows are kept under the file's own names, the others under the contract's.
        """
        sides = ("episode_id", "compared_episode_id")
        names = {*sides, *(columns.get(side, side) for side in sides)}
        naming = pl.any_horizontal(
            pl.col("content").str.json_path_match(f"$['{name}']") == episode_id
            for name in sorted(names)
            if "'" not in name
        )
        return self.rows(g.Quarantine, (pl.col("input") == str(InputKind.VERDICTS)) & naming)

    def tenants(self) -> list[str]:
        counts = self._scan(g.GradingCounts).select("tenant_id").unique()
        return counts.collect(engine="in-memory")["tenant_id"].sort().to_list()


def _sources(
    settings: Settings, warehouse: Warehouse, tenant_id: str, episode_id: str
) -> tuple[list[Row], list[str]]:
    """Return the input rows with the identity, and which consumed files are gone."""
    spec = settings.inputs[InputKind.EPISODES]
    prefix = f"{InputKind.EPISODES}/"
    found: list[Row] = []
    gone: list[str] = []
    there = {file.path: file for file in discover(spec)}
    for name in sorted(warehouse.runs().consumed()):
        if not name.startswith(prefix):
            continue
        path = name.removeprefix(prefix)
        if path not in there:
            gone.append(path)
            continue
        ids = {"tenant_id": tenant_id, "episode_id": episode_id}
        same = {spec.columns.get(column, column): value for column, value in ids.items()}
        found += [{"file": path, "row": row} for row in rows_with(there[path], spec, same)]
    return found, gone
