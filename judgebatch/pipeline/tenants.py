"""Which settings are in force for each tenant in a run."""

import polars as pl

from judgebatch.contracts.state import KnownTenants
from judgebatch.contracts.table import conform
from judgebatch.settings import Settings
from judgebatch.vocabulary import UnknownTenants


def in_force(settings: Settings, tenant_ids: pl.Series, known: pl.DataFrame) -> pl.DataFrame:
    """Return KnownTenants columns and ``accepting`` for every tenant that can matter.

    Parameters
    ----------
    settings
        The run's settings.
    tenant_ids
        Tenants of new rows and of open state.
    known
        KnownTenants of the checkpoint: a tenant no longer in the settings finishes under its
        last ones, and its new rows are unknown.
    """
    ids = pl.concat([tenant_ids, known["tenant_id"]])
    everyone = settings.tenant_frame(ids)
    if settings.unknown_tenants == UnknownTenants.QUARANTINE:
        everyone = everyone.filter("known")
    accepting = conform(everyone, KnownTenants).with_columns(accepting=pl.lit(True))
    finishing = known.join(accepting, on="tenant_id", how="anti").with_columns(
        accepting=pl.lit(False)
    )
    return pl.concat([accepting, finishing]).sort("tenant_id")
