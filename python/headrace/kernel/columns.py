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
from headrace.kernel.values import MAX_DEPTH

if TYPE_CHECKING:
    from headrace.kernel.programs import Program
    from headrace.kernel.rows import RowBatch

__all__ = [
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


class Mixed(NamedTuple):
    """A place of the rows where values of several kinds stand."""

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
        shape, mixed = self._native.shape()
        fields = [(name, field) for name, field in json.loads(shape)["struct"]]
        return fields, [Mixed(*place) for place in mixed]

    @property
    def faulty(self) -> int:
        """How many rows were bad, too long, or no objects."""
        return self._native.counts[1]
