"""Answers as Arrow: a typed column for each field, filled by the core.

The types are those of a given schema, or they fit all answers. Nothing is dropped or rounded:
a column whose values have no type in common is JSON text, and an answer that does not fit a
given schema is an error.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from headrace.errors import HeadraceError, MissingExtraError, SpoolError
from headrace.kernel.arrow.columns import AnswerColumns, AnswerInference
from headrace.kernel.cells import VALUE

if TYPE_CHECKING:
    from typing import IO


try:
    import pyarrow as pa

    from headrace.kernel.arrow.types import arrays, field_of, first_null, struct_shape
except ImportError as error:
    raise MissingExtraError("arrow", "pyarrow") from error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.api.formats import Layout
    from headrace.kernel.arrow.columns import FilledColumns, Shape

__all__ = ["as_reader", "as_table", "batches", "pa"]

BATCH_BYTES = 4 << 20
"""JSON of the answers that make a batch."""

KEPT_BYTES = 64 << 20
"""Of a stream: the lines, and the columns of first batches, that are kept in memory."""

MOST_COLUMNS = 5000


class MisfitError(HeadraceError):
    """An answer has a value that the given schema has no place for."""

    WHAT = "answer {answer} does not fit the schema: {reason}"
    ADVICE = "change the schema, or the answer in the query"

    answer: int
    reason: str


class TooManyColumnsError(HeadraceError):
    """The answers are dictionaries rather than records."""

    WHAT = f"the answers have {{count}} columns, over the limit of {MOST_COLUMNS}"
    ADVICE = "name the columns in the query, as in {{id, name, size}}"

    count: int


def as_reader(answers: Iterator[bytes], layout: Layout) -> pa.RecordBatchReader:
    """Return the answers as a stream."""
    return pa.RecordBatchReader.from_batches(*batches(answers, layout))


def as_table(answers: Iterator[bytes], layout: Layout) -> pa.Table:
    """Return all answers."""
    schema, found = batches(answers, layout, kept_bytes=None)
    return pa.Table.from_batches(found, schema)


def batches(
    answers: Iterator[bytes], layout: Layout, *, kept_bytes: int | None = KEPT_BYTES
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Return the schema, and the answers some megabytes at a time.

    Without a given schema, all answers are read first. Of their lines and of their columns,
    `kept_bytes` each are kept in memory [None: all].
    """
    groups = _groups(answers)
    if layout.schema is not None:
        return layout.schema, _of_given_types(groups, layout.schema)
    return _of_inferred_types(groups, layout, kept_bytes)


def _groups(answers: Iterator[bytes]) -> Iterator[bytes]:
    """Yield whole lines, as many at a time, however many come at a time."""
    held: list[bytes] = []
    size = 0
    for piece in answers:
        held.append(piece)
        size += len(piece)
        if size < BATCH_BYTES:
            continue
        lines = b"".join(held)
        start = 0
        while size - start >= BATCH_BYTES:
            # The answers end with a newline.
            end = lines.index(b"\n", start + BATCH_BYTES - 1) + 1
            yield lines[start:end]
            start = end
        held, size = [lines[start:]], size - start
    if size:
        yield b"".join(held)


