"""Small committed runs with rows in every published table, made without the pipeline."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl

from judgebatch.contracts.registry import published
from judgebatch.contracts.table import Table, identity_of, schema_of
from judgebatch.reporting.metrics import metrics_text, write_metrics
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse import (
    Conservation,
    InputFile,
    Manifest,
    RunFacts,
    Staging,
    Warehouse,
    publish,
    write_table,
)

FIRST = datetime(2026, 3, 1, 3, tzinfo=UTC)


def as_of(night: int) -> datetime:
    return FIRST + timedelta(days=night - 1)


def rows_of(table: type[Table], run: int, count: int, *, salt: str = "") -> pl.DataFrame:
    """Return rows whose identities no other run, and no other salt, has; every other null."""
    numbers = range(count)
    columns = table.columns()
    identity = set(identity_of(table))
    series = []
    for name, dtype in schema_of(table).items():
        values: Sequence[object]
        if name == "run":
            values = [run] * count
        elif name == "as_of":
            values = [as_of(run)] * count
        elif dtype == pl.String:
            values = [f"{name} {table.name} {salt}{run}-{number}" for number in numbers]
        elif dtype == pl.Boolean:
            values = [number % 3 == 0 for number in numbers]
        elif dtype == pl.Int64:
            values = [run * 1000 + number for number in numbers]
        elif dtype == pl.Float64:
            values = [number / 7 for number in numbers]
        elif dtype == pl.Date:
            values = [date(2026, 3, 1)] * count
        else:
            values = [as_of(run + 1)] * count
        if columns[name].nullable and name not in identity:
            values = [value if number % 2 else None for number, value in enumerate(values)]
        series.append(pl.Series(name, values, dtype=dtype))
    return pl.DataFrame(series).sort(table.order)


def write_tables(staging: Staging, count: int) -> None:
    """Write two shards of pieces of every published table and make its files."""
    for table in published().values():
        for shard in (1, 0):
            rows = rows_of(table, staging.number, count, salt=f"shard {shard} ")
            staging.write_piece(table, shard, rows)
    staging.assemble(*published().values())


def write_state(staging: Staging) -> None:
    """Write one checkpoint file, and carry the first run's over."""
    graded = published()["graded"]
    write_table(staging.state_dir / "night.parquet", graded, rows_of(graded, staging.number, 3))
    first = staging.state_dir / "tiers" / "first.parquet"
    if staging.parent is None:
        write_table(first, graded, rows_of(graded, staging.number, 5))
    else:
        staging.link_from_parent("tiers/first.parquet")


def facts(number: int, settings: str, count: int) -> RunFacts:
    waiting = 2
    ended = {"graded": 2 * count, "ungraded": 2 * count}
    before = waiting if number > 1 else 0
    episodes = Conservation(
        read=4 * count + waiting - before, waiting_before=before, ended=ended, waiting_after=waiting
    )
    file = InputFile(table="episodes", path=f"in/{number}.parquet", size=7, digest=f"d{number}")
    comparisons = Conservation(read=2 * count, ended={"used": 2 * count})
    return RunFacts(
        settings=settings,
        inputs=(file,),
        conservation={"episodes": episodes, "comparisons": comparisons},
        summary={"graded": 2 * count},
    )


def run_night(warehouse: Warehouse, count: int = 4, metrics: Path | None = None) -> Manifest:
    """Commit and publish the next run."""
    with warehouse.begin(RunKind.GRADING, as_of(len(warehouse.runs()) + 1)) as staging:
        write_tables(staging, count)
        write_state(staging)
        settings = warehouse.store_text(f"night = {staging.number}\n", "toml")
        (staging.root / "report.html").write_text(f"<p>{staging.number}</p>")
        manifest = staging.commit(facts(staging.number, settings, count))
        publish(warehouse)
    if metrics is not None:
        write_metrics(metrics, night_metrics(manifest))
    return manifest


def night_metrics(manifest: Manifest) -> bytes:
    return metrics_text(
        run=manifest.number,
        as_of=manifest.as_of,
        graded={"relative": manifest.rows("graded")},
        ungraded={"no_reference": manifest.rows("ungraded")},
        quarantined={},
        waiting={"episodes": 2},
        rows_read={"episodes": 1},
        judge={},
        duration_seconds=1.5,
        succeeded_at=manifest.as_of,
    )


def files_of(warehouse: Warehouse) -> dict[str, bytes]:
    """Return the bytes of everything under ``runs/``, the manifests' tokens apart."""
    content = {}
    for path in sorted(warehouse.layout.runs.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            if path.name == "manifest.json":
                data = Manifest.model_validate_json(data).model_copy(update={"token": ""}).to_json()
            content[path.relative_to(warehouse.path).as_posix()] = data
    return content
