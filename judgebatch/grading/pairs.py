"""Which pairs of a closed group are wanted.

All pairs up to ``pair_degree + 1`` members; a circulant design in larger groups: members in the
order of a digest, each with its next ``pair_degree / 2``, cyclically. The digest makes the
design independent of arrival order and of the ids' own order.
"""

from hashlib import blake2b

import polars as pl

PAIR_SCHEMA = {"unit": pl.Int64, "left_member": pl.Int64, "right_member": pl.Int64}

REFERENCE = -1
"""Stands for the reference in a pair or comparison of reference mode."""


def ordered_pair() -> tuple[pl.Expr, pl.Expr]:
    """Return ``left_member`` and ``right_member``, the smaller first."""
    return (
        pl.min_horizontal("left_member", "right_member").alias("left_member"),
        pl.max_horizontal("left_member", "right_member").alias("right_member"),
    )


def framed(text: str) -> bytes:
    """Return UTF-8 bytes after their length in 8 little-endian bytes."""
    encoded = text.encode()
    return len(encoded).to_bytes(8, "little") + encoded


def _design_order(members: pl.DataFrame) -> pl.Series:
    """Return each member's 16-byte BLAKE2b digest, as hex text.

    Python per member, but only for members of groups larger than ``pair_degree + 1``: no
    columnar engine has this hash, and one call takes a microsecond.
    """
    columns = ("tenant_id", "task_id", "verifier_outcome", "group_epoch", "episode_id")
    rows = zip(*(members[name].cast(pl.String).to_list() for name in columns), strict=True)
    return pl.Series(
        "design",
        [blake2b(b"".join(map(framed, row)), digest_size=16).hexdigest() for row in rows],
        dtype=pl.String,
    )


def wanted_pairs(members: pl.DataFrame) -> pl.DataFrame:
    """Return the wanted pairs of closed groups.

    Parameters
    ----------
    members
        One row per member: ``unit`` (the group), ``member`` (Int64 ids that rise with the
        episode id inside a group), the group's key, ``episode_id``, ``group_size``,
        ``pair_degree``.

    Returns
    -------
    pl.DataFrame
        ``unit, left_member, right_member``; the left member has the smaller id.
    """
    if members.is_empty():
        return pl.DataFrame(schema=PAIR_SCHEMA)
    complete = pl.col("group_size") <= pl.col("pair_degree") + 1
    small = members.filter(complete).with_columns(design=pl.lit("", dtype=pl.String))
    large = members.filter(~complete)
    large = large.with_columns(_design_order(large))
    placed = (
        pl.concat([small, large])
        .sort("unit", "design", "member")
        .select(
            "unit",
            "member",
            pl.int_range(pl.len(), dtype=pl.Int64).over("unit").alias("place"),
            "group_size",
            pl.when(pl.col("group_size") <= pl.col("pair_degree") + 1)
            .then(pl.col("group_size") - 1)
            .otherwise(pl.col("pair_degree") // 2)
            .alias("reach"),
            (pl.col("group_size") > pl.col("pair_degree") + 1).alias("cyclic"),
        )
    )
    reach = placed["reach"].max()
    if not isinstance(reach, int) or reach < 1:
        return pl.DataFrame(schema=PAIR_SCHEMA)
    other = placed.select("unit", "place", pl.col("member").alias("other"))
    after = pl.col("place") + pl.col("step")
    pairs = (
        placed.join(pl.DataFrame({"step": range(1, reach + 1)}), how="cross")
        .filter(
            (pl.col("step") <= pl.col("reach"))
            & (pl.col("cyclic") | (after < pl.col("group_size")))
        )
        .with_columns(place=after % pl.col("group_size"))
        .join(other, on=["unit", "place"], how="inner")
    )
    return pairs.select(
        "unit",
        pl.min_horizontal("member", "other").alias("left_member"),
        pl.max_horizontal("member", "other").alias("right_member"),
    ).sort("unit", "left_member", "right_member")
