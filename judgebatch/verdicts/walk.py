"""Who decided: the walk from the root along the tiers that the decisions name.

Nothing is inferred, neither from equality nor from order nor from prose. All verdicts of a batch
walk at once, one edge a step; the checks of all edges are made together afterwards.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from judgebatch.verdicts import members
from judgebatch.verdicts.attempts import CASCADE_TIER, USED
from judgebatch.verdicts.attempts import AttemptsRead as Attempts
from judgebatch.verdicts.defects import Defects, Phase, Place, Rule
from judgebatch.verdicts.flatten import Flat
from judgebatch.verdicts.judgments import FAIL, PASS, STATUS_WORDS, STATUSES
from judgebatch.verdicts.members import Index, Mask, Vocabulary
from judgebatch.verdicts.records import Decisions, flags, owners
from judgebatch.verdicts.tree import Tree, pointer_step, take
from judgebatch.vocabulary import DecisionBasis, DecisionKind, DefectKind, TierPolicy

_ABSENT, _UNPARSEABLE = DefectKind.ABSENT, DefectKind.UNPARSEABLE
_UNKNOWN, _INCONSISTENT = DefectKind.UNKNOWN_VOCABULARY, DefectKind.INCONSISTENT

MAX_EDGES = 64

(
    NO_DECISION,
    NO_OBJECT,
    NO_KIND,
    KIND_NOT_TEXT,
    TOO_LONG,
    KIND_UNKNOWN,
    NO_TIER,
    NO_BASIS,
    BASIS_UNKNOWN,
    OWN,
    UNDECIDED,
    REJECTION,
    TIER_OUTCOME,
) = range(13)
"""What a decision says; up to ``TOO_LONG`` it has no readable kind."""

_KINDS = Vocabulary(list(DecisionKind))
_BASES = Vocabulary(list(DecisionBasis))
_OWN_KIND, _TIER_KIND, _UNDECIDED_KIND = range(3)
_TIER_OUTCOME_BASIS, _REJECTION_BASIS = range(2)
REJECT_ON_ANY_FAIL, _ACCEPT_ON_ALL_PASS, _FINAL = range(len(TierPolicy))

_STOPS = {
    NO_DECISION: (Place.VERDICT, Rule("decision", _ABSENT, "the verdict names no decision")),
    NO_OBJECT: (Place.VERDICT, Rule("decision", _UNPARSEABLE, "the decision is not an object")),
    TOO_LONG: (Place.VERDICT, Rule("decision", _UNPARSEABLE, "more than 64 tiers decided")),
    NO_KIND: (Place.DECISION, Rule("kind", _ABSENT, "the decision has no kind")),
    KIND_NOT_TEXT: (Place.DECISION, Rule("kind", _UNPARSEABLE, "the kind is not text")),
    KIND_UNKNOWN: (Place.DECISION, Rule("kind", _UNKNOWN, "the kind is not a known one")),
    NO_TIER: (Place.DECISION, Rule("tier", _ABSENT, "a tier decided, but none is named")),
    NO_BASIS: (Place.DECISION, Rule("basis", _ABSENT, "a tier decided, but not on what")),
    BASIS_UNKNOWN: (Place.DECISION, Rule("basis", _UNKNOWN, "the basis is not a known one")),
}
TIER_MISSING = Rule("tier", _INCONSISTENT, "there is no attempt of the tier that decided")
VERDICT_MISSING = Rule("tier", _INCONSISTENT, "the tier that decided has no verdict")
_NOT_USED = Rule("basis", _INCONSISTENT, "the tier that decided was not used")
_UNEQUAL = Rule("basis", _INCONSISTENT, "the aggregate is not the one of the tier that decided")
_DID_NOT_STOP = Rule("basis", _INCONSISTENT, "the tier's policy does not stop at its judgments")
_CHILD_UNDECIDED = Rule("basis", _INCONSISTENT, "the tier that decided is itself undecided")


class Tiers(NamedTuple):
    """Per node, what the verdict of a tier says; read only where that tier decided.

    ``unequal``: its aggregate is not its parent's. The others tell what its individuals say.
    """

    unequal: Mask
    unreadable: Mask
    any_fail: Mask
    all_pass: Mask


class Walk(NamedTuple):
    """Where the walk of each root stopped.

    ``stop`` is the node and ``state`` what its decision says; ``match`` is, per node, the attempt
    that its decision names (-1: none). ``undetermined`` and ``contradicted`` are updated by the
    support checks.
    """

    stop: Index
    state: Index
    match: Index
    tiers: Tiers
    stage: pl.Series
    path: pl.Series
    basis: pl.Series
    source_version: Index
    undetermined: Mask
    contradicted: Mask


class _Edges(NamedTuple):
    """The edges of all walks: which root's, its step, from a node to an attempt."""

    root: Index
    step: Index
    source: Index
    target: Index


