"""Which column of a file stands for which column of its contract."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NoReturn

from judgebatch.errors import InputError, did_you_mean
from judgebatch.inputs.arrow import Field, Schema, pt
from judgebatch.inputs.spec import CONTRACTS, InputKind, InputSpec
from judgebatch.inputs.types import Column, Form, accepts, columns_of, storage


@dataclass(frozen=True)
class Layout:
    """The columns of one file.

    Parameters
    ----------
    columns
        The contract's columns, in its order, without those that the file may and does lack.
    positions
        Where each of them stands in the file.
    extras
        Columns outside the contract as (name, position), sorted by name.
    """

    columns: Sequence[Column]
    positions: Mapping[str, int]
    extras: Sequence[tuple[str, int]]


def lay_out(schema: Schema, spec: InputSpec, place: str) -> Layout:
    """Return the layout of a file with ``schema``; ``place`` names it in messages.

    Raises
    ------
    InputError
        A required or mapped column is missing, stands twice, or has a type that cannot be cast
        without loss.
    """
    columns = wanted_columns(spec)
    names = list(schema.names)
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"{place} has two columns called {twice[0]!r}. Rename one of them.")
    positions: dict[str, int] = {}
    for column in columns:
        source = _source(column.name, spec)
        if source in names:
            positions[column.name] = names.index(source)
        elif column.required or column.name != source:
            _missing(column, source, schema, spec, place)
    present = [column for column in columns if column.name in positions]
    for column in present:
        _check_type(column, schema.field(positions[column.name]), schema, spec, place)
    taken = set(positions.values())
    extras = sorted((name, index) for index, name in enumerate(names) if index not in taken)
    return Layout(present, positions, extras)


def wanted_columns(spec: InputSpec) -> list[Column]:
    """Return the contract's columns; of wide answers those columns that are not per question."""
    columns = columns_of(CONTRACTS[spec.kind])
    if not spec.wide:
        return columns
    shared = [one for one in columns if one.name in {"tenant_id", "episode_id", "answered_at"}]
    forms = {one.name: one.form for one in columns_of(CONTRACTS[InputKind.ANSWERS])}
    return shared + [
        Column(wide_name(question.question, name), forms[name], required=True, nullable=True)
        for question in spec.wide
        for name in question.columns
    ]


def wide_name(question: str, column: str) -> str:
    """Return the name that a question's own column has inside."""
    return f"{column} of {question!r}"


def _source(name: str, spec: InputSpec) -> str:
    for question in spec.wide:
        for column, source in question.columns.items():
            if wide_name(question.question, column) == name:
                return source
    return spec.columns.get(name, name)


def _missing(column: Column, source: str, schema: Schema, spec: InputSpec, place: str) -> NoReturn:
    names = list(schema.names)
    has = f"it has {_listed(names)}"
    hint = did_you_mean(source, names)
    if source != column.name:
        part = "wide" if source not in spec.columns.values() else "columns"
        raise InputError(
            f"{place} has no column {source!r}, which the settings name for {column.name}; "
            f"{has}{hint}. Correct [{spec.table}.{part}] or the file."
        )
    contract = {one.name for one in columns_of(CONTRACTS[spec.kind])}
    free = [
        one.name
        for one in schema
        if one.name not in contract
        and one.name not in spec.columns.values()
        and accepts(column.form, one.type)
    ]
    close = next(iter(get_close_matches(column.name, free, n=1)), "…")
    could = f" (of that type there: {_listed(free)})" if free else ""
    raise InputError(
        f"{place} has no column {column.name!r} ({column.form.value}); {has}{hint}. If it has "
        f"another name there, say so in the settings: [{spec.table}.columns] {column.name} = "
        f'"{close}"{could}.'
    )


def _check_type(column: Column, field: Field, schema: Schema, spec: InputSpec, place: str) -> None:
    kind = storage(field.type)
    named = column.name if field.name == column.name else f"{column.name} ({field.name!r} there)"
    if not accepts(column.form, field.type):
        others = [
            one.name
            for one in schema
            if one.name != field.name
            and not pt.is_null(one.type)
            and accepts(column.form, one.type)
        ]
        instead = (
            f", or map another column: [{spec.table}.columns] {column.name} = … (of that type "
            f"here: {_listed(others)})"
            if others and not spec.wide
            else ""
        )
        raise InputError(
            f"{place}: column {named} should be {column.form.value} and is {field.type}. "
            f"Write it so{instead}."
        )
    if (
        column.form is Form.TIME
        and pt.is_timestamp(kind)
        and kind.tz is None
        and spec.assume_timezone is None
    ):
        raise InputError(
            f"{place}: column {named} should be {column.form.value} and is {field.type}, without "
            "one. Write it with its zone, or say which zone it means in the settings: "
            f'[{spec.table}] assume_timezone = "UTC".'
        )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(
        repr(name) if len(name) <= 40 else repr(name[:39] + "…") for name in names[:30]
    )
    rest = len(names) - 30
    return (shown or "no columns") + (f" and {rest} more" if rest > 0 else "")
