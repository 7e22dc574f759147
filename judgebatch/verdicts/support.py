"""How far what is stored supports a reading."""

from typing import NamedTuple

import numpy as np

from judgebatch.verdicts import members
from judgebatch.verdicts.attempts import STAGE_FAILED
from judgebatch.verdicts.attempts import AttemptsRead as Attempts
from judgebatch.verdicts.blocks import CODE_COUNTS
from judgebatch.verdicts.defects import Defects, Phase, Place, Rule
from judgebatch.verdicts.evidence import BLOCK, COLUMN_NAMES, EvidenceRead
from judgebatch.verdicts.expected import ANY_VOTE, NEEDED, RULE_COLUMNS, UNKNOWN, expect
from judgebatch.verdicts.judgments import (
    ABSTAIN,
    CODE,
    ERROR,
    FAIL,
    NOT_APPLICABLE,
    PASS,
    REASON_CODES,
    Judged,
)
from judgebatch.verdicts.members import Index, Mask, Vocabulary
from judgebatch.verdicts.tree import Tree, take_rows
from judgebatch.verdicts.walk import (
    OWN,
    REJECT_ON_ANY_FAIL,
    REJECTION,
    TIER_MISSING,
    TOO_LONG,
    UNDECIDED,
    VERDICT_MISSING,
    Walk,
)
from judgebatch.vocabulary import MACHINERY_CODES, DefectKind, ReasonCode

_ABSENT, _INCONSISTENT = DefectKind.ABSENT, DefectKind.INCONSISTENT
_EXECUTION_FAILED, _CHILD_UNDECIDED, _UNDECLARED = range(3)
_MACHINERY = tuple(CODE[code] for code in MACHINERY_CODES)

_STAGE_NOT_FAILED = Rule("basis", _INCONSISTENT, "the rejecting tier's stage did not fail")
_CANNOT_REJECT = Rule("basis", _INCONSISTENT, "the tier's policy does not reject on one failure")
_NONE_FAILED = Rule("basis", _INCONSISTENT, "no judgment of the rejecting tier failed")
_NOT_CARRIED = Rule("basis", _INCONSISTENT, "the aggregate is not what such a rejection leaves")
_NOT_UNDECIDED = Rule("kind", _INCONSISTENT, "undecided, but the aggregate is no machinery error")
_NO_EVIDENCE = Rule(BLOCK, _ABSENT, "the aggregate carries no evidence")
_STATUS_DIFFERS = Rule("status", _INCONSISTENT, "the evidence gives another status")
_CODE_DIFFERS = Rule("reasonCode", _INCONSISTENT, "the evidence gives another reason code")


class _Support(NamedTuple):
    """The facts that all support checks use."""

    tree: Tree
    walk: Walk
    judged: Judged
    aggregate: Index
    """The judgment of each node's aggregate; -1 without."""
    defects: Defects

    def refute(self, rule: Rule, place: Place, root: Index, at: Index, check: int) -> None:
        """Note that something stored contradicts the reading."""
        self.note(rule, place, root, at, check)
        self.walk.contradicted[root] = True

    def note(self, rule: Rule, place: Place, root: Index, at: Index, check: int) -> None:
        """Note a defect."""
        self.defects.add(
            rule,
            place,
            at,
            node=self.tree.roots[root],
            order=np.full(len(root), check),
            phase=Phase.SUPPORT,
        )

    def doubt(self, root: Index) -> None:
        """Note that something needed to support the reading is not there."""
        self.walk.undetermined[root] = True


def check_support(
    tree: Tree,
    walk: Walk,
    attempts: Attempts,
    judged: Judged,
    evidence: EvidenceRead,
    aggregate: Index,
    defects: Defects,
) -> None:
    """Check all roots of a batch; the walk's marks take the results."""
    support = _Support(tree, walk, judged, aggregate, defects)
    _check_rejections(support, attempts)
    _check_undecided(support)
    _check_evidence(support, evidence)


