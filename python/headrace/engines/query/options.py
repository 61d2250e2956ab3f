"""How a query runs: what its rows are asked for, and what becomes of bad ones."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from headrace.errors import BadRowError, MemoryWarning, RowFailedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.kernel.programs import Frame, Output

OnError: TypeAlias = Literal["abort", "skip", "collect"]
Shape: TypeAlias = Literal["lines", "array"]


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that was passed over, and its bytes, None if it is too long to be read."""

    error: BadRowError | RowFailedError
    raw: bytes | None


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """How a query runs.

    `shape`: whether the answer about all rows is a line for each element or one array,
    whatever the query itself gives. `size_hints` are rows of named sources, for who knows them. Without `lanes`, rows
    are recorded as a whole, whatever is read of them. Without `index`, all rows are read,
    whatever key indexes there are.
    """

    output: Output = "answer"
    nulls: bool = False
    on_error: OnError = "abort"
    limit: int | None = None
    max_depth: int = 256
    max_memory: int = 1 << 30
    reverse: bool = False
    frame: Frame | None = None
    size_hints: Mapping[str, int] = field(default_factory=dict)
    lanes: bool = True
    index: bool = True
    shape: Shape | None = None


def warn_of_memory(message: str) -> None:
    """Say that a query holds most of what it may, as a Python warning."""
    warnings.warn(message, MemoryWarning, stacklevel=2)