def walk(flat: Flat, tree: Tree, attempts: Attempts, defects: Defects) -> Walk:
    """Walk all roots of a batch."""
    tier = flat.decisions.tier.read().values
    basis = flat.decisions.basis.read().values
    state = np.full(tree.size, NO_DECISION, dtype=np.int64)
    state[flat.bodies] = _states(flat, tier, basis)
    at = np.full(tree.size, -1, dtype=np.int64)
    at[flat.bodies] = np.arange(len(flat.bodies))
    match = _match(tree, attempts, state, at, tier)
    tiers = _tiers(flat.decisions, tree.size)

    count = len(tree.roots)
    undetermined = np.zeros(count, dtype=np.bool_)
    contradicted = np.zeros(count, dtype=np.bool_)
    stop, steps, edges = _follow(tree, state, match)
    stopped = state[stop].copy()
    stopped[steps > MAX_EDGES] = TOO_LONG
    _note_stops(tree, stop, stopped, steps, undetermined, defects)
    _check_edges(
        edges,
        tree,
        attempts,
        state,
        tiers,
        undetermined,
        contradicted,
        defects,
    )
    missing = (stopped == TIER_OUTCOME) & (match[stop] < 0)
    contradicted |= missing
    hits = np.flatnonzero(missing)
    _add(TIER_MISSING, tree, hits, stop[hits], steps[hits], 1, defects)

    # The last decision that names a tier and a basis, or else the last edge that was followed.
    named = np.isin(stopped, (BASIS_UNKNOWN, REJECTION, TIER_OUTCOME))
    last = np.full(count, -1, dtype=np.int64)
    last[edges.root] = edges.source  # Edges are in order of their steps: the last one stays.
    decided = np.where(named, stop, np.where(stopped == TOO_LONG, -1, last))
    where = np.where(decided >= 0, at[np.maximum(decided, 0)], -1)
    none = pl.Series([None], dtype=pl.String).new_from_index(0, count)
    if not (where >= 0).any():
        stage = path = by = none
    else:
        stage, by = take(tier, where), take(basis, where)
        path = take(tree.pointer, decided) + pointer_step(stage)
    return Walk(
        stop=stop,
        state=stopped,
        match=match,
        tiers=tiers,
        stage=stage,
        path=path,
        basis=by,
        source_version=_source_version(flat, tree),
        undetermined=undetermined,
        contradicted=contradicted,
    )


def _source_version(flat: Flat, tree: Tree) -> Index:
    """Return 1 for each root with both a decision and seats, whatever they are, else 0."""
    complete = np.zeros(tree.size, dtype=np.int64)
    complete[flat.with_seats] = 1
    complete[flat.decisions.absent] = 0
    return complete[tree.roots]


def _states(flat: Flat, tier: pl.Series, basis: pl.Series) -> Index:
    """Return what each verdict's decision says, in the order of the verdicts."""
    kind = flat.decisions.kind.read()
    kinds, bases = _KINDS.codes(kind.values), _BASES.codes(basis)
    state = np.full(len(kinds), KIND_UNKNOWN, dtype=np.int64)
    state[kind.absent] = NO_KIND
    state[kind.wrong] = KIND_NOT_TEXT
    state[kinds == _OWN_KIND] = OWN
    state[kinds == _UNDECIDED_KIND] = UNDECIDED
    tiers = kinds == _TIER_KIND
    if tiers.any():
        state[tiers] = BASIS_UNKNOWN
        state[tiers & (bases == _TIER_OUTCOME_BASIS)] = TIER_OUTCOME
        state[tiers & (bases == _REJECTION_BASIS)] = REJECTION
        state[tiers & (bases == Vocabulary.ABSENT)] = NO_BASIS
        state[tiers & members.nulls(tier)] = NO_TIER
    body = np.array(flat.bodies, dtype=np.int64)
    if flat.decisions.absent:
        state[np.isin(body, flat.decisions.absent)] = NO_DECISION
    if flat.decisions.not_object:
        state[np.isin(body, flat.decisions.not_object)] = NO_OBJECT
    return state


