"""Stages and merge joins behind a shuffle: a task puts its elements through them.

An element that comes out keeps the place of the element that went in. An element that fails
becomes a row with the reason and no line.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import JoinKeyTooLargeError
from headrace.kernel.programs import (
    JoinTable,
    Program,
    Sources,
    Stage,
    StreamQuery,
    Texts,
)
from headrace.kernel.rows import END, RowBatch
from headrace.kernel.sort_keys import KeyedElements, KeyedRows


def keyed_columns(task: int, before: int, keyed: KeyedElements) -> dict[str, pa.Array]:
    """Return the columns of a keyed frame; `before` elements of the task came earlier."""
    length = keyed.length
    return {
        "task": pa.repeat(pa.scalar(task, "int64"), length),
        "number": pa.array(range(before, before + length), "int64"),
        "key": texts(keyed.keys, length),
        "line": texts(keyed.lines, length),
    }


def integers(buffer: bytes, count: int) -> pa.Array:
    """Return 32-bit integers of the core as an Arrow array."""
    return pa.Array.from_buffers(pa.int32(), count, [None, pa.py_buffer(buffer)])


def texts(texts: Texts, count: int) -> pa.Array:
    """Return texts of the core as an Arrow array."""
    buffers = [None, pa.py_buffer(texts.ends), pa.py_buffer(texts.data)]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


_MADE = {
    "place": "int64",
    "line": "binary",
    "reason": "string",
    "column": "int64",
    "at": "int64",
}


def made_schema(columns: Sequence[str]) -> str:
    """Return the schema of `made_lines` in Spark SQL; `columns` are all numbers."""
    named = dict.fromkeys(columns, "int64") | _MADE
    spelled = (f"{name} {kind}" for name, kind in named.items())
    return ", ".join(spelled).replace("int64", "bigint")


def pass_stages(
    stages: tuple[bytes, ...],
    max_depth: int,
    known: tuple[str, ...] | None,
    columns: tuple[str, ...],
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Put the elements of a partition through stages, given by the codes of their programs.

    `columns` identify elements; `known` are the results of subqueries that programs read.
    """
    rows = KeyedRows(
        None,
        stages=each_stages(stages),
        max_depth=max_depth,
        sources=known_sources(known, max_depth),
    )
    for batch in batches:
        made = rows.of(RowBatch.of_contents(0, batch.column("line").to_pylist()))
        table = pa.Table.from_batches([batch]).select(columns)
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
    named = dict.fromkeys(elements.column_names, "int64") | _MADE
    return pa.record_batch(columns, schema=pa.schema(list(named.items())))


def _among_nulls(
    before: int, values: Sequence[object], kind: str, after: int
) -> pa.Array:
    """Return a column of values with nulls before and behind them."""
    nulls = pa.nulls(before, kind), pa.nulls(after, kind)
    return pa.concat_arrays([nulls[0], pa.array(values, kind), nulls[1]])


_BATCH_BYTES = 256 << 20
"""Bytes of right rows in one batch of the result, if each left row joins with all of them."""


@dataclass(frozen=True)
class JoinElements:
    """A task that joins rows of two keyed frames; the column `side` is 0 for right rows.

    Returns the lines of each left row, in the order of their `place`; for a row that cannot be
    joined, null and the `reason`. `key` and `right_key` are codes of programs, `known` the
    results of subqueries that they read. The right rows of one key may take `max_memory` bytes.
    `columns`, all numbers, identify left rows. Joined elements go through stages whose codes
    are `then`. With `marks`, a left row without lines has one that is null.

    The rows of both sides come sorted by key. Of one key, all right rows come before the left rows.
    So the right rows of a left row have come by then, and after a batch only the right rows of its
    last key are kept.
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
