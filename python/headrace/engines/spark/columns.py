"""The columns a read can give.

Spark prunes no columns of a Python source: what costs and what does not is
decided by the schema of the read, which may name any of these in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

COLUMNS = {
    "_file": ("string",),
    "_offset": ("bigint",),
    "_row": ("bigint",),
    "_raw": ("binary", "string"),
}
"""The Spark types each column can have, the one it has by default first."""

DEFAULT_SCHEMA = ", ".join(f"{name} {types[0]}" for name, types in COLUMNS.items())


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a read; `type` is Spark's name for its type."""

    name: str
    type: str
    nullable: bool


def checked(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Return `columns`, refusing those the source does not have."""
    columns = tuple(columns)
    if unknown := [column.name for column in columns if column.name not in COLUMNS]:
        raise UsageError(
            f"format headrace has no column {', '.join(unknown)}; "
            f"there are {DEFAULT_SCHEMA}"
        )
    for column in columns:
        if column.type not in COLUMNS[column.name]:
            raise UsageError(
                f"column {column.name} cannot be {column.type}; "
                f"it can be {' or '.join(COLUMNS[column.name])}"
            )
        if column.name == "_raw" and not column.nullable:
            raise UsageError(
                "column _raw cannot be NOT NULL: "
                "a line longer than maxLineBytes is delivered as null"
            )
    return columns
