"""A fragment's rows as typed Arrow batches, with the error of each faulty row.

A row is *faulty* if it is not JSON, over a limit, or has a value that is not of the type of
its column. `ReadOptions.mode` decides what to do with it. The number of rows does not
depend on the columns that are read: each row is checked in full. This runs in every task.
"""

from __future__ import annotations

import struct
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast
from uuid import uuid4

import pyarrow as pa

from headrace.engines.rows import rejected
from headrace.engines.spark.source.line_batches import (
    column_of_lines,
    legible,
    lines,
    rows_before,
    wanted_rows,
)
from headrace.engines.spark.source.meta_columns import COLUMNS
from headrace.errors import FaultyRowError, UsageError
from headrace.kernel.arrow.columns import ColumnBuilder
from headrace.kernel.arrow.types import (
    arrays,
    first_null,
    is_variant,
    shape_of,
    struct_shape,
)
from headrace.physical.query_plan import row_program
from headrace.store.files import system
from headrace.store.files.atomic import NewFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from headrace.engines.spark.source.meta_columns import Column
    from headrace.engines.spark.source.options import ReadOptions
    from headrace.kernel.arrow.columns import ColumnFault, FilledColumns, Shape
    from headrace.kernel.rows import RowBatch
    from headrace.physical.fragment import Fragment


@dataclass(frozen=True, slots=True)
class Records:
    """The columns of a read: fields of the rows, and metadata columns `ours`; `schema` orders them."""

    schema: pa.Schema
    ours: tuple[Column, ...]
    shape: Shape

    of_fields: bool
    """Whether columns are fields of rows; otherwise one VARIANT column contains the row."""

    @property
    def types(self) -> list[pa.DataType]:
        """The types of the fields."""
        names = {column.name for column in self.ours}
        return [field.type for field in self.schema if field.name not in names]

    def has(self, name: str) -> bool:
        """Report whether the schema has the metadata column `name`."""
        return any(column.name == name for column in self.ours)


def records(
    schema: pa.Schema, ours: tuple[Column, ...], variant: str | None, zone: str
) -> Records:
    """Plan the columns of a read; refuse types that JSON values cannot have.

    `variant` is the one column that contains the whole row, or None. Timestamps without
    an offset are in `zone`.
    """
    names = {column.name for column in ours}
    fields = [field for field in schema if field.name not in names]
    if variant is None:
        plain = struct_shape(fields)
        shape = in_zone(plain, zone)
        if shape != plain:
            _refuse_unknown(zone)
        return Records(schema, ours, shape, of_fields=True)
    if [field.name for field in fields] != [variant] or not is_variant(fields[0].type):
        raise UsageError(
            f"with singleVariantColumn {variant} the schema has the column `{variant}` "
            f"VARIANT, and besides it only {', '.join(COLUMNS)}"
        )
    return Records(schema, ours, shape_of(fields[0].type, variant), of_fields=False)


def in_zone(shape: Shape, zone: str) -> Shape:
    """Return a shape in which timestamps without an offset are in a zone.

    >>> in_zone({"array": "timestamp"}, "Europe/Berlin")
    {'array': {'timestamp_in': 'Europe/Berlin'}}
    """
    match shape:
        case "timestamp" if zone != "UTC":
            return {"timestamp_in": zone}
        case {"struct": fields}:
            pairs = cast("list[tuple[str, Shape]]", fields)
            return {"struct": [[name, in_zone(of, zone)] for name, of in pairs]}
        case {"array": of}:
            return {"array": in_zone(cast("Shape", of), zone)}
        case {"map": of}:
            return {"map": in_zone(cast("Shape", of), zone)}
        case _:
            return shape


def _refuse_unknown(zone: str) -> None:
    try:
        ColumnBuilder({"timestamp_in": zone}, keep_faulty=True)
    except ValueError as error:
        raise UsageError(
            f"timestamps without an offset: {error}; set option timeZone to a name such as "
            "Europe/Berlin, or to +02:00"
        ) from error


