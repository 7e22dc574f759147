"""The tables that a nightly run publishes, whether or not it has rows for them."""

from judgebatch.contracts import grading as g
from judgebatch.contracts import policies as p
from judgebatch.contracts.promotions import Promotions
from judgebatch.contracts.table import Table

RUN_TABLES: tuple[type[Table], ...] = (
    g.Graded,
    g.Ungraded,
    g.Groups,
    g.Strengths,
    g.References,
    g.Comparisons,
    g.AuditVerdicts,
    g.Ledger,
    Promotions,
    g.GradingCounts,
    g.Quarantine,
    p.PolicyResults,
    p.PolicyReports,
    p.PolicyCounts,
    g.OpenEpisodes,
    g.ComparisonRequests,
)
