"""What a view over other views is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DerivedView:
    """A query over other views, and the tables it cannot do without."""

    needs: frozenset[str]
    sql: str
