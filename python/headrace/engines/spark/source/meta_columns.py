"""Metadata columns of a read: the place of a row, its line, and its error.

Spark prunes no columns of a Python source: the schema of the read decides which
columns are computed, and may name any of these in any order.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from headrace.errors import UsageError

COLUMNS = {
    "_file": ("string",),
    "_offset": ("bigint",),
    "_row": ("bigint",),
    "_raw": ("binary", "string"),
    "_line": ("bigint",),
    "_error": ("string",),
}
"""The Spark types of each column, the default first."""

RAW = ("_file", "_offset", "_row", "_raw")
"""The columns of a read without a schema."""

NUMBERED = ("_row", "_line")
"""The columns that need row numbers."""

_NULLABLE = ("_raw", "_error")

_OF_LINES = frozenset(COLUMNS) - {"_error"}

DEFAULT_SCHEMA = ", ".join(f"{name} {COLUMNS[name][0]}" for name in RAW)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a read; `type` is Spark's name for its type."""

    name: str
    type: str
    nullable: bool


def of_lines(names: Iterable[str]) -> bool:
    """Report whether no column needs the content of a line to be parsed."""
    return _OF_LINES.issuperset(names)


def checked(columns: Iterable[Column], corrupt: str) -> tuple[Column, ...]:
    """Return the metadata columns among `columns`, refusing wrong types.

    `corrupt` is the name of the column for the lines of faulty rows.
    """
    types = COLUMNS | {corrupt: ("string", "binary")}
    ours = tuple(column for column in columns if column.name in types)
    for column in ours:
        if column.type not in types[column.name]:
            raise UsageError(
                f"column {column.name} cannot be {column.type}; "
                f"it can be {' or '.join(types[column.name])}"
            )
        if column.name in (*_NULLABLE, corrupt) and not column.nullable:
            raise UsageError(f"column {column.name} cannot be NOT NULL: {_why(column)}")
    return ours


def _why(column: Column) -> str:
    if column.name == "_raw":
        return "a line longer than maxLineBytes is delivered as null"
    return "it is null for rows that are good"
