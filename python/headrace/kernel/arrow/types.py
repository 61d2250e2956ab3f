"""Arrow types as shapes of the core, and the core's buffers as Arrow arrays.

No value is converted here: the core lays the values out as Arrow does, and the arrays refer
to its buffers.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, cast

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.kernel.arrow.columns import ColumnBuffers, Shape

JSON = {b"headrace": b"json"}
"""The metadata of a field of JSON text."""

_SHAPES: dict[pa.DataType, Shape] = {
    pa.null(): "null",
    pa.bool_(): "boolean",
    pa.int8(): {"integer": 1},
    pa.int16(): {"integer": 2},
    pa.int32(): {"integer": 4},
    pa.int64(): {"integer": 8},
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp_ntz",
    pa.timestamp("us", "UTC"): "timestamp",
}

_TYPES = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "exact": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "json": pa.string(),
}


def struct_shape(fields: Iterable[pa.Field], path: str = "") -> Shape:
    """Return the shape of rows with these fields; refuse types that JSON values cannot have."""
    fields = list(fields)
    names = [field.name for field in fields]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"the schema names {', '.join(repeated)} more than once")
    return {
        "struct": [
            [field.name, _field_shape(field, f"{path}{field.name}")] for field in fields
        ]
    }


def _field_shape(field: pa.Field, path: str) -> Shape:
    metadata = field.metadata or {}
    if field.type == pa.string() and JSON.items() <= metadata.items():
        return "json"
    return shape_of(field.type, path)


def shape_of(arrow_type: pa.DataType, path: str) -> Shape:
    """Return the shape of a column of the Arrow type `arrow_type`."""
    if arrow_type in _SHAPES:
        return _SHAPES[arrow_type]
    if pa.types.is_decimal128(arrow_type):
        return {"decimal": [arrow_type.precision, arrow_type.scale]}
    if is_variant(arrow_type):
        return "variant"
    if pa.types.is_struct(arrow_type):
        return struct_shape(arrow_type, f"{path}.")
    if pa.types.is_list(arrow_type):
        return {"array": shape_of(arrow_type.value_type, f"{path}[]")}
    if pa.types.is_map(arrow_type) and arrow_type.key_type == pa.string():
        return {"map": shape_of(arrow_type.item_type, f"{path}{{}}")}
    raise UsageError(
        f"column {path} cannot be {arrow_type}: no JSON value is read as this type; "
        "read it as a string, and cast it"
    )


def field_of(name: str, shape: Shape) -> pa.Field:
    """Return the field of a column of answers, whose shape was inferred."""
    return pa.field(name, _type(shape), metadata=JSON if shape == "json" else None)


def _type(shape: Shape) -> pa.DataType:
    match shape:
        case str():
            return _TYPES[shape]
        case {"integer": 8}:
            return pa.int64()
        case {"array": element}:
            return pa.list_(_type(cast("Shape", element)))
        case {"struct": fields}:
            pairs = cast("list[tuple[str, Shape]]", fields)
            return pa.struct([(name, _type(of)) for name, of in pairs])
        case _:
            raise AssertionError(f"answers never have the shape {shape}")


def is_variant(arrow_type: pa.DataType) -> bool:
    """Report whether this is the Arrow struct that Spark uses for a VARIANT."""
    return pa.types.is_struct(arrow_type) and any(
        (field.metadata or {}).get(b"variant") == b"true" for field in arrow_type
    )


def arrays(
    types: Iterable[pa.DataType], columns: Iterable[ColumnBuffers]
) -> list[pa.Array]:
    """Return the arrays of `types` from the buffers of the core, including nested arrays."""
    rest = iter(columns)
    return [_array(arrow_type, rest) for arrow_type in types]


def _array(arrow_type: pa.DataType, rest: Iterator[ColumnBuffers]) -> pa.Array:
    column = next(rest)
    length, others = column.length, column.others
    valid = column.validity
    validity = None if valid is None else pa.py_buffer(valid)
    buffers = [validity, *map(pa.py_buffer, others)]
    if pa.types.is_null(arrow_type):
        return pa.nulls(length)
    if is_variant(arrow_type):
        value_ends, values, metadata_ends, metadata = others
        children = [
            _bytes(length, value_ends, values),
            _bytes(length, metadata_ends, metadata),
        ]
        buffers = [validity]
    elif pa.types.is_struct(arrow_type):
        children = [_array(field.type, rest) for field in arrow_type]
    elif pa.types.is_list(arrow_type):
        children = [_array(arrow_type.value_type, rest)]
    elif pa.types.is_map(arrow_type):
        children = [_entries(arrow_type, rest)]
    else:
        return pa.Array.from_buffers(arrow_type, length, buffers)
    return pa.Array.from_buffers(arrow_type, length, buffers, children=children)


def _bytes(length: int, ends: bytes, data: bytes) -> pa.Array:
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), length, buffers)


def _entries(arrow_type: pa.MapType, rest: Iterator[ColumnBuffers]) -> pa.Array:
    entry = pa.struct([arrow_type.key_field, arrow_type.item_field])
    both = [_array(arrow_type.key_type, rest), _array(arrow_type.item_type, rest)]
    return pa.Array.from_buffers(entry, len(both[0]), [None], children=both)


def first_null(
    array: pa.Array, field: pa.Field, path: str, there: pa.Array | None = None
) -> tuple[int, str] | None:
    """Return the first row that is null in a NOT NULL field, and the path of the field.

    `there` is true for the rows that have the parent of the field.
    """
    if not field.nullable and array.null_count:
        missing = array.is_null() if there is None else pc.and_(array.is_null(), there)
        row = pc.index(missing, value=True).as_py()
        if row >= 0:
            return row, path
    if pa.types.is_struct(field.type) and not is_variant(field.type):
        valid = array.is_valid() if there is None else pc.and_(array.is_valid(), there)
        found = [
            first_null(array.field(child.name), child, f"{path}.{child.name}", valid)
            for child in field.type
        ]
    elif pa.types.is_list(field.type):
        found = [
            _first_inside(array, array.values, field.type.value_field, f"{path}[]")
        ]
    elif pa.types.is_map(field.type):
        found = [
            _first_inside(array, array.items, field.type.item_field, f"{path}{{}}")
        ]
    else:
        return None
    return min(filter(None, found), default=None)


def _first_inside(
    array: pa.Array, elements: pa.Array, field: pa.Field, path: str
) -> tuple[int, str] | None:
    found = first_null(elements, field, path)
    if found is None:
        return None
    index, where = found
    return bisect_right(array.offsets.to_pylist(), index) - 1, where
