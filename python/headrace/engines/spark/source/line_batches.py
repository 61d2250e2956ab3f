"""A fragment's rows as Arrow batches.

The kernel returns a batch of lines as two buffers, which become the Arrow column
without a copy: no line is a Python object here. This runs in every task.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from headrace.engines.rows.fragment import rows_of
from headrace.engines.spark.source.key_partitions import KeyedRows
from headrace.engines.spark.source.partitions import first_row
from headrace.errors import BadRowError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.engines.spark.source.meta_columns import Column
    from headrace.engines.spark.source.options import ReadOptions
    from headrace.kernel.rows import RowBatch
    from headrace.physical.fragment import Fragment

MOST_ROWS = 1 << 16
"""The largest number of rows in a batch."""

_ARROW_TYPES = {"string": pa.string(), "bigint": pa.int64(), "binary": pa.binary()}


def read_fragment(
    fragment: Fragment, columns: Sequence[Column], options: ReadOptions
) -> Iterator[pa.RecordBatch]:
    """Read the rows that begin in `fragment`, each batch of the schema `columns`.

    A line longer than `options.max_line` is a row whose ``_raw`` is null.
    """
    schema = arrow_schema(columns)
    for batch in wanted_rows(fragment, options):
        arrays = [column_of_lines(column, batch, fragment) for column in columns]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def wanted_rows(fragment: Fragment, options: ReadOptions) -> Iterator[RowBatch]:
    """Yield the rows that begin in `fragment`; with `options.keys`, only rows with such a key."""
    rows = rows_of(fragment, options.max_line, options.decoding)
    keyed = None if options.keys is None else KeyedRows(options.keys)
    while (batch := rows.next_batch(MOST_ROWS, options.batch_bytes)) is not None:
        if keyed is None:
            yield batch
        else:
            yield from keyed.of(batch)


def arrow_schema(columns: Sequence[Column]) -> pa.Schema:
    """Return the Arrow schema that Spark accepts for `columns`."""
    return pa.schema(
        [
            pa.field(column.name, _ARROW_TYPES[column.type], nullable=column.nullable)
            for column in columns
        ]
    )


def column_of_lines(column: Column, batch: RowBatch, fragment: Fragment) -> pa.Array:
    """Return the values of a column for all lines of a batch, also blank and faulty ones."""
    match column.name, column.type:
        case "_file", _:
            # The name of a file may be bytes that are not UTF-8.
            path = fragment.source.location
            return pa.repeat(pa.scalar(legible(os.fsencode(path))), len(batch))
        case "_offset", _:
            offsets = pa.py_buffer(batch.offsets_buffer())
            return pa.Array.from_buffers(pa.int64(), len(batch), [None, offsets])
        case "_row", _:
            return _counted(batch.first_row, len(batch))
        case "_line", _:
            return _counted(batch.first_row + 1, len(batch))
        case "_raw", "string":
            return _text(batch, fragment)
        case _:
            return lines(batch, pa.binary())


def _counted(first: int, count: int) -> pa.Array:
    return pc.cumulative_sum(pa.repeat(pa.scalar(1), count), start=first - 1)


def legible(content: bytes) -> str:
    r"""Return bytes as text, with invalid UTF-8 escaped as in ``M\xfcnchen``."""
    return content.decode(errors="backslashreplace")


def lines(batch: RowBatch, arrow_type: pa.DataType) -> pa.Array:
    """Return the lines of a batch, null for those over the limit."""
    offsets, data = batch.arrow_buffers()
    buffers = [_validity(batch), pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(arrow_type, len(batch), buffers)


def _validity(batch: RowBatch) -> pa.Buffer | None:
    """Return Arrow's bitmap of the rows that are not null; None if no row is null."""
    if not batch.too_long:
        return None
    bits = bytearray(b"\xff" * ((len(batch) + 7) // 8))
    for row, _length in batch.too_long:
        bits[row // 8] &= ~(1 << row % 8)
    return pa.py_buffer(bytes(bits))


def _text(batch: RowBatch, fragment: Fragment) -> pa.Array:
    text = lines(batch, pa.string())
    try:
        # Spark does not validate the bytes of a string.
        text.validate(full=True)
    except pa.ArrowInvalid:
        raise _not_utf8(batch, fragment) from None
    return text


def rows_before(fragment: Fragment) -> int:
    """Return the number of rows of the file before row 0 of the batches of `fragment`."""
    # In a fragment without a first row number, batches count from 0.
    return first_row(fragment) - (fragment.first_row or 0)


def _not_utf8(batch: RowBatch, fragment: Fragment) -> BadRowError:
    for index, line in enumerate(batch.contents()):
        try:
            (line or b"").decode()
        except UnicodeDecodeError as error:
            return BadRowError(
                fragment.source.location,
                rows_before(fragment) + batch.first_row + index + 1,
                batch.offsets[index],
                f"byte {error.start} of the line is not UTF-8, so it cannot be a "
                "string; declare `_raw binary` in the schema",
            )
    raise AssertionError("Arrow refused text that Python accepts")
