"""Merge join in a task: the rows of both sides come sorted by key.

Of one key, all right rows come before the left rows. So the right rows of a left row have
come by then, and after a batch only the right rows of its last key are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from headrace.engines.spark.shuffle.key_columns import integers
from headrace.engines.spark.shuffle.stage_task import (
    each_stages,
    known_sources,
    made_lines,
    made_schema,
)
from headrace.engines.spark.tasks.task import Task
from headrace.errors import JoinKeyTooLargeError
from headrace.kernel.programs import Program, Stage, StreamQuery
from headrace.kernel.rows import END, RowBatch
from headrace.kernel.sort_keys import KeyedRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.kernel.programs import JoinTable, Sources

_BATCH_BYTES = 256 << 20
"""Bytes of right rows in one batch of the result, if each left row joins with all of them."""


@dataclass(frozen=True)
class JoinElements(Task):
    """Joins rows of two keyed frames; the column `side` is 0 for right rows.

    Returns the lines of each left row, in the order of their `place`; for a row that cannot be
    joined, null and the `reason`. `key` and `right_key` are codes of programs, `known` the
    results of subqueries that they read. The right rows of one key may take `max_memory` bytes.
    `columns`, all numbers, identify left rows. Joined elements go through stages whose codes
    are `then`. With `marks`, a left row without lines has one that is null.
    """

    kind: str
    key: bytes
    right_key: bytes
    name: str | None
    max_memory: int
    max_depth: int
    known: tuple[str, ...] | None = None
    columns: tuple[str, ...] = ("task", "number")
    then: tuple[bytes, ...] = ()
    marks: bool = False

    @property
    def schema(self) -> str:
        """The schema of the result, in Spark SQL."""
        return made_schema(self.columns)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Join the rows of a partition."""
        rights = pa.table(
            {"key": pa.array([], "binary"), "line": pa.array([], "binary")}
        )
        for batch in batches:
            is_right = pc.equal(batch.column("side"), 0)
            rows = pa.Table.from_batches([batch])
            new = rows.filter(is_right).select(["key", "line"])
            rights = pa.concat_tables([rights, new])
            lefts = rows.filter(pc.invert(is_right))
            if lefts.num_rows:
                table = self._table(rights["line"].to_pylist())
                step = max(_BATCH_BYTES // max(rights.nbytes, 1), 1)
                for start in range(0, lefts.num_rows, step):
                    yield self._joined(lefts.slice(start, step), table)
            rights = self._still_needed(rights, batch)

    def _still_needed(self, rights: pa.Table, batch: pa.RecordBatch) -> pa.Table:
        """Return the right rows that the next batch may need: those of the last key."""
        if not batch.num_rows:
            return rights
        last = batch.column("key")[-1]
        rights = rights.filter(pc.equal(rights["key"], last)).combine_chunks()
        if self.kind not in ("join", "left_join"):
            return rights.slice(0, 1)
        if rights.nbytes > self.max_memory:
            program = Program("", self.right_key)
            line = rights["line"][0].as_py()
            key = program.evaluate(line, self.max_depth, self._sources())
            raise JoinKeyTooLargeError(key.decode(), self.max_memory)
        return rights

    def _table(self, lines: Sequence[bytes]) -> JoinTable:
        filling = StreamQuery(
            [Stage.table(self.kind, self.right_key, None)],
            reduction="count",
            limit=None,
            nulls=True,
            max_memory=END,
            held_before=0,
            max_depth=self.max_depth,
            sources=self._sources(),
        )
        filling.answer(RowBatch.of_contents(0, list(lines)), 0)
        return filling.table()

    def _joined(self, lefts: pa.Table, table: JoinTable) -> pa.RecordBatch:
        rows = KeyedRows(
            None,
            stages=[
                Stage.join(self.kind, self.key, table, self.name),
                *each_stages(self.then),
            ],
            max_depth=self.max_depth,
            sources=self._sources(),
        )
        lines = lefts["line"].to_pylist()
        joined = rows.of(RowBatch.of_contents(0, lines))
        marked: list[int] = []
        if self.marks:
            found = set(integers(joined.positions, joined.length).to_pylist())
            found.update(refused.row for refused in joined.refused)
            marked = [row for row in range(len(lines)) if row not in found]
        return made_lines(lefts.select(self.columns), joined, marked)

    def _sources(self) -> Sources | None:
        return known_sources(self.known, self.max_depth)
