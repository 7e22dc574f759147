"""Nights on disk: scenarios written as Parquet and run through the whole pipeline."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from judgebatch.contracts.registry import contracts
from judgebatch.contracts.table import Table, conform
from judgebatch.pipeline import RunReport, run
from judgebatch.settings import load_settings
from judgebatch.warehouse import Manifest, init, is_warehouse, open_warehouse
from judgebatch.warehouse.layout import table_folder

EPISODES = pa.schema(
    [
        ("tenant_id", pa.string()),
        ("episode_id", pa.string()),
        ("task_id", pa.string()),
        ("arrived_at", pa.timestamp("us", "UTC")),
        ("verifier_outcome", pa.string()),
        ("cost_usd", pa.float64()),
        ("latency_ms", pa.float64()),
        ("tool_calls", pa.int64()),
        ("tool_errors", pa.int64()),
        ("variant", pa.string()),
    ]
)
VERDICTS = pa.schema(
    [
        ("tenant_id", pa.string()),
        ("verdict_id", pa.string()),
        ("task_id", pa.string()),
        ("episode_id", pa.string()),
        ("compared_episode_id", pa.string()),
        ("judged_at", pa.timestamp("us", "UTC")),
        ("verdict", pa.string()),
        ("judge_id", pa.string()),
        ("cost_usd", pa.float64()),
        ("recorded_passed", pa.bool_()),
    ]
)


def moment(text: str | datetime) -> datetime:
    """Return an instant in UTC."""
    return (datetime.fromisoformat(text) if isinstance(text, str) else text).astimezone(UTC)


def _judgment(status: str, **members: Any) -> dict[str, Any]:
    return {"status": status, "reasoning": f"it is {status}", "checks": [], **members}


def verdict_text(outcome: str, code: str = "judge_failed") -> str:
    """Return a stored verdict, of a jury of one judge, that reads as ``outcome``."""
    if outcome == "unreadable":
        return '{"aggregated": '
    status = {
        "left": "pass",
        "tie": "pass",
        "right": "fail",
        "undecided": "abstain",
        "unattestable": "pass",
    }.get(outcome, outcome)
    own = {"reasonCode": code} if status == "error" else {}
    judge = _judgment(status, **own)
    counts = {code: 1} if status == "error" else {}
    propagated = status == "error"
    decisive = status in {"pass", "fail"}
    evidence: dict[str, Any] = {
        "strategy": "majority",
        "errorPolicy": "propagate",
        "notApplicablePolicy": "exclude",
        "inputCount": 1,
        "eligibleCount": int(decisive),
        "explicitAbstainCount": int(status == "abstain"),
        "notApplicableCount": int(status == "not_applicable"),
        "errorCount": int(propagated),
        "ignoredErrorCount": 0,
        "errorsTreatedAsAbstainCount": 0,
        "errorsTreatedAsFailCount": 0,
        "notApplicableTreatedAsFailCount": 0,
        "errorCodeCounts": counts,
    }
    if decisive:
        passed = status == "pass" and outcome != "unattestable"
        evidence |= {"passCount": int(passed), "failCount": int(not passed)}
    aggregated = _judgment(status, metadata={"aggregation": evidence})
    if propagated:
        aggregated["reasonCode"] = "errors_propagated"
    if outcome == "tie":
        aggregated["label"] = "tie"
    document = {
        "aggregated": aggregated,
        "individual": [judge],
        "individualByName": {"judge": judge},
        "weights": {"0": 1.0},
        "seats": [{"position": 0, "verdictKey": "judge", "keySource": "DECLARED"}],
        "decision": {"kind": "own"},
        "compositeAttempts": [],
    }
    return orjson.dumps(document).decode()


def _toml(value: Any) -> str:
    return orjson.dumps(value).decode()


def settings_text(
    tenants: dict[str, dict[str, Any]],
    defaults: dict[str, Any] | None = None,
    unknown_tenants: str = "quarantine",
    extra: str = "",
    *,
    report: bool = False,
) -> str:
    """Return a settings file; drawing reports takes longer than most nights here."""
    tables = {"defaults": defaults or {}}
    tables |= {f"tenants.{_toml(name)}": values for name, values in tenants.items()}
    body = "".join(
        f"[{name}]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in values.items())
        for name, values in tables.items()
    )
    head = f'warehouse = "warehouse"\nunknown_tenants = "{unknown_tenants}"\n'
    inputs = '[inputs.episodes]\npath = "episodes"\n[inputs.verdicts]\npath = "verdicts"\n'
    return head + extra + inputs + body + f"[report]\nwrite = {_toml(report)}\n"


@dataclass
class Nights:
    """A folder with settings, inputs and a warehouse, run night by night."""

    folder: Path
    shards: int = 2

    def __post_init__(self) -> None:
        for name in ("episodes", "verdicts"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        if not is_warehouse(self.folder / "warehouse"):
            init(self.folder / "warehouse", self.shards)

    @property
    def settings(self) -> Path:
        """The settings file."""
        return self.folder / "judgebatch.toml"

    def configure(self, *arguments: Any, **more: Any) -> None:
        """Write the settings; see :func:`settings_text`."""
        self.settings.write_text(settings_text(*arguments, **more))

    def deliver(
        self,
        name: str,
        episodes: list[dict[str, Any]] | None = None,
        verdicts: list[dict[str, Any]] | None = None,
    ) -> None:
        """Write rows as one Parquet file for each input."""
        if episodes:
            rows = [{**row, "arrived_at": _maybe(row["arrived_at"])} for row in episodes]
            pq.write_table(
                pa.Table.from_pylist(rows, EPISODES), self.folder / "episodes" / f"{name}.parquet"
            )
        if verdicts:
            rows = [_verdict_row(row) for row in verdicts]
            pq.write_table(
                pa.Table.from_pylist(rows, VERDICTS), self.folder / "verdicts" / f"{name}.parquet"
            )

    def run(self, as_of: str | datetime, **more: Any) -> RunReport:
        """Run one night."""
        return run(load_settings(self.settings, environ={}), moment(as_of), **more)

    def manifest(self) -> Manifest:
        """Return the newest run's manifest."""
        last = open_warehouse(self.folder / "warehouse").runs().last
        assert last is not None
        return last

    def table(self, table: type[Table] | str, run_number: int | None = None) -> pl.DataFrame:
        """Return what one run published in a table, or all runs."""
        contract = contracts()[table] if isinstance(table, str) else table
        runs = "*" if run_number is None else f"{run_number:06d}"
        root = self.folder / "warehouse" / "runs"
        files = sorted(root.glob(f"{runs}/{table_folder(contract)}/*.parquet"))
        frames = [pl.read_parquet(file, hive_partitioning=False) for file in files]
        return pl.concat([conform(frame, contract) for frame in frames])

    def published_bytes(self) -> dict[str, bytes]:
        """Return every file under ``runs/*/tables``, by name."""
        root = self.folder / "warehouse" / "runs"
        return {
            str(path.relative_to(root)): path.read_bytes()
            for path in sorted(root.glob("*/tables/**/*.parquet"))
        }


def _maybe(text: str | datetime | None) -> datetime | None:
    return None if text is None else moment(text)


def _verdict_row(row: dict[str, Any]) -> dict[str, Any]:
    text = row.get("verdict")
    if text is None and "outcome" in row:
        text = verdict_text(row["outcome"], row.get("code", "judge_failed"))
    kept = {key: value for key, value in row.items() if key in VERDICTS.names}
    return {**kept, "judged_at": _maybe(row["judged_at"]), "verdict": text}
