"""What ``verify`` and ``doctor`` report."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be."""

    where: str
    """A path inside the warehouse, or a table and identity."""
    what: str
    """What was found."""
    meaning: str
    """What follows from it, and what to do."""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}. {self.meaning}"
