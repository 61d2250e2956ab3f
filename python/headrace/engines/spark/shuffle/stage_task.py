"""Stages behind a shuffle: a task puts its elements through them.

An element that comes out keeps the place of the element that went in. An element that fails
becomes a row with the reason and no line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.engines.spark.shuffle.key_columns import integers, texts
from headrace.engines.spark.tasks.task import Task
from headrace.kernel.programs import Sources, Stage
from headrace.kernel.rows import RowBatch
from headrace.kernel.sort_keys import KeyedRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.kernel.sort_keys import KeyedElements

_MADE = {
    "place": "bigint",
    "line": "binary",
    "reason": "string",
    "column": "bigint",
    "at": "bigint",
}
_ARROW_MADE = [
    ("place", "int64"),
    ("line", "binary"),
    ("reason", "string"),
    ("column", "int64"),
    ("at", "int64"),
]


def made_schema(columns: Sequence[str]) -> str:
    """Return the schema of `made_lines` in Spark SQL; `columns` are all numbers."""
    named = dict.fromkeys(columns, "bigint") | _MADE
    return ", ".join(f"{name} {kind}" for name, kind in named.items())


@dataclass(frozen=True)
class PassStages(Task):
    """Puts elements through stages, given by the codes of their programs.

    `columns` identify elements; `known` are the results of subqueries that programs read.
    """

    stages: tuple[bytes, ...]
    max_depth: int
    known: tuple[str, ...] | None
    columns: tuple[str, ...]

    @property
    def schema(self) -> str:
        """The schema of the result, in Spark SQL."""
        return made_schema(self.columns)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Put the elements of a partition through the stages."""
        rows = KeyedRows(
            None,
            stages=each_stages(self.stages),
            max_depth=self.max_depth,
            sources=known_sources(self.known, self.max_depth),
        )
        for batch in batches:
            made = rows.of(RowBatch.of_contents(0, batch.column("line").to_pylist()))
            table = pa.Table.from_batches([batch]).select(self.columns)
            yield made_lines(table, made)


def each_stages(codes: Sequence[bytes]) -> list[Stage]:
    """Return stages that are local to an element."""
    return [Stage.plain("each", code, 0) for code in codes]


def known_sources(known: tuple[str, ...] | None, max_depth: int) -> Sources | None:
    """Return the results of subqueries, which programs read by number."""
    # An array of rows is one level deeper than they are.
    return None if known is None else Sources(list(known), max_depth + 1)


def made_lines(
    elements: pa.Table, made: KeyedElements, marked: Sequence[int] = ()
) -> pa.RecordBatch:
    """Return made elements with the columns of their origin; `marked` ones have a null line."""
    refused = made.refused
    positions = pa.concat_arrays(
        [
            integers(made.positions, made.length),
            pa.array([each.row for each in refused], "int32"),
            pa.array(marked, "int32"),
        ]
    )
    fine, without = made.length, len(refused) + len(marked)
    columns = [
        *(column.combine_chunks() for column in elements.take(positions).columns),
        pa.array(range(len(positions)), "int64"),
        pa.concat_arrays([texts(made.lines, fine), pa.nulls(without, "binary")]),
        _among_nulls(fine, [each.reason for each in refused], "string", len(marked)),
        _among_nulls(fine, [each.column for each in refused], "int64", len(marked)),
        _among_nulls(fine, [each.offset for each in refused], "int64", len(marked)),
    ]
    names = [(name, pa.int64()) for name in elements.column_names]
    return pa.record_batch(columns, schema=pa.schema([*names, *_ARROW_MADE]))


def _among_nulls(
    before: int, values: Sequence[object], kind: str, after: int
) -> pa.Array:
    """Return a column of values with nulls before and behind them."""
    nulls = pa.nulls(before, kind), pa.nulls(after, kind)
    return pa.concat_arrays([nulls[0], pa.array(values, kind), nulls[1]])