def _match(tree: Tree, attempts: Attempts, state: Index, at: Index, tier: pl.Series) -> Index:
    """Return the first attempt of the named tier, per node that names one; -1 without."""
    match = np.full(tree.size, -1, dtype=np.int64)
    naming = np.flatnonzero((state == TIER_OUTCOME) | (state == REJECTION))
    related = attempts.relation
    found = np.flatnonzero((related == CASCADE_TIER) | (related == Vocabulary.ABSENT))
    if not len(naming) or not len(found):
        return match
    candidates = pl.DataFrame(
        {
            "node": tree.parent[attempts.node[found]],
            "tier": attempts.columns["stage"].gather(found),
            "attempt": attempts.node[found],
        }
    ).unique(["node", "tier"], keep="first", maintain_order=True)
    wanted = pl.DataFrame({"node": naming, "tier": tier.gather(at[naming])})
    joined = wanted.join(candidates, on=["node", "tier"], how="inner")
    match[joined["node"].to_numpy()] = joined["attempt"].to_numpy()
    return match


def _tiers(decisions: Decisions, size: int) -> Tiers:
    unreadable = np.zeros(size, dtype=np.bool_)
    any_fail = np.zeros(size, dtype=np.bool_)
    all_pass = np.zeros(size, dtype=np.bool_)
    all_pass[decisions.body] = True
    unreadable[decisions.unreadable] = True
    if decisions.body:
        owner, _ = owners(decisions.body, decisions.size)
        words = STATUS_WORDS.codes(decisions.individual.read().values)
        code = np.where(words >= 0, words % len(STATUSES), words)
        unreadable[owner[code == Vocabulary.ABSENT]] = True
        any_fail[owner[code == FAIL]] = True
        all_pass[owner[code != PASS]] = False
    return Tiers(flags(size, decisions.unequal), unreadable, any_fail, all_pass)


def _follow(tree: Tree, state: Index, match: Index) -> tuple[Index, Index, _Edges]:
    """Follow all roots' decisions, at most one edge beyond the limit."""
    stop = tree.roots.copy()
    steps = np.zeros(len(stop), dtype=np.int64)
    active = np.arange(len(stop))
    roots, at_step, sources, targets = [], [], [], []
    for step in range(MAX_EDGES + 1):
        node = stop[active]
        onward = (state[node] == TIER_OUTCOME) & (match[node] >= 0)
        active, node = active[onward], node[onward]
        if not len(active):
            break
        roots.append(active)
        at_step.append(np.full(len(active), step))
        sources.append(node)
        targets.append(match[node])
        followed = tree.body[match[node]]
        active = active[followed]
        stop[active] = match[node[followed]]
        steps[active] += 1
    none = np.zeros(0, dtype=np.int64)
    edges = _Edges(*(np.concatenate([none, *part]) for part in (roots, at_step, sources, targets)))
    return stop, steps, edges


def _note_stops(
    tree: Tree, stop: Index, state: Index, steps: Index, undetermined: Mask, defects: Defects
) -> None:
    for code, (place, rule) in _STOPS.items():
        hits = np.flatnonzero(state == code)
        if len(hits):
            _add(rule, tree, hits, stop[hits], steps[hits], 0, defects, place)
            undetermined[hits[(steps[hits] > 0) | (code != NO_DECISION)]] = True


def _add(
    rule: Rule,
    tree: Tree,
    root: Index,
    at: Index,
    step: Index,
    check: int,
    defects: Defects,
    place: Place = Place.DECISION,
) -> None:
    order = step * 16 + check
    defects.add(rule, place, at, node=tree.roots[root], order=order, phase=Phase.WALK)


def _check_edges(
    edges: _Edges,
    tree: Tree,
    attempts: Attempts,
    state: Index,
    tiers: Tiers,
    undetermined: Mask,
    contradicted: Mask,
    defects: Defects,
) -> None:
    """Check that each tier named as deciding did decide; the checks of one edge accumulate."""
    if not len(edges.root):
        return

    def refute(rule: Rule, mask: Mask, check: int) -> None:
        hits = np.flatnonzero(mask)
        root, step = edges.root[hits], edges.step[hits]
        _add(rule, tree, root, edges.source[hits], step, check, defects)
        contradicted[root] = True

    target = edges.target
    attempt = attempts.of_node[target]
    disposition = attempts.disposition[attempt]
    unsaid = disposition == Vocabulary.ABSENT
    refute(_NOT_USED, (disposition != USED) & ~unsaid, 2)
    held = tree.body[target]
    refute(VERDICT_MISSING, ~held, 3)
    refute(_UNEQUAL, held & tiers.unequal[target], 4)
    unreadable = held & tiers.unreadable[target]
    policy = attempts.policy[attempt]
    went_on = ((policy == REJECT_ON_ANY_FAIL) & ~tiers.any_fail[target]) | (
        (policy == _ACCEPT_ON_ALL_PASS) & ~tiers.all_pass[target]
    )
    refute(_DID_NOT_STOP, held & ~unreadable & went_on, 5)
    refute(_CHILD_UNDECIDED, held & (state[target] == UNDECIDED), 6)
    undetermined[edges.root[unsaid | unreadable]] = True
