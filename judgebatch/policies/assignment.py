"""Which policies an episode has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl


@dataclass(frozen=True)
class PolicyChoice:
    """The names of policies, as the settings choose them.

    Parameters
    ----------
    default
        For tenants that are not named.
    by_tenant
        For a tenant, in place of the default.
    by_task
        For a (tenant, task), in place of the tenant's; empty for none.
    """

    default: Sequence[str] = ()
    by_tenant: Mapping[str, Sequence[str]] = field(default_factory=dict)
    by_task: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)

    def names(self) -> list[str]:
        """Return every chosen name once, sorted."""
        chosen = (self.default, *self.by_tenant.values(), *self.by_task.values())
        return sorted({name for names in chosen for name in names})


_POLICIES = pl.List(pl.String)


def assign_policies(episodes: pl.DataFrame, choice: PolicyChoice) -> pl.DataFrame:
    """Return ``episodes`` once for each of its policies, with the column ``policy``.

    Parameters
    ----------
    episodes
        With tenant_id and task_id, and any other columns, in any order.
    choice
        What the settings choose.
    """
    by_tenant = pl.DataFrame(
        {
            "tenant_id": list(choice.by_tenant),
            "of_tenant": [list(names) for names in choice.by_tenant.values()],
        },
        schema={"tenant_id": pl.String, "of_tenant": _POLICIES},
    )
    by_task = pl.DataFrame(
        {
            "tenant_id": [tenant for tenant, _ in choice.by_task],
            "task_id": [task for _, task in choice.by_task],
            "of_task": [list(names) for names in choice.by_task.values()],
        },
        schema={"tenant_id": pl.String, "task_id": pl.String, "of_task": _POLICIES},
    )
    default = pl.lit(pl.Series([list(choice.default)], dtype=_POLICIES)).first()
    return (
        episodes.join(by_tenant, on="tenant_id", how="left", maintain_order="left")
        .join(by_task, on=["tenant_id", "task_id"], how="left", maintain_order="left")
        .with_columns(pl.coalesce("of_task", "of_tenant", default).list.unique().alias("policy"))
        .drop("of_task", "of_tenant")
        .explode("policy", empty_as_null=False)
    )


def asked_of_tenants(
    tenants: pl.DataFrame, choice: PolicyChoice, questions: pl.DataFrame
) -> pl.DataFrame:
    """Return tenant_id and question, once each: what any policy of a tenant asks, in any task.

    Parameters
    ----------
    tenants
        With tenant_id.
    choice
        What the settings choose.
    questions
        policy and question: what each policy asks.
    """
    everywhere = pl.DataFrame(
        [(tenant, name) for (tenant, _), names in choice.by_task.items() for name in names],
        schema={"tenant_id": pl.String, "policy": pl.String},
        orient="row",
    )
    own = assign_policies(
        tenants.select("tenant_id", pl.lit(None, pl.String).alias("task_id")).unique(), choice
    )
    chosen = pl.concat([own.select("tenant_id", "policy"), everywhere]).unique()
    return chosen.join(questions, on="policy").select("tenant_id", "question").unique()
