"""Answers as Arrow: a typed column for each field.

The types are those of the first answers, or of all where all are held. A column whose
values have no type in common, or are all null so far, is JSON text. An answer that
does not fit any more is an error: nothing is ever dropped or rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING

from headrace.api.formats.first_rows import LateColumnError, take
from headrace.api.formats.shapes import (
    ListOf,
    Mixed,
    Scalar,
    Shape,
    Struct,
    fits,
    merged,
    settled,
    shape_of,
)
from headrace.errors import HeadraceError, MissingExtraError
from headrace.kernel.cells import VALUE, cells, values

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as error:
    raise MissingExtraError("arrow", "pyarrow") from error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headrace.api.formats.registry import Layout

__all__ = ["as_reader", "as_table", "batches", "pa", "pq"]

BATCH_ROWS = 1 << 16
BATCH_BYTES = 4 << 20
"""JSON of the answers that make a batch."""

FIRST_BATCHES = 4
"""Batches that the types are taken from."""

MOST_COLUMNS = 5000

JSON = {"headrace": "json"}
"""The metadata of a column of JSON text."""

_SCALARS = {
    Scalar.NULL: pa.null(),
    Scalar.BOOL: pa.bool_(),
    Scalar.WIDE: pa.int64(),
    Scalar.FLOAT: pa.float64(),
    Scalar.TEXT: pa.string(),
}


class MisfitError(HeadraceError):
    """An answer has a value that its column cannot hold."""

    WHAT = (
        "answer {answer} does not fit the column {column!r}, whose type is that of the "
        "first answers: {reason}"
    )
    ADVICE = "make the column text in the query, with .to_json()"

    answer: int
    column: str
    reason: str


class TooManyColumnsError(HeadraceError):
    """The answers are dictionaries rather than records."""

    WHAT = f"the first answers have {{count}} columns, over the limit of {MOST_COLUMNS}"
    ADVICE = "name the columns in the query, as in {{id, name, size}}"

    count: int


def batches(
    answers: Iterator[bytes], layout: Layout
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Return the schema, and the answers some megabytes at a time."""
    groups = _groups(answers)
    first = list(islice(groups, FIRST_BATCHES))
    further = list(islice(groups, 1))
    columns = _Columns.of(first, layout, whole=not further)
    return columns.schema, columns.batches(chain(first, further, groups))


def as_reader(answers: Iterator[bytes], layout: Layout) -> pa.RecordBatchReader:
    """Return the answers as a stream."""
    return pa.RecordBatchReader.from_batches(*batches(answers, layout))


def as_table(answers: Iterator[bytes], layout: Layout) -> pa.Table:
    """Return all answers."""
    groups = list(_groups(answers))
    columns = _Columns.of(groups, layout, whole=True)
    return pa.Table.from_batches(columns.batches(groups), columns.schema)


def _groups(answers: Iterator[bytes]) -> Iterator[bytes]:
    while True:
        group, answers = take(answers, BATCH_ROWS, BATCH_BYTES)
        if not group:
            return
        yield group


def _records(lines: bytes) -> list[dict[str, object]]:
    return [_record(answer) for answer in values(lines)]


def _record(answer: object) -> dict[str, object]:
    if isinstance(answer, dict):
        return answer
    return {} if answer is None else {VALUE: answer}


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns with their shapes, `Mixed` for those that are JSON text."""

    shapes: dict[str, Shape]

    @classmethod
    def of(cls, groups: Iterable[bytes], layout: Layout, *, whole: bool) -> _Columns:
        """Find the columns of `groups`; `whole`: there are no other answers."""
        found: dict[str, Shape] = dict.fromkeys(layout.columns or (), Scalar.NULL)
        some = False
        for group in groups:
            some = True
            gathered: dict[str, list[object]] = {}
            for record in _records(group):
                for name, value in record.items():
                    gathered.setdefault(name, []).append(value)
            for name, each in gathered.items():
                before = found.get(name, Scalar.NULL)
                found[name] = merged(before, shape_of(each, name), name)
            if len(found) > MOST_COLUMNS:
                raise TooManyColumnsError(len(found))
        if some and not found:
            found[VALUE] = Scalar.NULL
        return cls(
            {
                name: _column_shape(name, shape, layout, whole=whole)
                for name, shape in found.items()
            }
        )

    @property
    def schema(self) -> pa.Schema:
        """The columns for Arrow."""
        return pa.schema(
            [
                pa.field(name, _type(shape), metadata=JSON if _is_text(shape) else None)
                for name, shape in self.shapes.items()
            ]
        )

    def batches(self, groups: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
        """Convert group after group."""
        count = 0
        for group in groups:
            records = _records(group)
            self._check_names(records, count)
            texts = self._texts(group)
            arrays = [
                pa.array(texts[name], pa.string())
                if name in texts
                else self._array(name, [each.get(name) for each in records], count)
                for name in self.shapes
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)
            count += len(records)

    def _check_names(self, records: Sequence[dict[str, object]], count: int) -> None:
        known = self.shapes.keys()
        for position, record in enumerate(records):
            if not record.keys() <= known:
                name = next(name for name in record if name not in known)
                raise LateColumnError(count + position + 1, name, tuple(known))

    def _texts(self, group: bytes) -> dict[str, list[str | None]]:
        names = [name for name, shape in self.shapes.items() if _is_text(shape)]
        if not names:
            return {}
        rows, _strangers = cells(group, names, json=True)
        return {name: [row[at] for row in rows] for at, name in enumerate(names)}

    def _array(self, name: str, column: list[object], count: int) -> pa.Array:
        shape = self.shapes[name]
        if not fits(shape_of(column, name), shape, name):
            for position, value in enumerate(column):
                found = merged(shape, shape_of([value], name), name)
                if found != shape:
                    reason = str(found) if isinstance(found, Mixed) else "new fields"
                    raise MisfitError(count + position + 1, name, reason)
        return pa.array(column, _type(shape))


def _is_text(shape: Shape) -> bool:
    return isinstance(shape, Mixed)


def _column_shape(name: str, shape: Shape, layout: Layout, *, whole: bool) -> Shape:
    column = settled(shape, name)
    if column == Scalar.NULL:
        column = Mixed(f"{name} is null in all of the first answers")
        if whole:
            # Nobody needs to know how nulls would be written otherwise.
            return column
    if isinstance(column, Mixed):
        layout.note(f"the column {name!r} is written as JSON text: {column}")
    return column


def _type(shape: Shape) -> pa.DataType:
    match shape:
        case ListOf(item):
            return pa.list_(_type(item))
        case Struct(fields):
            return pa.struct([(name, _type(field)) for name, field in fields.items()])
        case Mixed():
            return pa.string()
        case _:
            return _SCALARS[shape]
