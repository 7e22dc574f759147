"""Which shard a tenant lives in."""

import hashlib

import polars as pl

MAX_SHARDS = 4096


def shard_number(tenant_id: str, n_shards: int) -> int:
    """Return ``blake2b(tenant_id as UTF-8, 8 bytes, little endian) mod n_shards``."""
    digest = hashlib.blake2b(tenant_id.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % n_shards


def shard_of(tenant_ids: pl.Series, n_shards: int) -> pl.Series:
    """Return each row's shard (Int64); one hash per distinct tenant.

    Parameters
    ----------
    tenant_ids
        A String column without nulls.
    n_shards
        The warehouse's number of shards.
    """
    distinct = tenant_ids.unique()
    shards = [shard_number(tenant, n_shards) for tenant in distinct]
    numbered = tenant_ids.replace_strict(distinct, pl.Series(shards, dtype=pl.Int64))
    return numbered.cast(pl.Int64).rename("shard")  # the cast is for a column without rows
