"""Shapes of the core as Spark's types."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.kernel.arrow.columns import Shape


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


def spark_type(shape: Shape) -> object:
    """Return the Spark type of a shape, as in the JSON of a Spark schema."""
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
    raise AssertionError(f"inference never returns the shape {shape}")


def spark_struct(fields: Iterable[tuple[str, Shape]]) -> dict[str, object]:
    """Return the Spark struct of these fields, as in the JSON of a Spark schema."""
    return {
        "type": "struct",
        "fields": [
            {"name": name, "type": spark_type(shape), "nullable": True, "metadata": {}}
            for name, shape in fields
        ],
    }
