"""Rows as typed columns in Arrow's layout, and which types rows need.

A *shape* is the type of a column, as JSON has it: a name (``"string"``) or a name with
what belongs to it (``{"decimal": [10, 2]}``, ``{"array": "date"}``, ``{"struct": [["id",
{"integer": 8}]]}``). The core's ``arrow/read/shape.rs`` lists them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from headrace import _native
from headrace._native import ColumnBuffers, ColumnFault, FilledColumns
from headrace.kernel.values import DEEPEST, MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.kernel.programs import Program
    from headrace.kernel.rows import RowBatch

__all__ = [
    "AnswerColumns",
    "AnswerInference",
    "ColumnBuffers",
    "ColumnBuilder",
    "ColumnFault",
    "FilledColumns",
    "Inference",
    "Mixed",
    "Shape",
]

Shape: TypeAlias = str | dict[str, object]


class ColumnBuilder:
    """Makes columns of batches, without their blank rows.

    `keep` filters the rows, `project` maps them. With `keep_faulty`, a faulty value is null;
    without, its row is left out.
    """

    def __init__(
        self,
        shape: Shape,
        *,
        keep_faulty: bool,
        keep: Program | None = None,
        project: Program | None = None,
    ) -> None:
        self._native = _native.ColumnBuilder(
            json.dumps(shape),
            max_depth=MAX_DEPTH,
            keep_faulty=keep_faulty,
            keep=None if keep is None else keep.native,
            project=None if project is None else project.native,
        )

    def fill(self, batch: RowBatch) -> FilledColumns:
        """Return the columns of the rows of `batch`."""
        return self._native.fill(batch)


class AnswerColumns:
    """Makes columns of answers, up to one that does not fit."""

    def __init__(self, shape: Shape) -> None:
        self._native = _native.AnswerColumns(json.dumps(shape), DEEPEST)

    def fill(self, lines: bytes) -> FilledColumns:
        """Return the columns of lines of JSON; the first is that of the answers themselves."""
        return self._native.fill(lines)


class AnswerInference:
    """Looks at answers to find out which columns fit all of them; `expected` come first."""

    def __init__(self, expected: Sequence[str] = ()) -> None:
        self._native = _native.Inference.of_answers(DEEPEST, expected)

    def add(self, lines: bytes, first: int) -> None:
        """Look at lines of JSON; `first` is the number of the first answer."""
        self._native.add_lines(lines, first)

    @property
    def width(self) -> int:
        """How many columns there are."""
        return self._native.fields

    def columns(
        self, *, may_follow: bool
    ) -> tuple[list[tuple[str, Shape]], list[Mixed]]:
        """Return the columns, in the order they were met, and those that are JSON text.

        If answers may follow, a field that was always null or empty can still get any type.
        """
        return _fields(self._native.shape(may_follow=may_follow))


class Mixed(NamedTuple):
    """A place of the rows that no type but text or VARIANT fits, and why."""

    path: str
    kinds: str


class Inference:
    """Looks at rows to find out which columns they need."""

    def __init__(self) -> None:
        self._native = _native.Inference(MAX_DEPTH)

    def add(self, batch: RowBatch) -> None:
        """Look at the rows of a batch."""
        self._native.add(batch)

    def merge(self, other: Inference) -> None:
        """Add what `other` has seen of rows behind these."""
        self._native.merge(other._native)

    def fields(self) -> tuple[list[tuple[str, Shape]], list[Mixed]]:
        """Return the fields of the rows, in the order they were met, and what is mixed."""
        return _fields(self._native.shape())

    @property
    def faulty(self) -> int:
        """How many rows were bad, too long, or no objects."""
        return self._native.counts[1]


def _fields(
    found: tuple[str, list[tuple[str, str]]],
) -> tuple[list[tuple[str, Shape]], list[Mixed]]:
    shape, mixed = found
    fields = [(name, field) for name, field in json.loads(shape)["struct"]]
    return fields, [Mixed(*place) for place in mixed]
