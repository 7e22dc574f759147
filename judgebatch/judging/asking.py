"""Asking a judge: what is journaled is not asked again, and what goes wrong stays with its pair."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from types import TracebackType
from typing import Any, Self

import polars as pl

from judgebatch.contracts.judgments import Judgments, WantedPairs
from judgebatch.contracts.rows import VerdictRows
from judgebatch.contracts.table import conform, empty, schema_of
from judgebatch.errors import InputError
from judgebatch.judging.journal import Journal
from judgebatch.judging.protocol import Judge, MalformedAnswerError, Reducer
from judgebatch.vocabulary import JudgeOutcome

_NANO = 1_000_000_000
_PAIR = tuple(schema_of(WantedPairs).names())
SEQUENCE = "sequence:"
"""Marks questions put in sequence; sorts after every hexadecimal digit."""
RAISED, SHORT, TWICE, MALFORMED = "raised", "short", "twice", "malformed"


@dataclass
class Counts:
    """What became of asking.

    ``calls`` counts calls of the judge; ``answered``, ``journaled`` (known from an earlier run)
    and the failures count pairs; ``unasked`` counts judgments about pairs nobody asked about,
    ``unseated`` those for which the jury has no seat. ``in_sequence`` counts the pairs that were
    put one at a time; they are among the others. ``abandoned`` counts the sequences that ended
    because the judge said nothing.
    """

    calls: int = 0
    answered: int = 0
    journaled: int = 0
    raised: int = 0
    short: int = 0
    twice: int = 0
    malformed: int = 0
    unasked: int = 0
    unseated: int = 0
    in_sequence: int = 0
    abandoned: int = 0

    @property
    def unanswered(self) -> int:
        """Pairs for which nothing came back."""
        return self.raised + self.short


@dataclass
class Asking:
    """A judge at work for a run: loaded once, when it is first asked.

    Parameters
    ----------
    judge
        Who is asked.
    reducer
        What makes verdicts of the judgments.
    journal
        Where answers are kept before they are used.
    judged_at
        When the verdicts count as judged: the run's as_of.
    """

    judge: Judge
    reducer: Reducer
    journal: Journal
    judged_at: datetime
    counts: Counts = field(default_factory=Counts)
    _loaded: bool = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        close = getattr(self.judge, "close", None)
        if self._loaded and close is not None:
            close()

    def ask(self, wanted: pl.DataFrame) -> pl.DataFrame:
        """Return one verdict row per wanted pair, in the pairs' total order.

        Parameters
        ----------
        wanted
            Rows of ``wanted_pairs``; further columns are handed to the judge as they are.

        Returns
        -------
        DataFrame
            Rows of ``verdict_rows``. A pair whose judge raised, was silent, answered twice or
            unusably has a verdict of errors, and costs nothing.

        Raises
        ------
        InputError
            A column is missing, or a pair is wanted twice under one ordinal.
        """
        return self._rows(_identified(wanted, self.judge.name))

    def ask_until(
        self, wanted: pl.DataFrame, decided: Callable[[pl.DataFrame], bool]
    ) -> pl.DataFrame:
        """Ask one pair at a time, in the order of their identities, until ``decided`` says so.

        ``decided`` is given all verdict rows so far, also before the first pair; the pair after
        which it holds is the last one asked about. The identities come after those of
        :meth:`ask`, so that verdicts of one moment, ordered by identity, stand as they were
        asked for: first what was wanted anyway, then these, one by one.
        """
        pairs = _identified(wanted, self.judge.name, in_sequence=True).sort("verdict_id")
        rows = empty(VerdictRows)
        for start in range(pairs.height):
            if decided(rows):
                break
            rows = pl.concat([rows, self._rows(pairs.slice(start, 1))])
            self.counts.in_sequence += 1
        return rows

    def _rows(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """Return a verdict row per identified pair; ask about those that the journal lacks."""
        if pairs.is_empty():
            return empty(VerdictRows)
        entries = {key: self.journal[key] for key in pairs["verdict_id"] if key in self.journal}
        self.counts.journaled += len(entries)
        known = pairs["verdict_id"].is_in(list(entries))
        unknown = pairs.filter(~known)
        size = max(1, self.judge.batch_size)
        for start in range(0, unknown.height, size):
            for entry in self._answers(unknown.slice(start, size)):
                entries[entry["key"]] = entry
        return self._verdict_rows(pairs, entries)

    def _answers(self, pairs: pl.DataFrame) -> Iterator[dict[str, Any]]:
        """Ask about a batch; halve it where the judge raises, down to the pairs it fails on."""
        self._load()
        self.counts.calls += 1
        kind, said = RAISED, "the judge raised"
        try:
            answer = self.judge.judge(pairs)
            kind, said = MALFORMED, "the judge's answer"
            judgments, faults = self.reducer.checked(self._placed(answer, pairs))
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a judge does is contained
            if isinstance(error, MalformedAnswerError):
                kind, said = MALFORMED, "the judge's answer"
            if pairs.height == 1:
                entry = self._failure(pairs.row(0, named=True), kind, f"{said}: {error}")
                self._remember([entry])
                yield entry
                return
            half = pairs.height // 2
            yield from self._answers(pairs.head(half))
            yield from self._answers(pairs.slice(half))
            return
        entries = self._entries(judgments, faults, pairs)
        self._remember(entries)
        yield from entries

    def _remember(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Journal what was answered; a judge that raised or was silent gave no answer."""
        self.journal.append(
            entry for entry in entries if entry.get("failure") in {None, TWICE, MALFORMED}
        )

    def _load(self) -> None:
        if self._loaded:
            return
        load = getattr(self.judge, "load", None)
        if load is not None:
            load()
        self._loaded = True

    def _entries(
        self, judgments: pl.DataFrame, faults: pl.DataFrame, pairs: pl.DataFrame
    ) -> list[dict[str, Any]]:
        """Return what is known of each pair after one call."""
        told = dict(faults.iter_rows())
        seen: dict[str, list[dict[str, Any]]] = {}
        wrong: dict[str, tuple[str, str]] = {}
        asked = set(pairs["verdict_id"])
        for number, row in enumerate(judgments.iter_rows(named=True)):
            key = row["verdict_id"]
            if key not in asked:
                self.counts.unasked += 1
                continue
            before = seen.setdefault(key, [])
            place = (row["stage"], row["position"])
            if any((one["stage"], one["position"]) == place for one in before):
                wrong[key] = (TWICE, "the judge answered twice for one seat")
            elif number in told:
                wrong.setdefault(key, (MALFORMED, f"the judge's answer: {told[number]}"))
            before.append(row)
        entries = []
        for pair in pairs.iter_rows(named=True):
            key = pair["verdict_id"]
            if key in wrong:
                entries.append(self._failure(pair, *wrong[key]))
            elif key not in seen:
                entries.append(self._failure(pair, SHORT, "the judge returned nothing"))
            else:
                self.counts.answered += 1
                kept = [{k: v for k, v in row.items() if v is not None} for row in seen[key]]
                entries.append({**self._identity(pair), "judgments": kept})
        return entries

    def _placed(self, answer: object, pairs: pl.DataFrame) -> pl.DataFrame:
        if answer is None:
            return empty(Judgments)
        if not isinstance(answer, pl.DataFrame) or "verdict_id" not in answer.columns:
            raise TypeError("a judge answers with a frame that has the column verdict_id")
        tenants = pairs.select("verdict_id", "tenant_id")
        rows = answer.drop("tenant_id", strict=False).join(
            tenants, on="verdict_id", how="left", maintain_order="left"
        )
        defaults: Mapping[str, pl.Expr] = {
            "stage": pl.lit(""),
            "position": pl.lit(0, pl.Int64),
            "name": pl.lit(self.judge.name),
        }
        lacking = {name: one for name, one in defaults.items() if name not in rows.columns}
        if self.judge.may_exclude is None:
            lacking["may_exclude"] = pl.lit(value=False)
        return rows.with_columns(**lacking)

    def _failure(self, pair: Mapping[str, Any], kind: str, message: str) -> dict[str, Any]:
        setattr(self.counts, kind, getattr(self.counts, kind) + 1)
        return {**self._identity(pair), "failure": kind, "message": message}

    def _doubled(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        self.counts.answered -= 1
        return self._failure(
            {**entry, "verdict_id": entry["key"]}, TWICE, "the judge answered twice for one seat"
        )

    def _identity(self, pair: Mapping[str, Any]) -> dict[str, Any]:
        named = {name: pair[name] for name in _PAIR}
        return {"key": pair["verdict_id"], "judge": self.judge.name, **named}

    def _verdict_rows(
        self, pairs: pl.DataFrame, entries: Mapping[str, Mapping[str, Any]]
    ) -> pl.DataFrame:
        judgments = [row for entry in entries.values() for row in entry.get("judgments", ())]
        parts = [pl.DataFrame(judgments, schema=schema_of(Judgments), infer_schema_length=None)]
        for outcome, kinds in (
            (JudgeOutcome.RAISED, {RAISED}),
            (JudgeOutcome.NOTHING, {SHORT, TWICE, MALFORMED}),
        ):
            failed = [entry for entry in entries.values() if entry.get("failure") in kinds]
            keys = pl.DataFrame(
                [(e["tenant_id"], e["key"], e["message"]) for e in failed],
                schema={"tenant_id": pl.String, "verdict_id": pl.String, "message": pl.String},
                orient="row",
            )
            parts.append(self.reducer.failed(keys, outcome))
        verdicts, unseated = self.reducer.verdicts(pl.concat(parts))
        unreduced = set(pairs["verdict_id"]) - set(verdicts["verdict_id"])
        if unreduced:
            # Two answers for one seat under different positions: only the jury can see that.
            twice = {key: self._doubled(entries[key]) for key in sorted(unreduced)}
            return self._verdict_rows(pairs, {**entries, **twice})
        self.counts.unseated += unseated
        paid = [key for key, entry in entries.items() if "failure" not in entry]
        cost = round(self.judge.cost_usd * _NANO)
        rows = pairs.join(verdicts, on=["tenant_id", "verdict_id"], how="left").with_columns(
            judged_at=pl.lit(self.judged_at, pl.Datetime("us", "UTC")),
            judge_id=pl.lit(self.judge.name),
            cost_nano_usd=pl.when(pl.col("verdict_id").is_in(paid))
            .then(pl.lit(cost, pl.Int64))
            .otherwise(pl.lit(0, pl.Int64)),
            recorded_passed=pl.lit(None, pl.Boolean),
            source_file=pl.lit(f"judge {self.judge.name}"),
        )
        rows = rows.sort(WantedPairs.order, nulls_last=False)
        return conform(rows.with_columns(source_row=pl.int_range(pl.len())), VerdictRows)


def ask(
    judge: Judge,
    reducer: Reducer,
    wanted: pl.DataFrame,
    journal: Journal,
    *,
    judged_at: datetime,
) -> tuple[pl.DataFrame, Counts]:
    """Ask a judge about wanted pairs in one contiguous batch; see :class:`Asking`.

    Returns
    -------
    tuple
        Rows of ``verdict_rows``, one per pair, and what became of asking.
    """
    with Asking(judge, reducer, journal, judged_at) as asking:
        return asking.ask(wanted), asking.counts


def pair_key(judge: str, pair: Sequence[str | int | None], *, in_sequence: bool = False) -> str:
    """Return the identity of a question to a judge: the same in every run, on every machine.

    Questions that are put in sequence sort after the others of the judge.
    """
    digest = blake2b(digest_size=16)
    for part in (judge, *pair):
        text = b"" if part is None else str(part).encode()
        # A length before each text, and none for null, keeps different questions apart.
        digest.update(b"-" if part is None else len(text).to_bytes(8, "little"))
        digest.update(text)
    return f"{judge}:{SEQUENCE if in_sequence else ''}{digest.hexdigest()}"


def _identified(wanted: pl.DataFrame, judge: str, *, in_sequence: bool = False) -> pl.DataFrame:
    missing = [name for name in _PAIR if name not in wanted.columns]
    if missing:
        raise InputError(f"the wanted pairs have no column {', '.join(missing)}")
    pairs = wanted.sort(WantedPairs.order, nulls_last=False)
    keys = [
        pair_key(judge, pair, in_sequence=in_sequence) for pair in pairs.select(_PAIR).iter_rows()
    ]
    if len(set(keys)) < len(keys):
        raise InputError("a pair is wanted twice under one ordinal; number its askings")
    return pairs.with_columns(verdict_id=pl.Series(keys, dtype=pl.String))
