"""The tables that a nightly run publishes, whether or not it has rows for them."""

from judgebatch.contracts import accounting as a
from judgebatch.contracts import grading as g
from judgebatch.contracts import interpretations as i
from judgebatch.contracts import policies as p
from judgebatch.contracts.accounting import Accounting, AccountingCodes, Restatements
from judgebatch.contracts.promotions import Promotions
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
    i.Interpretations,
    i.InterpretationStages,
    i.InterpretationJudges,
    i.InterpretationChecks,
    i.InterpretationDefects,
    a.Accounting,
    a.AccountingCodes,
    a.Restatements,
    a.Reclassifications,
    g.Ledger,
    Promotions,
    g.GradingCounts,
    g.Quarantine,
    *BATCH_TABLES,
    Accounting,
    AccountingCodes,
    Restatements,
    p.PolicyResults,
    p.PolicyReports,
    p.PolicyCounts,
    g.OpenEpisodes,
    g.ComparisonRequests,
)