def _of_given_types(
    groups: Iterator[bytes], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    builder = AnswerColumns(struct_shape(schema))
    count = 0
    for group in groups:
        filled = builder.fill(group)
        _refuse_faults(filled, count)
        columns = arrays(schema.types, filled.columns[1:])
        for field, column in zip(schema, columns, strict=True):
            missing = first_null(column, field, field.name)
            if missing is not None:
                row, path = missing
                reason = f"column {path} is not nullable, and there is no value"
                raise MisfitError(count + row + 1, reason)
        yield pa.RecordBatch.from_arrays(columns, schema=schema)
        count += filled.columns[0].length


def _refuse_faults(filled: FilledColumns, count: int) -> None:
    if filled.faults:
        fault = filled.faults[0]
        raise MisfitError(count + fault.position + 1, fault.reason)


@dataclass(frozen=True, slots=True)
class _Batch:
    """Answers as columns that were filled before all types were known."""

    length: int
    columns: dict[str, tuple[pa.Field, pa.Array]]

    @classmethod
    def of(cls, filled: FilledColumns, fields: list[pa.Field]) -> _Batch:
        found = arrays([field.type for field in fields], filled.columns[1:])
        pairs = zip(fields, found, strict=True)
        columns = {field.name: (field, column) for field, column in pairs}
        return cls(filled.columns[0].length, columns)

    @property
    def size(self) -> int:
        return sum(column.nbytes for _field, column in self.columns.values())

    def under(self, schema: pa.Schema) -> pa.RecordBatch | None:
        """Return the columns of `schema`; None if there are values in one of another type."""
        found = []
        for field in schema:
            before, column = self.columns.get(field.name, (None, None))
            if before is None or pa.types.is_null(before.type):
                column = pa.nulls(self.length, field.type)
            elif not before.equals(field, check_metadata=True):
                return None
            found.append(column)
        return pa.RecordBatch.from_arrays(found, schema=schema)


def _of_inferred_types(
    groups: Iterator[bytes], layout: Layout, kept_bytes: int | None
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Return types that fit all answers, and the answers.

    The first batch gives the types that the others are filled with, up to a batch that does not
    fit: the types are changed to those that fit all batches so far. At the end, the batches of
    other types are filled again.
    """
    inference = AnswerInference(layout.columns or ())
    spooled = SpooledLines(kept_bytes)
    kept: list[_Batch | None] = []
    builder: AnswerColumns | None = None
    fields: list[pa.Field] = []
    count = size = 0
    for group in groups:
        filled = None if builder is None else builder.fill(group)
        if builder is None or filled is None or filled.faults:
            inference.add_lines(group, count)
            if inference.width > MOST_COLUMNS:
                raise TooManyColumnsError(inference.width)
            found, _mixed = inference.columns(may_follow=True)
            fields = [field_of(name, shape) for name, shape in found]
            builder = AnswerColumns(_rows(found))
            filled = builder.fill(group)
            _refuse_faults(filled, count)
        batch = _Batch.of(filled, fields)
        count += batch.length
        size += batch.size
        spooled.add(group)
        kept.append(batch if kept_bytes is None or size <= kept_bytes else None)
    found, mixed = inference.columns(may_follow=False)
    for name, why in mixed:
        layout.note(f"the column {name!r} is written as JSON text: {why}")
    if count and not found:
        found = [(VALUE, "null")]
    # Nulls of no known type are text, as any value could be.
    shapes = [(name, "json" if of == "null" else of) for name, of in found]
    schema = pa.schema([field_of(name, shape) for name, shape in shapes])
    return schema, _finished(kept, spooled, _rows(shapes), schema)


def _rows(fields: list[tuple[str, Shape]]) -> Shape:
    return {"struct": [[name, shape] for name, shape in fields]}


def _finished(
    kept: list[_Batch | None], spooled: SpooledLines, shape: Shape, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    builder = AnswerColumns(shape)
    count = 0
    for number, batch in enumerate(kept):
        made = None if batch is None else batch.under(schema)
        if made is None:
            filled = builder.fill(spooled.read(number))
            _refuse_faults(filled, count)
            columns = arrays(schema.types, filled.columns[1:])
            made = pa.RecordBatch.from_arrays(columns, schema=schema)
        kept[number] = None
        spooled.drop(number)
        count += made.num_rows
        yield made


class _Place(NamedTuple):
    """Where a group is in the file."""

    offset: int
    size: int


class SpooledLines:
    """Groups of lines, of which `most` bytes are in memory [None: all]."""

    def __init__(self, most: int | None) -> None:
        self._left = most
        self._groups: list[bytes | _Place | None] = []
        self._file: IO[bytes] | None = None
        self._end = 0

    def add(self, group: bytes) -> None:
        """Keep a group."""
        if self._left is None or len(group) <= self._left:
            if self._left is not None:
                self._left -= len(group)
            self._groups.append(group)
            return
        # Groups behind one in the file go there too.
        self._left = 0
        directory = os.environ.get("HEADRACE_SPOOL_DIR") or tempfile.gettempdir()
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=directory, buffering=0)  # noqa: SIM115
                # Who reads the groups may stop anywhere.
                weakref.finalize(self, self._file.close)
            self._write(group)
        except OSError as error:
            raise SpoolError(directory, error.strerror or str(error)) from error
        self._groups.append(_Place(self._end, len(group)))
        self._end += len(group)

    def _write(self, group: bytes) -> None:
        assert self._file is not None
        rest = memoryview(group)
        while rest:
            rest = rest[self._file.write(rest) :]

    def read(self, number: int) -> bytes:
        """Return a group that was not dropped."""
        group = self._groups[number]
        if isinstance(group, bytes):
            return group
        if group is None or self._file is None:
            raise AssertionError("the group was dropped")
        self._file.seek(group.offset)
        content = self._file.read(group.size)
        if len(content) < group.size:
            raise AssertionError("no other process can shorten a nameless file")
        return content

    def drop(self, number: int) -> None:
        """Free the memory of a group."""
        self._groups[number] = None
