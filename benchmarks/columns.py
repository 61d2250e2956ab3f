"""Columns of the data sets, as DuckDB and Polars take them.

Both are faster when they need not infer the types, so every comparison names them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars

Type: TypeAlias = "str | list[Type] | Mapping[str, Type]"
"""int, float, bool, str, a list of one type, or the fields of a record."""

COLUMNS: Mapping[str, Mapping[str, Type]] = {
    "events": {
        "id": "int",
        "user": "str",
        "country": "str",
        "ms": "float",
        "trace": "int",
        "level": "str",
    },
    "narrow": {
        "id": "int",
        "ts": "int",
        "level": "str",
        "latency": "float",
        "user": "str",
        "msg": "str",
    },
    # Polars has no columns for whole rows of tweets: some have fields that others lack.
    "tweets": {"user": {"followers_count": "int"}},
    "users": {"user": "str", "seats": "int", "plan": "str", "city": "str"},
    "wide": {
        "id": "int",
        **{
            f"col_{column:02}": ("int", "float", "bool", "str", "str")[column % 5]
            for column in range(1, 50)
        },
    },
}


def duckdb_type(kind: Type) -> str:
    """Write a type as DuckDB does.

    >>> duckdb_type([{"price": "float"}])
    'STRUCT("price" DOUBLE)[]'
    """
    match kind:
        case str():
            names = {"int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN"}
            return names.get(kind, "VARCHAR")
        case list():
            return f"{duckdb_type(kind[0])}[]"
        case _:
            fields = (f'"{key}" {duckdb_type(of)}' for key, of in kind.items())
            return f"STRUCT({', '.join(fields)})"


def polars_type(kind: Type) -> polars.DataType:
    """Write a type as Polars does."""
    import polars as pl

    match kind:
        case str():
            names = {"int": pl.Int64(), "float": pl.Float64(), "bool": pl.Boolean()}
            return names.get(kind, pl.String())
        case list():
            return pl.List(polars_type(kind[0]))
        case _:
            return pl.Struct({key: polars_type(of) for key, of in kind.items()})
