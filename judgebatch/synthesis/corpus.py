"""Writing a corpus: a file per night and table, and the settings to grade it with."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from judgebatch.errors import UsageError
from judgebatch.synthesis.documents import documents
from judgebatch.synthesis.episodes import DAY_MS, make_block
from judgebatch.synthesis.pairs import Matchmaker
from judgebatch.synthesis.settings_text import settings_text
from judgebatch.synthesis.tables import (
    EPISODE_SCHEMA,
    VERDICT_SCHEMA,
    episode_table,
    verdict_table,
)
from judgebatch.synthesis.tenants import make_tenants
from judgebatch.synthesis.verdicts import Pool, make_verdicts

NIGHT_HOUR = 3
"""The hour (UTC) at which a night's data ends and its run is due."""
FIRST_NIGHT = date(2026, 3, 1)
_BLOCK = 25_000
_MOST_NIGHTS = 1_000
_MOST_TENANTS = 100_000


@dataclass(frozen=True)
class Corpus:
    """What was written: the settings file, rows by table, and the time of every night's run."""

    settings: Path
    episodes: int
    verdicts: int
    as_of: tuple[datetime, ...]


def synthesize(
    out: Path,
    *,
    episodes: int,
    tenants: int,
    nights: int,
    seed: int,
    start: date = FIRST_NIGHT,
    progress: Callable[[int], None] = lambda _: None,
) -> Corpus:
    """Write a corpus into the new or empty folder ``out``; equal arguments give equal bytes.

    ``out/episodes`` and ``out/verdicts`` get one file per night, ``out/judgebatch.toml`` names
    the tenants and the warehouse ``out/warehouse``. At most a block of 25,000 episodes with its
    comparisons is in memory. ``progress`` is told of episodes written.

    Raises
    ------
    UsageError
        A number is out of range, or the folder has something in it.
    """
    _check(out, episodes, tenants, nights, seed)
    plan = make_tenants(tenants, episodes, nights)
    pool = Pool(documents())
    matchmaker = Matchmaker(plan)
    begin = datetime.combine(start, time(NIGHT_HOUR), UTC)
    start_ms = int(begin.timestamp()) * 1000
    for folder in (out / "episodes", out / "verdicts"):
        folder.mkdir(parents=True, exist_ok=True)
    (out / "judgebatch.toml").write_text(settings_text(plan), encoding="utf-8")

    next_episode = next_verdict = 0
    for night in range(nights):
        name = f"{start + timedelta(days=night)}.parquet"
        count = episodes * (night + 1) // nights - episodes * night // nights
        with (
            _writer(out / "episodes" / name, EPISODE_SCHEMA) as episode_file,
            _writer(out / "verdicts" / name, VERDICT_SCHEMA) as verdict_file,
        ):
            for index, size in enumerate(_sizes(count)):
                chance = np.random.Generator(
                    np.random.PCG64(np.random.SeedSequence([seed, night, index]))
                )
                begins = night * DAY_MS + DAY_MS * (index * _BLOCK) // count
                ends = night * DAY_MS + DAY_MS * (index * _BLOCK + size) // count
                block = make_block(chance, plan, night, next_episode, size, (begins, ends))
                pairs = matchmaker.match(block)
                verdicts = make_verdicts(chance, pool, block, pairs, next_verdict)
                turn = night + index
                arrived = episode_table(chance, plan, block, start_ms, turn)
                judged = verdict_table(verdicts, plan, pool, start_ms, turn)
                _write(episode_file, arrived, EPISODE_SCHEMA)
                _write(verdict_file, judged, VERDICT_SCHEMA)
                next_episode += size
                next_verdict += len(verdicts)
                progress(size)
    return Corpus(
        settings=out / "judgebatch.toml",
        episodes=next_episode,
        verdicts=next_verdict,
        as_of=tuple(begin + timedelta(days=night + 1) for night in range(nights)),
    )


def _check(out: Path, episodes: int, tenants: int, nights: int, seed: int) -> None:
    for name, value, low, high in (
        ("--episodes", episodes, 1, 10**9),
        ("--tenants", tenants, 1, _MOST_TENANTS),
        ("--nights", nights, 1, _MOST_NIGHTS),
        ("--seed", seed, 0, 2**63 - 1),
    ):
        if not low <= value <= high:
            raise UsageError(f"{name} is {value}; it must be between {low:,} and {high:,}.")
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise UsageError(f"{out} is there and not empty. Name a new folder, or empty it.")


def _sizes(count: int) -> list[int]:
    return [min(_BLOCK, count - done) for done in range(0, count, _BLOCK)]


def _writer(path: Path, schema: pl.Schema) -> pq.ParquetWriter:
    repetitive: Any = ["tenant_id", "task_id"]  # the stubs know only a flag
    return pq.ParquetWriter(
        path,
        pl.DataFrame(schema=schema).to_arrow(compat_level=pl.CompatLevel.oldest()).schema,
        compression="zstd",
        compression_level=3,
        use_dictionary=repetitive,
        write_page_checksum=True,
        store_schema=False,
    )


def _write(writer: pq.ParquetWriter, frame: pl.DataFrame, schema: pl.Schema) -> None:
    columns = [pl.col(name).cast(kind) for name, kind in schema.items()]
    table = frame.select(columns).to_arrow(compat_level=pl.CompatLevel.oldest())
    # Pages end where chunks do, and how many chunks there are depends on the number of threads.
    writer.write_table(table.combine_chunks())
