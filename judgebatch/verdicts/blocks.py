"""What the walk collects of evidence: few blocks differ, and each one is read once."""

import orjson

from judgebatch.verdicts.members import LONG_MAX, LONG_MIN, Json, Pools, clamped
from judgebatch.verdicts.records import all_objects

EVIDENCE_KEYS = (
    "strategy",
    "errorPolicy",
    "notApplicablePolicy",
    "inputCount",
    "eligibleCount",
    "explicitAbstainCount",
    "notApplicableCount",
    "errorCount",
    "ignoredErrorCount",
    "errorsTreatedAsAbstainCount",
    "errorsTreatedAsFailCount",
    "notApplicableTreatedAsFailCount",
    "errorCodeCounts",
    "passCount",
    "failCount",
    "threshold",
    "bindingIndex",
    "inputWeight",
    "eligibleWeight",
)
"""The members of an evidence block, in the order in which they are written."""

CODE_COUNTS = "errorCodeCounts"
_TEXTS = frozenset({"strategy", "errorPolicy", "notApplicablePolicy"})
_DECIMALS = frozenset({"threshold", "inputWeight", "eligibleWeight"})


class Distinct:
    """JSON values of which many are the same: each one is kept once."""

    def __init__(self) -> None:
        self.values: list[Json] = []
        self._places: dict[bytes, int] = {}

    def add(self, values: list[Json]) -> list[int]:
        """Return the place of each value among the distinct ones."""
        try:
            texts = list(map(orjson.dumps, values))
        except orjson.JSONEncodeError:
            # One is nested too deeply for the encoder: these are told apart without looking.
            first = len(self.values)
            self.values += values
            return list(range(first, len(self.values)))
        places = self._places
        for text, value in dict(zip(texts, values, strict=True)).items():
            if text not in places:
                places[text] = len(self.values)
                self.values.append(value)
        return list(map(places.__getitem__, texts))


class Evidence:
    """Blocks ``metadata.aggregation`` of aggregates.

    Verdicts of one jury carry much the same few blocks, so each distinct one is kept once, and
    its members are read at the end.
    """

    def __init__(self, pools: Pools) -> None:
        self.node: list[int] = []
        self.block: list[int] = []
        """The distinct block of each of these nodes."""
        self.not_object: list[int] = []
        """Nodes whose block is there, but is not an object."""
        self._distinct = Distinct()
        self.members = {
            key: (
                pools.text if key in _TEXTS else pools.number if key in _DECIMALS else pools.count
            ).column()
            for key in EVIDENCE_KEYS
            if key != CODE_COUNTS
        }
        self.counts = pools.text.column()
        """Error codes with their counts, as JSON text; null where they are no object."""
        self.counts_not_object: list[int] = []
        self.counted: list[int] = []
        """Distinct blocks with error codes, and how many each has."""
        self.size: list[int] = []
        self.code = pools.text.column()
        self.count = pools.long.column()
        self.dropped: list[tuple[int, int, str]] = []
        """Distinct block, place and code of each count that is no number."""

    def add(self, nodes: list[int], metadata: list[Json]) -> None:
        """Append the blocks of aggregates' metadata."""
        blocks: list[Json] = [
            held.get("aggregation") if type(held) is dict else None for held in metadata
        ]
        if all_objects(blocks):
            self.node += nodes
        else:
            for node, block in zip(nodes, blocks, strict=True):
                if type(block) is dict:
                    self.node.append(node)
                elif block is not None:
                    self.not_object.append(node)
            blocks = [block for block in blocks if type(block) is dict]
        self.block += self._distinct.add(blocks)

    def seal(self) -> None:
        """Read the members of the distinct blocks."""
        blocks = self._distinct.values
        for key, member in self.members.items():
            member.pending += [b.get(key) for b in blocks]
        texts: list[str | None] = []
        for at, block in enumerate(blocks):
            counts = block.get(CODE_COUNTS)
            if type(counts) is dict:
                texts.append(self._add_counts(at, counts) if counts else "{}")
            else:
                texts.append(None)
                if counts is not None:
                    self.counts_not_object.append(at)
        self.counts.pending += texts

    def _add_counts(self, block: int, counts: dict[str, Json]) -> str:
        """Append a block's error codes and return them as JSON text, as far as they are read."""
        if not {int}.issuperset(map(type, counts.values())) or any(
            n > LONG_MAX for n in counts.values()
        ):
            items = list(enumerate(counts.items()))
            self.dropped += [(block, i, k) for i, (k, n) in items if clamped(n, 0, 0) is None]
            read = {k: clamped(n, LONG_MIN, LONG_MAX) for _, (k, n) in items}
            counts = {k: n for k, n in read.items() if n is not None}
        self.counted.append(block)
        self.size.append(len(counts))
        self.code.pending += counts
        self.count.pending += counts.values()
        return orjson.dumps(counts).decode()
