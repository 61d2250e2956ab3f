"""Arrow batches of any Spark schema as lines of JSON.

The core reads Arrow's buffers directly: no value is a Python object here.
This runs in every task; the driver checks the schema before.
"""

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyarrow import types

from headrace.errors import UsageError
from headrace.kernel.arrow.lines import Column, ColumnLines, Kind, lines_of
from headrace.kernel.values import MAX_DEPTH

RAW = "_raw"
"""The name of the only column of a frame whose values are written as lines, unchanged."""


def _is_variant(arrow_type: pa.DataType) -> bool:
    """Whether this is a struct that Spark uses for a variant: a field of it has a mark."""
    if not types.is_struct(arrow_type) or arrow_type.num_fields != 2:
        return False
    marks = [field.metadata or {} for field in arrow_type]
    return any(mark.get(b"variant") == b"true" for mark in marks)


_KINDS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], Kind]], ...]
_KINDS = (
    (types.is_null, lambda _type: Kind("null")),
    (types.is_boolean, lambda _type: Kind("bool")),
    (types.is_signed_integer, lambda kind: Kind("int", kind.bit_width // 8)),
    (types.is_float32, lambda _type: Kind("float")),
    (types.is_float64, lambda _type: Kind("double")),
    (types.is_decimal128, lambda kind: Kind("decimal", kind.scale)),
    (types.is_string, lambda _type: Kind("text", 4)),
    (types.is_large_string, lambda _type: Kind("text", 8)),
    (types.is_binary, lambda _type: Kind("binary", 4)),
    (types.is_large_binary, lambda _type: Kind("binary", 8)),
    (types.is_date32, lambda _type: Kind("date")),
    (
        lambda kind: types.is_timestamp(kind) and kind.unit == "us",
        lambda kind: Kind("timestamp", int(kind.tz is not None)),
    ),
    (_is_variant, lambda _type: Kind("variant")),
    (types.is_struct, lambda kind: Kind("struct", fields=[each.name for each in kind])),
    (types.is_list, lambda _type: Kind("list", 4)),
    (types.is_large_list, lambda _type: Kind("list", 8)),
    (types.is_map, lambda _type: Kind("map")),
)
"""The kind of each Arrow type; the first match applies."""

_NO_KEYS = ("null", "struct", "list", "map", "variant")


def json_lines(
    batch: pa.RecordBatch,
    *,
    skip_nulls: bool,
    null_for_nan: bool,
    raw: bool | None = None,
) -> Iterator[bytes]:
    """Yield the rows of a batch as lines, many at a time; see `is_raw`."""
    if is_raw(batch.schema, lines=raw):
        lines = ColumnLines.as_they_are(_column(batch.column(0)))
        return lines_of(lines, batch.schema.names[0])
    columns = [_column(each) for each in batch.columns]
    kind = Kind("struct", fields=batch.schema.names)
    whole = Column(kind, batch.num_rows, children=columns)
    return lines_of(ColumnLines.objects(whole, skip_nulls, null_for_nan))


def is_raw(schema: pa.Schema, *, lines: bool | None = None) -> bool:
    """Whether the only column of a frame contains lines that are written unchanged.

    `lines` is option `lines` [default: the column is called `_raw`].
    """
    may_be = len(schema) == 1 and _kind(schema.types[0]).name in ("text", "binary")
    if lines and not may_be:
        raise UsageError(
            "option lines writes a frame of one column of type string or binary; this one "
            f"has {', '.join(schema.names)}"
        )
    return may_be and (schema.names[0] == RAW if lines is None else lines)


def may_be_bad(schema: pa.Schema, *, lines: bool | None = None) -> bool:
    """Whether a line of this schema may be invalid JSON or nested too deeply."""
    return is_raw(schema, lines=lines) or any(
        _may_be_deep(each.type, MAX_DEPTH) for each in schema
    )


def _may_be_deep(arrow_type: pa.DataType, levels: int) -> bool:
    """Whether values of this type can be nested more than `levels` levels deep."""
    if levels == 0 or _is_variant(arrow_type):
        return True
    inside = (arrow_type.field(at) for at in range(arrow_type.num_fields))
    return any(_may_be_deep(each.type, levels - 1) for each in inside)


def check_schema(schema: pa.Schema) -> None:
    """Raise if the schema has a type that cannot be written."""
    if len(schema) == 0:
        raise UsageError(
            "a frame without columns has nothing to write, and its rows would be lost; "
            "select a column"
        )
    _check_fields(schema, "")


def _check_fields(fields: Iterable[pa.Field], parent: str) -> None:
    seen: set[str] = set()
    for field in fields:
        path = f"{parent}{field.name}"
        if field.name in seen:
            raise UsageError(
                f"two columns are called {path}; the keys of a record must differ"
            )
        seen.add(field.name)
        _check_type(field.type, path)


def _check_type(arrow_type: pa.DataType, path: str) -> None:
    match _kind(arrow_type, path).name:
        case "struct":
            _check_fields(arrow_type, f"{path}.")
        case "list":
            _check_type(arrow_type.value_type, f"{path}[]")
        case "map":
            key = _kind(arrow_type.key_type, path).name
            if key in _NO_KEYS:
                raise UsageError(
                    f"column {path}: a map with keys of type {arrow_type.key_type} has no "
                    "JSON; use map_entries"
                )
            _check_type(arrow_type.item_type, f"{path}[]")


def _kind(arrow_type: pa.DataType, path: str = "") -> Kind:
    for fits, kind in _KINDS:
        if fits(arrow_type):
            return kind(arrow_type)
    raise UsageError(
        f"column {path}: values of type {arrow_type} have no JSON; cast it to a string"
    )


def _column(array: pa.Array) -> Column:
    kind = _kind(array.type)
    buffers = array.buffers()[: 3 if kind.name in ("text", "binary") else 2]
    if kind.name in ("struct", "variant"):
        buffers = buffers[:1]
    validity, values, data = (
        None if buffer is None else buffer.to_pybytes()
        for buffer in (*buffers, None, None)[:3]
    )
    children = [_column(child) for child in _children(array, kind.name)]
    return Column(kind, len(array), array.offset, validity, values, data, children)


def _children(array: pa.Array, kind: str) -> list[pa.Array]:
    match kind:
        case "struct":
            return [array.field(at) for at in range(array.type.num_fields)]
        case "variant":
            return [array.field("value"), array.field("metadata")]
        case "list":
            return [array.values]
        case "map":
            return [array.keys, array.items]
        case _:
            return []
