"""Rows as typed columns in Arrow's layout, and which types rows need.

A *shape* is the type of a column, as JSON has it: a name (``"string"``) or a name with
what belongs to it (``{"decimal": [10, 2]}``, ``{"array": "date"}``, ``{"struct": [["id",
{"integer": 8}]]}``). The core's ``arrow/read/shape.rs`` lists them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from headrace import _native
from headrace.kernel.values import MAX_DEPTH

if TYPE_CHECKING:
    from headrace.kernel.programs import Program
    from headrace.kernel.rows import RowBatch

Shape: TypeAlias = str | dict[str, object]

Buffers: TypeAlias = tuple[int, bytes | None, list[bytes]]
"""Of one column: how many values, a bit for each that is not null, Arrow's other buffers."""


class Fault(NamedTuple):
    """A row that is no JSON, or a value in it that is not of the type of its column.

    `position` is the row's in its batch, `row` in the columns, None if it was left out;
    `offset` the byte of the source that is to blame.
    """

    position: int
    row: int | None
    offset: int
    is_json: bool
    reason: str


class Filled(NamedTuple):
    """The columns of a batch, each followed by those inside it.

    `positions` are the rows of the batch that they have, as 32-bit integers, None for all.
    """

    columns: list[Buffers]
    positions: bytes | None
    faults: list[Fault]


class ColumnBuilder:
    """Makes columns of batches; blank rows are left out.

    Only rows that match `keep` are taken, and of these the answers of `project`, if there
    are such programs. With `keep_faulty`, what is faulty is null, without, such rows are
    left out.
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

    def fill(self, batch: RowBatch) -> Filled:
        """Return the columns of the rows of `batch`."""
        columns, positions, faults = self._native.fill(batch)
        return Filled(columns, positions, [Fault(*fault) for fault in faults])


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
