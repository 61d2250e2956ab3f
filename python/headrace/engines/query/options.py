"""Options of a query: its output, its limits, and what a bad row does."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal, TypeAlias

from headrace.errors import BadRowError, MemoryWarning, RowFailedError
from headrace.record import field, record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.kernel.programs import Frame, Output

OnError: TypeAlias = Literal["abort", "skip", "collect"]
Shape: TypeAlias = Literal["lines", "array"]


@record
class BadRow:
    """A skipped row: its error and its bytes; None for bytes of a row that is too long."""

    error: BadRowError | RowFailedError
    raw: bytes | None


@record
class QueryOptions:
    """Options of a query.

    `shape` overrides the form of an answer about all rows: a line for each element, or one
    array. `size_hints` are numbers of rows of named sources. Without `lanes`, the core records
    whole rows, also where a query reads few fields. Without `index`, all rows are read. With
    several `threads`, shares of the rows are read at the same time; the answers are the same.
    `share_bytes` sets the size of shares [default: by the size of the files]. `analyze`: count
    the elements that come to each stage.
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
    threads: int = 1
    share_bytes: int | None = None
    analyze: bool = False


def warn_of_memory(message: str) -> None:
    """Report that a query holds most of its memory, as a Python warning."""
    warnings.warn(message, MemoryWarning, stacklevel=2)