def _check_rejections(support: _Support, attempts: Attempts) -> None:
    root = np.flatnonzero(support.walk.state == REJECTION)
    if not len(root):
        return
    stop = support.walk.stop[root]
    target = support.walk.match[stop]

    def refute(rule: Rule, mask: Mask, check: int) -> None:
        support.refute(rule, Place.DECISION, root[mask], stop[mask], check)

    missing = target < 0
    refute(TIER_MISSING, missing, 0)
    root, stop, target = root[~missing], stop[~missing], target[~missing]

    attempt = attempts.of_node[target]
    disposition, reason = attempts.disposition[attempt], attempts.reason[attempt]
    unsaid = (disposition == Vocabulary.ABSENT) | (reason == Vocabulary.ABSENT)
    other = ~unsaid & ((disposition != STAGE_FAILED) | (reason == _EXECUTION_FAILED))
    refute(_STAGE_NOT_FAILED, other, 1)
    support.doubt(root[unsaid | (~other & (reason == Vocabulary.UNKNOWN))])

    policy = attempts.policy[attempt]
    support.doubt(root[policy == Vocabulary.ABSENT])
    refute(_CANNOT_REJECT, (policy != REJECT_ON_ANY_FAIL) & (policy != Vocabulary.ABSENT), 2)

    empty = ~support.tree.body[target]
    refute(VERDICT_MISSING, empty, 3)
    root, stop, target, reason = root[~empty], stop[~empty], target[~empty], reason[~empty]
    unreadable = support.walk.tiers.unreadable[target]
    support.doubt(root[unreadable])
    refute(_NONE_FAILED, ~unreadable & ~support.walk.tiers.any_fail[target], 4)

    own, child = support.aggregate[stop], support.aggregate[target]
    nowhere = (own < 0) | (child < 0)
    support.doubt(root[nowhere])
    root, stop, target, reason = (part[~nowhere] for part in (root, stop, target, reason))
    own, child = own[~nowhere], child[~nowhere]
    carried = ~support.walk.tiers.unequal[target]
    excluded = support.judged.status_code[child] == NOT_APPLICABLE
    coded = support.judged.code[own] == CODE[ReasonCode.STAGE_FAILED]
    refute(_NOT_CARRIED, (reason == _CHILD_UNDECIDED) & ~carried, 5)
    refute(_NOT_CARRIED, (reason == _UNDECLARED) & ~(excluded & coded), 5)


def _check_undecided(support: _Support) -> None:
    root = np.flatnonzero(support.walk.state == UNDECIDED)
    if not len(root):
        return
    stop = support.walk.stop[root]
    own = support.aggregate[stop]
    support.doubt(root[own < 0])
    root, stop, own = root[own >= 0], stop[own >= 0], own[own >= 0]
    error = support.judged.status_code[own] == ERROR
    code = support.judged.code[own]
    unsaid = code < 0
    wrong = ~error | (~unsaid & ~np.isin(code, _MACHINERY))
    support.refute(_NOT_UNDECIDED, Place.DECISION, root[wrong], stop[wrong], 6)
    support.doubt(root[error & unsaid])


def _check_evidence(support: _Support, evidence: EvidenceRead) -> None:
    """Check the roots' aggregates against their own evidence."""
    tree, walk = support.tree, support.walk
    broken = np.zeros(tree.size, dtype=np.bool_)
    broken[evidence.not_object] = True
    has_aggregate = support.aggregate[tree.roots] >= 0
    has_evidence = evidence.block[tree.roots] >= 0
    support.doubt(np.flatnonzero(~has_aggregate))
    wanted = (walk.state <= TOO_LONG) | (walk.state == OWN)
    bare = has_aggregate & ~has_evidence & wanted
    support.doubt(np.flatnonzero(bare))
    hits = np.flatnonzero(bare & ~broken[tree.roots])
    support.note(_NO_EVIDENCE, Place.AGGREGATE, hits, tree.roots[hits], 7)
    root = np.flatnonzero(has_evidence)
    if len(root):
        _check_rule(support, evidence, root, evidence.block[tree.roots[root]])


def _check_rule(support: _Support, evidence: EvidenceRead, root: Index, block: Index) -> None:
    """Compare status and code with what the recorded rule makes of the recorded counts."""
    tree = support.tree
    own = support.aggregate[tree.roots[root]]
    columns = take_rows(evidence.columns.select(RULE_COLUMNS), block).to_dict()
    score = support.judged.bare_score.gather(own)
    expected = expect(columns, score, _blames_machinery(evidence)[block])
    for at, key in enumerate(NEEDED):
        hits = np.flatnonzero(expected.missing == at)
        rule = Rule(f"{BLOCK}.{key}", _ABSENT, f"the evidence's {key} is needed and not there")
        support.note(rule, Place.AGGREGATE, root[hits], tree.roots[root[hits]], 8)
    status, actual = support.judged.status_code[own], support.judged.code[own]
    comparable = (expected.status != UNKNOWN) & (status >= 0)
    support.doubt(root[~comparable])
    voted = (status == PASS) | (status == FAIL) | (status == ABSTAIN)
    other = np.where(expected.status == ANY_VOTE, ~voted, status != expected.status)
    hits = root[comparable & other]
    support.refute(_STATUS_DIFFERS, Place.AGGREGATE, hits, tree.roots[hits], 9)
    coded = (expected.code >= 0) & (actual != Vocabulary.ABSENT)
    hits = root[comparable & coded & (actual != expected.code)]
    support.refute(_CODE_DIFFERS, Place.AGGREGATE, hits, tree.roots[hits], 10)


def _blames_machinery(evidence: EvidenceRead) -> Mask:
    """Return per distinct block whether it has error codes, and they are not a judge's alone."""
    counts = evidence.code_counts
    blames = ~members.nulls(evidence.columns[COLUMN_NAMES[CODE_COUNTS]])
    blames[counts.block] = False
    codes = REASON_CODES.codes(counts.code)
    blames[counts.block[np.isin(codes, _MACHINERY) | (codes == Vocabulary.UNKNOWN)]] = True
    return blames
