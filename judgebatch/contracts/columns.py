"""The BI-safe column types that every table is made of.

Only Int64, Float64, String, Boolean, Date and Datetime(us, UTC): what every reader of Parquet
agrees on. Each column carries its documentation.
"""

import dataframely as dy


def text(doc: str, *, null: bool = False, key: bool = False) -> dy.String:
    """Return a String column."""
    return dy.String(nullable=null, primary_key=key, metadata={"doc": doc})


def count(doc: str, *, null: bool = False, key: bool = False) -> dy.Int64:
    """Return an Int64 column of a count or an ordinal: never negative."""
    return dy.Int64(nullable=null, primary_key=key, min=0, metadata={"doc": doc})


def integer(doc: str, *, null: bool = False, key: bool = False) -> dy.Int64:
    """Return an Int64 column."""
    return dy.Int64(nullable=null, primary_key=key, metadata={"doc": doc})


def number(doc: str, *, null: bool = False) -> dy.Float64:
    """Return a Float64 column without NaN; infinities are refused too."""
    return dy.Float64(nullable=null, allow_inf=False, allow_nan=False, metadata={"doc": doc})


def flag(doc: str, *, null: bool = False) -> dy.Bool:
    """Return a Boolean column."""
    return dy.Bool(nullable=null, metadata={"doc": doc})


def time(doc: str, *, null: bool = False, key: bool = False) -> dy.Datetime:
    """Return a Datetime column in UTC microseconds."""
    return dy.Datetime(
        nullable=null,
        primary_key=key,
        time_unit="us",
        time_zone="UTC",
        metadata={"doc": doc},
    )


def day(doc: str, *, null: bool = False, key: bool = False) -> dy.Date:
    """Return a Date column."""
    return dy.Date(nullable=null, primary_key=key, metadata={"doc": doc})
