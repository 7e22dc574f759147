"""The tables that a nightly run publishes, whether or not it has rows for them."""

from judgebatch.contracts import accounting as a
from judgebatch.contracts import diagnostics as d
from judgebatch.contracts import grading as g
from judgebatch.contracts import policies as p
from judgebatch.contracts.promotions import OpenPromotions, Promotions, PromotionSteps
from judgebatch.contracts.releases import Releases
from judgebatch.contracts.table import Table
from judgebatch.pipeline.readings import BATCH_TABLES

RUN_TABLES: tuple[type[Table], ...] = (
    g.Graded,
    g.Ungraded,
    g.Groups,
    g.Strengths,
    g.References,
    g.Comparisons,
    g.AuditVerdicts,
    *BATCH_TABLES,
    a.Accounting,
    a.AccountingCodes,
    a.Restatements,
    a.Reclassifications,
    g.Ledger,
    Promotions,
    PromotionSteps,
    g.Budgets,
    d.JudgeAnswers,
    d.JudgeAgreement,
    g.GradingCounts,
    g.Quarantine,
    Releases,
    p.PolicyResults,
    p.PolicyReports,
    p.PolicyCounts,
    g.OpenEpisodes,
    g.ComparisonRequests,
    OpenPromotions,
)
