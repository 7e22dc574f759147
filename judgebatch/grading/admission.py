"""Which rows are considered, and what becomes of duplicates, unknown tenants and early rows.

The order of the checks is the order of the reasons; each row gets the first that applies.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import polars as pl

from judgebatch.contracts.rows import EpisodeRows, QuarantineRows, VerdictRows
from judgebatch.contracts.table import conform, empty, schema_of
from judgebatch.grading.identity import with_fingerprints
from judgebatch.grading.money import usd
from judgebatch.vocabulary import QuarantineReason

ID = ["id_high", "id_low"]
DIGEST = ["digest_high", "digest_low"]

EPISODE_CONTENT = (
    "task_id",
    "arrived_at",
    "verifier_outcome",
    "cost_nano_usd",
    "latency_ms",
    "tool_calls",
    "tool_errors",
    "variant",
)
VERDICT_CONTENT = (
    "task_id",
    "episode_id",
    "judged_at",
    "verdict",
    "compared_episode_id",
    "judge_id",
    "cost_nano_usd",
    "recorded_passed",
)
"""The contract columns beside the identity, in contract order; extras do not count."""

DOCUMENTS = ("verdict",)
"""Those of them that hold long texts."""


class Admission(NamedTuple):
    """What became of the episodes' rows."""

    considered: int
    """Rows that came in."""
    accepted: pl.DataFrame
    """Rows with a new identity, with their fingerprints."""
    waiting: pl.DataFrame
    """Rows whose time lies after as_of."""
    quarantined: pl.DataFrame
    """Conforms to QuarantineRows."""
    already_known: int
    """Rows that repeat a known identity with the same content."""


def quarantine(rows: pl.DataFrame, kind: str, id_column: str) -> pl.DataFrame:
    """Return ``rows``, which carry ``reason`` and ``message``, as QuarantineRows.

    The content is the row as it was accepted, under the contract's names, as JSON text.
    """
    if rows.is_empty():
        return empty(QuarantineRows)
    table = EpisodeRows if kind == "episodes" else VerdictRows
    content = [
        usd().alias("cost_usd") if name == "cost_nano_usd" else pl.col(name)
        for name in schema_of(table)
        if not name.startswith("source_")
    ]
    return conform(
        rows.select(
            pl.lit(kind).alias("input"),
            "tenant_id",
            pl.col(id_column).alias("id"),
            "source_file",
            "source_row",
            "reason",
            "message",
            pl.struct(content).struct.json_encode().alias("content"),
        ),
        QuarantineRows,
    )


def with_reason(rows: pl.DataFrame, reason: QuarantineReason, message: pl.Expr) -> pl.DataFrame:
    """Return ``rows`` with the reason and the message that say why they are not accepted."""
    return rows.with_columns(
        reason=pl.lit(reason.value, dtype=pl.String), message=message.cast(pl.String)
    )


def _unknown_tenant() -> pl.Expr:
    return pl.format("tenant {} is not in the settings", pl.col("tenant_id"))