class FragmentReader:
    """Reads fragments, one after the other, into batches of one schema."""

    def __init__(
        self, columns: Records, options: ReadOptions, quarantine: Quarantine | None
    ) -> None:
        self._columns = columns
        self._options = options
        self._quarantine = quarantine
        permissive = options.mode == "PERMISSIVE" and quarantine is None
        self._builder = ColumnBuilder(
            columns.shape,
            keep_faulty=permissive,
            keep=None if options.where is None else row_program(options.where),
            project=None if options.query is None else row_program(options.query),
        )
        has_error = columns.has("_error") or columns.has(options.corrupt)
        self._warns = permissive and not has_error

    def read(self, fragment: Fragment) -> Iterator[pa.RecordBatch]:
        """Read the rows that begin in `fragment`."""
        for batch in wanted_rows(fragment, self._options):
            filled = self._builder.fill(batch)
            if filled.faults:
                self._report(batch, fragment, filled.faults)
            yield self._arrow(batch, fragment, filled)

    def _report(
        self, batch: RowBatch, fragment: Fragment, faults: list[ColumnFault]
    ) -> None:
        first = faults[0]
        if self._options.mode == "FAILFAST":
            raise FaultyRowError(
                fragment.source.location,
                rows_before(fragment) + batch.first_row + first.position + 1,
                first.offset,
                first.reason,
            )
        if self._quarantine is not None:
            self._quarantine.add(batch, fragment, faults)
        if self._warns:
            self._warns = False
            warnings.warn(
                f"{fragment.source.location}: byte {first.offset}: {first.reason}; such "
                "values are null, here and in other rows. Add the column `_error` "
                f"or `{self._options.corrupt}` to the schema to see them, or use mode FAILFAST "
                "to stop at them",
                stacklevel=2,
            )

    def _arrow(
        self, batch: RowBatch, fragment: Fragment, filled: FilledColumns
    ) -> pa.RecordBatch:
        columns = self._columns
        # The first column is the whole row, a struct of the others or a variant.
        made = filled.columns[1:] if columns.of_fields else filled.columns
        fields = iter(arrays(columns.types, made))
        ours = {
            column.name: self._ours(column, batch, fragment, filled)
            for column in columns.ours
        }
        every = [
            ours[field.name] if field.name in ours else next(fields)
            for field in columns.schema
        ]
        if not every:
            # Spark needs the row count even if no column is read.
            rows = pa.nulls(filled.columns[0].length)
            return pa.RecordBatch.from_arrays([rows], [""]).select([])
        self._refuse_nulls(every, batch, fragment, filled)
        return pa.RecordBatch.from_arrays(every, schema=columns.schema)

    def _refuse_nulls(
        self,
        every: list[pa.Array],
        batch: RowBatch,
        fragment: Fragment,
        filled: FilledColumns,
    ) -> None:
        """Raise if a NOT NULL column is null in a row."""
        pairs = zip(every, self._columns.schema, strict=True)
        found = (first_null(array, field, field.name) for array, field in pairs)
        missing = min(filter(None, found), default=None)
        if missing is None:
            return
        row, path = missing
        if filled.positions is not None:
            (row,) = struct.unpack_from("=I", filled.positions, 4 * row)
        raise FaultyRowError(
            fragment.source.location,
            rows_before(fragment) + batch.first_row + row + 1,
            batch.offsets[row],
            f"column {path} is NOT NULL in the schema, and the row has no value of its type there",
        )

    def _ours(
        self, column: Column, batch: RowBatch, fragment: Fragment, filled: FilledColumns
    ) -> pa.Array:
        if column.name == "_error":
            return _of_faulty(filled, _reason, pa.string())
        if column.name == self._options.corrupt:
            every = lines(batch, pa.binary())
            found = _of_faulty(
                filled, lambda fault: every[fault.position].as_py(), pa.binary()
            )
        elif column.name == "_raw":
            found = _delivered(lines(batch, pa.binary()), filled)
        else:
            return _delivered(column_of_lines(column, batch, fragment), filled)
        return found if column.type == "binary" else _legible(found)


def _reason(fault: ColumnFault) -> str:
    return f"byte {fault.offset}: {fault.reason}"


def _delivered(every: pa.Array, filled: FilledColumns) -> pa.Array:
    """Return the values of the lines that became rows of the columns."""
    if filled.positions is None:
        return every
    count = len(filled.positions) // 4
    buffers = [None, pa.py_buffer(filled.positions)]
    return every.take(pa.Array.from_buffers(pa.uint32(), count, buffers))


def _of_faulty(
    filled: FilledColumns,
    make: Callable[[ColumnFault], object],
    arrow_type: pa.DataType,
) -> pa.Array:
    """Return a column that is null except in faulty rows."""
    count = filled.columns[0].length
    if not filled.faults:
        return pa.nulls(count, arrow_type)
    values: list[object] = [None] * count
    for fault in filled.faults:
        if fault.row is not None:
            values[fault.row] = make(fault)
    return pa.array(values, arrow_type)


def _legible(found: pa.Array) -> pa.Array:
    """Return lines as text, with invalid UTF-8 escaped."""
    text = found.view(pa.string())
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array(
            [None if line is None else legible(line) for line in found.to_pylist()],
            pa.string(),
        )
    return text


class Quarantine:
    """A file of JSON lines in the directory `badRecordsPath`, created at the first faulty row.

    Each attempt of a task writes its own file, which gets its name when the attempt has read all
    of its partition: an attempt that fails leaves nothing. Two attempts that both succeed, or two
    uses of one DataFrame, write the same lines twice; `file` and `offset` identify the duplicates.
    """

    def __init__(self, directory: str, attempt: str) -> None:
        self._directory = Path(directory.removeprefix("file://"))
        self._name = f"bad-{attempt}-{uuid4().hex}.jsonl"
        self._file: NewFile | None = None

    def add(
        self, batch: RowBatch, fragment: Fragment, faults: list[ColumnFault]
    ) -> None:
        """Write the faulty rows of a batch."""
        every = lines(batch, pa.binary())
        first_line = rows_before(fragment) + batch.first_row + 1
        path = fragment.source.location
        written = [
            rejected.facts(
                path,
                first_line + fault.position,
                fault.offset,
                fault.reason,
                every[fault.position].as_py(),
            )
            for fault in faults
        ]
        self._opened().append(b"".join(map(rejected.as_line, written)))

    def _opened(self) -> NewFile:
        if self._file is None:
            try:
                self._directory.mkdir(parents=True, exist_ok=True)
                self._file = NewFile(self._directory / self._name)
            except OSError as error:
                raise UsageError(
                    f"badRecordsPath {self._directory} cannot be written: {error}"
                ) from error
        return self._file

    def __enter__(self) -> Quarantine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is None:
            return
        if kind is not None:
            self._file.discard()
            return
        self._file.finish()
        system.calls.sync_directory(self._directory)
