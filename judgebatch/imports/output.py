"""Where an import writes: a folder that `judgebatch run` works on as it is.

A source's rows are written under names that a run does not read, and appear by rename when the
source is done. The record of the import comes last: a source that has one is not imported again,
and one that was cut short is imported anew, to the same bytes.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import orjson
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from judgebatch.errors import InputError, WarehouseWriteError

_CHUNK = 1 << 20
_SETTINGS = "judgebatch.toml"
_TIME = pa.timestamp("us", tz="UTC")

_FIELDS: Mapping[str, Mapping[str, pa.DataType]] = {
    "episodes": {
        "tenant_id": pa.string(),
        "episode_id": pa.string(),
        "task_id": pa.string(),
        "arrived_at": _TIME,
        "verifier_outcome": pa.string(),
        "cost_usd": pa.float64(),
        "latency_ms": pa.float64(),
        "tool_calls": pa.int64(),
        "tool_errors": pa.int64(),
        "variant": pa.string(),
    },
    "verdicts": {
        "tenant_id": pa.string(),
        "verdict_id": pa.string(),
        "task_id": pa.string(),
        "episode_id": pa.string(),
        "compared_episode_id": pa.string(),
        "judged_at": _TIME,
        "judge_id": pa.string(),
        "cost_usd": pa.float64(),
        "recorded_passed": pa.bool_(),
        "verdict": pa.string(),
    },
    "answers": {
        "tenant_id": pa.string(),
        "episode_id": pa.string(),
        "question": pa.string(),
        "answered_at": _TIME,
        "answer_type": pa.string(),
        "probability": pa.float64(),
        "choice": pa.string(),
        "confidence": pa.float64(),
        "score": pa.float64(),
        "probabilities": pa.string(),
    },
    "quarantine": {
        "source": pa.string(),
        "place": pa.string(),
        "message": pa.string(),
        "content": pa.string(),
    },
}
TABLES: Mapping[str, pa.Schema] = {
    table: pa.schema([pa.field(name, kind) for name, kind in fields.items()])
    for table, fields in _FIELDS.items()
}
"""The columns of what an import writes; episodes may carry more."""

Rows = list[dict[str, Any]]


class Source:
    """The tables made of one source, which appear together when all of it is read."""

    def __init__(self, out: Path, stem: str, extra: Mapping[str, pa.DataType]) -> None:
        self._out = out
        self._stem = stem
        self._schemas = dict(TABLES)
        for name, kind in extra.items():
            self._schemas["episodes"] = self._schemas["episodes"].append(pa.field(name, kind))
        self._writers: dict[str, pq.ParquetWriter] = {}
        self.rows = dict.fromkeys(TABLES, 0)

    def add(self, table: str, rows: Rows) -> None:
        """Write rows given as dictionaries; a column that they leave out is null."""
        if rows:
            self._write(table, pa.Table.from_pylist(rows, schema=self._schemas[table]))

    def add_frame(self, table: str, frame: pl.DataFrame) -> None:
        """Write the rows of a frame; a column that it leaves out is null."""
        if frame.height:
            schema = self._schemas[table]
            missing = [
                pl.lit(None).alias(one.name) for one in schema if one.name not in frame.columns
            ]
            ordered = frame.with_columns(missing).select(schema.names)
            self._write(table, ordered.to_arrow().cast(schema))

    def _write(self, table: str, rows: pa.Table) -> None:
        if table not in self._writers:
            part = self._part(table)
            part.parent.mkdir(parents=True, exist_ok=True)
            self._writers[table] = pq.ParquetWriter(part, self._schemas[table], compression="zstd")
        self._writers[table].write_table(rows)
        self.rows[table] += rows.num_rows

    def publish(self) -> None:
        """Close the files and give them the names under which a run reads them."""
        for table, writer in self._writers.items():
            writer.close()
            part = self._part(table)
            part.replace(part.with_name(f"{self._stem}.parquet"))

    def drop(self) -> None:
        """Remove what was written of a source that could not be read to its end."""
        for table, writer in self._writers.items():
            writer.close()
            self._part(table).unlink(missing_ok=True)

    def _part(self, table: str) -> Path:
        return self._out / table / f".{self._stem}.parquet.part"


class Destination:
    """The folder that an import writes to.

    Raises
    ------
    WarehouseWriteError
        The folder cannot be written.
    """

    def __init__(self, out: Path, tool: str) -> None:
        self.out = out
        self._tool = tool
        try:
            for table in TABLES:
                if table != "quarantine":
                    (out / table).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(out, error) from error

    def settle(self, settings: str) -> bool:
        """Leave settings to run with, unless there are some; return whether these were left."""
        target = self.out / _SETTINGS
        if target.exists():
            return False
        part = target.with_name(f".{_SETTINGS}.part")
        try:
            part.write_text(settings, encoding="utf-8")
            part.replace(target)
        except OSError as error:
            raise _unwritable(self.out, error) from error
        return True

    def known(self, digest: str) -> Mapping[str, int] | None:
        """Return the counts of a source that was imported before, or None."""
        try:
            record: dict[str, Any] = orjson.loads(self._record(digest).read_bytes())
        except (FileNotFoundError, orjson.JSONDecodeError):
            return None
        counts: dict[str, int] = record["rows"]
        return counts

    def take(
        self,
        sources: Iterable[Path],
        digest: str,
        read: Callable[[Source], None],
        extra: Mapping[str, pa.DataType] | None = None,
    ) -> Mapping[str, int]:
        """Import one source: ``read`` hands its rows to a `Source`. Return the rows per table.

        Raises
        ------
        InputError
            The source cannot be read; nothing of it is kept.
        """
        source = Source(self.out, self._stem(digest), extra or {})
        record = {
            "tool": self._tool,
            "sources": [path.name for path in sources],
            "digest": digest,
            "rows": source.rows,
        }
        try:
            read(source)
            source.publish()
            target = self._record(digest)
            target.parent.mkdir(exist_ok=True)
            part = target.with_name(f".{target.name}.part")
            part.write_bytes(orjson.dumps(record, option=orjson.OPT_INDENT_2))
            part.replace(target)
        except OSError as error:
            source.drop()
            raise _unwritable(self.out, error) from error
        except BaseException:
            source.drop()
            raise
        return source.rows

    def _record(self, digest: str) -> Path:
        return self.out / "imports" / f"{self._stem(digest)}.json"

    def _stem(self, digest: str) -> str:
        return f"{self._tool}-{digest[:16]}"


def _unwritable(out: Path, error: OSError) -> WarehouseWriteError:
    return WarehouseWriteError(
        f"{out} cannot be written: {error.strerror or error}. Make room or name another folder "
        "with -o; what was imported before stays."
    )


class Digest:
    """The SHA-256 of sources and of how they are to be read."""

    def __init__(self, *options: object) -> None:
        self._hash = hashlib.sha256(repr(options).encode())

    def with_file(self, path: Path) -> Self:
        """Add a file's bytes.

        Raises
        ------
        InputError
            The file cannot be read.
        """
        try:
            with path.open("rb") as file:
                self._hash.update(str(os.fstat(file.fileno()).st_size).encode())
                while chunk := file.read(_CHUNK):
                    self._hash.update(chunk)
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
        return self

    def text(self) -> str:
        """Return it in hexadecimal."""
        return self._hash.hexdigest()


def files_of(inputs: Iterable[Path], suffixes: tuple[str, ...]) -> list[Path]:
    """Return the files named, and those with one of ``suffixes`` in the folders named, sorted.

    Raises
    ------
    InputError
        A path is not there, or nothing is.
    """
    found: set[Path] = set()
    for path in inputs:
        if path.is_dir():
            found.update(
                one
                for one in path.rglob("*")
                if one.suffix in suffixes and one.is_file() and not one.name.startswith((".", "_"))
            )
        elif path.is_file():
            found.add(path)
        else:
            raise InputError(f"{path} is not there. Name files, or folders of them.")
    if not found:
        raise InputError(
            f"there is no file with {' or '.join(suffixes)} in "
            f"{', '.join(str(path) for path in inputs)}."
        )
    return sorted(found)


def settings_text(tenant: str, lines: Iterable[str]) -> str:
    """Return settings under which a run reads what was imported.

    Parameters
    ----------
    tenant
        The tenant that the rows belong to.
    lines
        Its own settings.
    """
    return "\n".join(
        [
            "# Made by an import. `judgebatch check` says what a run would read.",
            'warehouse = "warehouse"',
            'unknown_tenants = "defaults"',
            "",
            *(
                f'[inputs.{table}]\npath = "{table}"\n'
                for table in ("episodes", "verdicts", "answers")
            ),
            f"[tenants.{orjson.dumps(tenant).decode()}]",
            *lines,
            "",
        ]
    )