def _first_stays(
    rows: pl.DataFrame,
    known: pl.DataFrame,
    order: Sequence[str],
    completed: Callable[[pl.DataFrame], pl.DataFrame],
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return (first rows of new identities, the others with ``same``: content equal or not).

    The row that stays is the one an earlier run considered, then the smallest in ``order``,
    null first. ``completed`` adds columns of ``order`` that only repeated rows need.
    """
    columns = rows.columns
    rows = rows.join(
        known.select(*ID, *(pl.col(name).alias(f"known_{name}") for name in DIGEST)),
        on=ID,
        how="left",
        maintain_order="left",
    )
    repeated = pl.struct(ID).is_duplicated()
    is_known = pl.col("known_digest_high").is_not_null()
    single = rows.filter(~repeated & ~is_known)
    several = completed(rows.filter(repeated | is_known)).sort(
        *ID, *order, nulls_last=False, maintain_order=True
    )
    several = several.with_columns(
        first=~is_known & pl.struct(ID).is_first_distinct(),
        same=pl.all_horizontal(
            pl.col(name).eq(pl.coalesce(f"known_{name}", pl.col(name).first().over(ID)))
            for name in DIGEST
        ),
    )
    first = pl.concat([single.select(columns), several.filter("first").select(columns)])
    return first, several.filter(~pl.col("first")).select(*columns, "same")


def admit_episodes(
    rows: pl.DataFrame, known: pl.DataFrame, accepting: pl.DataFrame, as_of: pl.Expr
) -> Admission:
    """Admit episodes.

    Parameters
    ----------
    rows
        EpisodeRows with fingerprints ``id_*`` and ``digest_*``: what was pending and what is new.
    known
        ``id_*`` and ``digest_*`` of identities that earlier runs considered, at least of those
        that occur in ``rows``.
    accepting
        ``tenant_id`` of tenants whose new rows are considered.
    as_of
        The run's logical time as a literal.
    """
    considered = rows.height
    visible = pl.col("arrived_at") <= as_of
    waiting = rows.filter(~visible)
    rows = rows.filter(visible)
    strangers = rows.join(accepting, on="tenant_id", how="anti")
    rows = rows.join(accepting, on="tenant_id", how="semi")
    order = ["arrived_at", *EPISODE_CONTENT, "extra", "source_file", "source_row"]
    first, others = _first_stays(rows, known, order, lambda repeated: repeated)
    conflicts = with_reason(
        others.filter(~pl.col("same")).drop("same"),
        QuarantineReason.CONFLICTING_DUPLICATE,
        pl.format("episode {} was seen before with other content", pl.col("episode_id")),
    )
    strangers = with_reason(strangers, QuarantineReason.UNKNOWN_TENANT, _unknown_tenant())
    return Admission(
        considered=considered,
        accepted=first,
        waiting=conform(waiting, EpisodeRows),
        quarantined=pl.concat(
            quarantine(part, "episodes", "episode_id") for part in (strangers, conflicts)
        ),
        already_known=int(others["same"].sum()),
    )


class VerdictAdmission(NamedTuple):
    """Verdicts by identity; whether their texts can be read is not known yet."""

    first: pl.DataFrame
    """Rows with a new identity, with their fingerprints."""
    refused: pl.DataFrame
    """Rows of unknown tenants and conflicting duplicates, with ``reason`` and ``message``."""
    repeats: pl.DataFrame
    """Rows that repeat a known identity with the same content."""


def admit_verdicts(
    rows: pl.DataFrame,
    known: pl.DataFrame,
    accepting: pl.DataFrame,
    with_texts: Callable[[pl.DataFrame], pl.DataFrame],
) -> VerdictAdmission:
    """Admit verdicts that are visible and were not considered before, by identity.

    Parameters
    ----------
    rows
        Visible VerdictRows with fingerprints ``id_*`` and ``digest_*``.
    known, accepting
        As for episodes.
    with_texts
        Adds the column ``verdict``, which the rows come without.
    """
    strangers = rows.join(accepting, on="tenant_id", how="anti")
    rows = rows.join(accepting, on="tenant_id", how="semi")
    order = ["judged_at", *VERDICT_CONTENT, "source_file", "source_row"]
    first, others = _first_stays(rows, known, order, with_texts)
    conflicts = with_reason(
        others.filter(~pl.col("same")).drop("same"),
        QuarantineReason.CONFLICTING_DUPLICATE,
        pl.format("verdict {} was seen before with other content", pl.col("verdict_id")),
    )
    strangers = with_reason(strangers, QuarantineReason.UNKNOWN_TENANT, _unknown_tenant())
    return VerdictAdmission(first, pl.concat([strangers, conflicts]), others.filter("same"))


def fingerprinted(rows: pl.DataFrame, id_column: str, content: Sequence[str]) -> pl.DataFrame:
    """Return ``rows`` with ``id_*`` over the identity and ``digest_*`` over the content."""
    return with_fingerprints(
        with_fingerprints(rows, ["tenant_id", id_column], "id"), content, "digest", DOCUMENTS
    )
