"""From the core's buffers to the very Arrow arrays that Spark compares with its schema.

Nothing is converted here: the core has laid the values out, and Arrow is told where they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pyarrow as pa

from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.kernel.columns import Buffers, Shape

_SHAPES: dict[pa.DataType, Shape] = {
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


def struct_shape(fields: Iterable[pa.Field], path: str = "") -> Shape:
    """Return the shape of rows with these fields; refuses what no row can give."""
    fields = list(fields)
    names = [field.name for field in fields]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"the schema names {', '.join(repeated)} more than once")
    return {
        "struct": [
            [field.name, _nullable_shape(field, f"{path}{field.name}")]
            for field in fields
        ]
    }


def _nullable_shape(field: pa.Field, path: str) -> Shape:
    if not field.nullable:
        raise UsageError(
            f"column {path} cannot be NOT NULL: a row may have null there, or nothing"
        )
    return shape_of(field.type, path)


def shape_of(arrow_type: pa.DataType, path: str) -> Shape:
    """Return the shape of a column that Arrow calls `arrow_type`."""
    if arrow_type in _SHAPES:
        return _SHAPES[arrow_type]
    if pa.types.is_decimal128(arrow_type):
        return {"decimal": [arrow_type.precision, arrow_type.scale]}
    if is_variant(arrow_type):
        return "variant"
    if pa.types.is_struct(arrow_type):
        return struct_shape(arrow_type, f"{path}.")
    if pa.types.is_list(arrow_type):
        return {"array": _nullable_shape(arrow_type.value_field, f"{path}[]")}
    if pa.types.is_map(arrow_type) and arrow_type.key_type == pa.string():
        return {"map": _nullable_shape(arrow_type.item_field, f"{path}{{}}")}
    raise UsageError(
        f"column {path} cannot be {arrow_type}: no value of JSON is read as that; "
        "read it as a string, and cast it"
    )


def is_variant(arrow_type: pa.DataType) -> bool:
    """Say whether this is how Spark has a VARIANT in Arrow."""
    return pa.types.is_struct(arrow_type) and any(
        (field.metadata or {}).get(b"variant") == b"true" for field in arrow_type
    )


def arrays(types: Iterable[pa.DataType], columns: Iterable[Buffers]) -> list[pa.Array]:
    """Return the arrays of `types` that the core has made, those inside others with them."""
    rest = iter(columns)
    return [_array(arrow_type, rest) for arrow_type in types]


def _array(arrow_type: pa.DataType, rest: Iterator[Buffers]) -> pa.Array:
    length, valid, others = next(rest)
    validity = None if valid is None else pa.py_buffer(valid)
    buffers = [validity, *map(pa.py_buffer, others)]
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


def _entries(arrow_type: pa.MapType, rest: Iterator[Buffers]) -> pa.Array:
    entry = pa.struct([arrow_type.key_field, arrow_type.item_field])
    both = [_array(arrow_type.key_type, rest), _array(arrow_type.item_type, rest)]
    return pa.Array.from_buffers(entry, len(both[0]), [None], children=both)


def spark_type(shape: Shape) -> object:
    """Return the type of Spark that has a shape, as its JSON has types."""
    match shape:
        case str():
            return shape
        case {"integer": 8}:
            return "long"
        case {"decimal": [precision, scale]}:
            return f"decimal({precision},{scale})"
        case {"struct": fields}:
            return spark_struct(cast("list[tuple[str, Shape]]", fields))
        case {"array": element}:
            return {
                "type": "array",
                "elementType": spark_type(cast("Shape", element)),
                "containsNull": True,
            }
        case {"map": value}:
            return {
                "type": "map",
                "keyType": "string",
                "valueType": spark_type(cast("Shape", value)),
                "valueContainsNull": True,
            }
    raise AssertionError(f"no row was found to need {shape}")


def spark_struct(fields: Iterable[tuple[str, Shape]]) -> dict[str, object]:
    """Return the struct of Spark that has these fields, as its JSON has it."""
    return {
        "type": "struct",
        "fields": [
            {"name": name, "type": spark_type(shape), "nullable": True, "metadata": {}}
            for name, shape in fields
        ],
    }
