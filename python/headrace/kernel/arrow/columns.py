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


class ColumnBuilder(_native.ColumnBuilder):
    """Makes columns of batches, without their blank rows.

    `keep` filters the rows, `project` maps them. With `keep_faulty`, a faulty value is null;
    without, its row is left out.
    """

    def __new__(  # noqa: D102
        cls,
        shape: Shape,
        *,
        keep_faulty: bool,
        keep: Program | None = None,
        project: Program | None = None,
    ) -> ColumnBuilder:
        return super().__new__(
            cls,
            json.dumps(shape),
            max_depth=MAX_DEPTH,
            keep_faulty=keep_faulty,
            keep=keep,
            project=project,
        )


class AnswerColumns(_native.AnswerColumns):
    """Makes columns of answers, up to one that does not fit; the first is that of the answers."""

    def __new__(cls, shape: Shape) -> AnswerColumns:  # noqa: D102
        return super().__new__(cls, json.dumps(shape), DEEPEST)


class AnswerInference(_native.Inference):
    """Looks at answers to find out which columns fit all of them; `expected` come first."""

    def __new__(cls, expected: Sequence[str] = ()) -> AnswerInference:  # noqa: D102
        return super().__new__(cls, DEEPEST, expected)

    def columns(
        self, *, may_follow: bool
    ) -> tuple[list[tuple[str, Shape]], list[Mixed]]:
        """Return the columns, in the order they were met, and those that are JSON text.

        If answers may follow, a field that was always null or empty can still get any type.
        """
        return _fields(self.shape(may_follow=may_follow))


class Mixed(NamedTuple):
    """A place of the rows that no type but text or VARIANT fits, and why."""

    path: str
    kinds: str


class Inference(_native.Inference):
    """Looks at rows to find out which columns they need."""

    def __new__(cls) -> Inference:  # noqa: D102
        return super().__new__(cls, MAX_DEPTH)

    def fields(self) -> tuple[list[tuple[str, Shape]], list[Mixed]]:
        """Return the fields of the rows, in the order they were met, and what is mixed."""
        return _fields(self.shape())

    @property
    def faulty(self) -> int:
        """How many rows were bad, too long, or no objects."""
        return self.counts[1]


def _fields(
    found: tuple[str, list[tuple[str, str]]],
) -> tuple[list[tuple[str, Shape]], list[Mixed]]:
    shape, mixed = found
    fields = [(name, field) for name, field in json.loads(shape)["struct"]]
    return fields, [Mixed(*place) for place in mixed]
