"""Queries that name no order for their rows get one: asked again, they answer the same."""

from typing import Any

import duckdb
import orjson

from judgebatch.contracts.registry import published
from judgebatch.warehouse.view_sql import view_name

_ORDER = "ORDER_MODIFIER"
_AS_THEY_STAND = ("SHOW_REF", "EXPRESSION_LIST", "TABLE_FUNCTION", "EMPTY")
"""What a query may read whose rows have an order of their own: SHOW, VALUES, functions, nothing."""

_Node = dict[str, Any]


def settled(database: duckdb.DuckDBPyConnection, query: str) -> str:
    """Return a query with its rows sorted by all its columns, where it leaves their order open.

    DuckDB gives such rows in whatever order its threads are done. Left as it is: what names an
    order or takes the first rows itself, a plain look at one table, which has its own order and
    may be long, and what is no single SELECT.

    Parameters
    ----------
    database
        It reads the query, and does not run it.
    query
        SQL; one that is wrong is returned as it is.
    """
    said = database.execute("SELECT json_serialize_sql(?)", [query]).fetchall()[0][0]
    statements = orjson.loads(said).get("statements", [])
    if len(statements) != 1 or not _is_open(statements[0]["node"]):
        return query
    # On a line of its own: the last one may end in a comment.
    return f"{_without_end(query)}\nORDER BY ALL"


def _without_end(query: str) -> str:
    """Return a query without the semicolons that end it, and what is noted behind them."""
    text = query.encode()
    for at, kind in reversed(duckdb.tokenize(query)):
        if text[at : at + 1] == b";":
            text = text[:at]
        elif kind != duckdb.token_type.comment:
            break
    return text.decode()


def _is_open(node: _Node) -> bool:
    """Return whether nothing says in which order the rows of a query come."""
    modifiers = {one["type"] for one in node["modifiers"]}
    if modifiers - {"DISTINCT_MODIFIER"}:
        return False
    if node["type"] != "SELECT_NODE":
        return True
    source = node["from_table"]
    own = {str(one["key"]) for one in node["cte_map"]["map"]}
    if source["type"] in _AS_THEY_STAND or _is_sorted([source, node["cte_map"]]):
        return False
    is_table = source["type"] == "BASE_TABLE" and source["table_name"] in _tables() - own
    grouped = node["group_expressions"] or node["aggregate_handling"] != "STANDARD_HANDLING"
    return bool(modifiers or grouped or not is_table)


def _tables() -> set[str]:
    """Return the views of tables: DuckDB keeps the order in which it reads their files."""
    return {view_name(table) for table in published().values()}


def _is_sorted(part: object) -> bool:
    """Return whether something that a query reads is in a named order already."""
    if isinstance(part, dict):
        return part.get("type") == _ORDER or any(map(_is_sorted, part.values()))
    return isinstance(part, list) and any(map(_is_sorted, part))
