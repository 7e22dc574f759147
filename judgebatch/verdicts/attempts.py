"""Reading composite attempts: what each stage says about itself."""

from typing import NamedTuple

import numpy as np
import polars as pl

from judgebatch.verdicts import members
from judgebatch.verdicts.defects import Defects, Place, Rule, Section, order_of
from judgebatch.verdicts.flatten import ATTEMPT, LAST_LEVEL, SUB_VERDICT, Flat
from judgebatch.verdicts.members import Column, Index, Mask, Vocabulary
from judgebatch.verdicts.tree import Tree
from judgebatch.vocabulary import (
    DefectKind,
    Disposition,
    DispositionReason,
    FailureCode,
    Relation,
    TierPolicy,
)

_ABSENT, _UNPARSEABLE = DefectKind.ABSENT, DefectKind.UNPARSEABLE
_UNKNOWN = DefectKind.UNKNOWN_VOCABULARY

RELATIONS = Vocabulary(list(Relation))
POLICIES = Vocabulary(list(TierPolicy))
DISPOSITIONS = Vocabulary(list(Disposition))
REASONS = Vocabulary(list(DispositionReason))
FAILURES = Vocabulary(list(FailureCode))
CASCADE_TIER, _META_MEMBER = range(2)
USED, STAGE_FAILED = range(2)

_CUT = Rule("compositeAttempts", _UNPARSEABLE, "nested deeper than 64 levels; not followed")
_ENTRY = {
    ATTEMPT: Rule("compositeAttempts", _UNPARSEABLE, "an attempt that is no object was dropped"),
    SUB_VERDICT: Rule("subVerdicts", _UNPARSEABLE, "a sub-verdict that is no object was dropped"),
}
_NAME_ABSENT = Rule("name", _ABSENT, "the stage has no name")
_VERDICT_ABSENT = Rule("verdict", _ABSENT, "the attempt has neither a verdict nor a failure")


class AttemptsRead(NamedTuple):
    """Attempts, one row each.

    ``node`` holds the attempt, and ``of_node`` is the attempt in each node (-1: none). ``columns``
    has stage (the name), relation, policy, disposition, reason and failure. The codes are those of
    the columns; a member of another type, which reads as null, is unknown and not absent.
    """

    node: Index
    of_node: Index
    columns: pl.DataFrame
    relation: Index
    policy: Index
    disposition: Index
    reason: Index


def read_attempts(flat: Flat, tree: Tree, defects: Defects) -> AttemptsRead:
    """Read all attempts of a batch."""
    _read_entries(flat, tree, defects)
    node = np.array(flat.attempts.node, dtype=np.int64)

    def add(rule: Rule, mask: Mask, step: int) -> None:
        hits = node[mask]
        order = np.full(len(hits), order_of(Section.ATTEMPT, step=step))
        defects.add(rule, Place.ENTRY, hits, node=hits, order=order)

    def add_all(column: Column, words: Vocabulary, field: str, step: int) -> Index:
        codes = words.codes(column.values)
        add(Rule(field, _UNPARSEABLE, f"the {field} is not text"), column.wrong, step)
        add(
            Rule(field, _UNKNOWN, f"the {field} is not a known one"),
            codes == Vocabulary.UNKNOWN,
            step,
        )
        # What has another type reads as null, but it is not absent: it is none of the words.
        if column.wrong.any():
            codes = np.where(column.wrong, Vocabulary.UNKNOWN, codes)
        return codes

    add(_NAME_ABSENT, members.nulls(tree.attempt_name.values), 0)
    relation = flat.attempts.relation.read()
    add(Rule("relation", _ABSENT, "the attempt has no relation"), relation.absent, 1)
    related = add_all(relation, RELATIONS, "relation", 1)
    policy = flat.attempts.policy.read()
    policies = add_all(policy, POLICIES, "policy", 2)
    unread = members.nulls(policy.values) & (related == CASCADE_TIER)
    add(Rule("policy", _ABSENT, "a cascade tier without a policy"), unread, 3)
    disposition = flat.attempts.disposition.read()
    add(Rule("disposition", _ABSENT, "the attempt has no disposition"), disposition.absent, 4)
    disposed = add_all(disposition, DISPOSITIONS, "disposition", 4)
    reason = flat.attempts.reason.read()
    unsaid = reason.absent & (disposed == STAGE_FAILED)
    add(Rule("dispositionReason", _ABSENT, "a failed stage without a reason"), unsaid, 5)
    reasons = add_all(reason, REASONS, "dispositionReason", 5)

    direct, coded = flat.attempts.failure.read(), flat.attempts.failure_code.read()
    add_all(direct, FAILURES, "failure", 6)
    add_all(coded, FAILURES, "failureCode", 7)
    failure = direct.values.zip_with(~direct.values.is_null(), coded.values)
    add(_VERDICT_ABSENT, ~tree.body[node] & members.nulls(failure), 8)

    of_node = np.full(tree.size, -1, dtype=np.int64)
    of_node[node] = np.arange(len(node))
    columns = pl.DataFrame(
        {
            "stage": tree.attempt_name.values,
            "relation": relation.values,
            "policy": policy.values,
            "disposition": disposition.values,
            "reason": reason.values,
            "failure": failure,
        }
    )
    return AttemptsRead(node, of_node, columns, related, policies, disposed, reasons)


def _read_entries(flat: Flat, tree: Tree, defects: Defects) -> None:
    """Find entries that are no stages, nameless sub-verdicts and what is nested too deeply."""
    cut = np.array(flat.nodes.cut, dtype=np.int64)
    order = np.full(len(cut), order_of(Section.CUT))
    defects.add(_CUT, Place.VERDICT, cut, node=cut, order=order)
    subs = np.flatnonzero((tree.origin == SUB_VERDICT) & tree.entry)
    order = np.full(len(subs), order_of(Section.ATTEMPT))
    defects.add(_NAME_ABSENT, Place.ENTRY, subs, node=subs, order=order)
    dropped = np.array(flat.nodes.dropped, dtype=np.int64)
    if not len(dropped):
        return
    for origin, rule in _ENTRY.items():
        hits = dropped[(tree.origin[dropped] == origin) & (tree.level[dropped] <= LAST_LEVEL)]
        if len(hits):
            suffix = "[" + pl.Series(tree.ordinal[hits]).cast(pl.String) + "]"
            order = np.full(len(hits), order_of(Section.ATTEMPT))
            defects.add(
                rule, Place.VERDICT, tree.parent[hits], node=hits, order=order, suffix=suffix
            )
