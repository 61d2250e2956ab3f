"""What values have in common, as one type that holds each of them exactly.

A *shape* is that type. Where there is none, values are `Mixed`, and so is whatever
contains them: a column then is JSON text, which loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from types import NoneType
from typing import TYPE_CHECKING, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EXACT = 1 << 53
"""Up to here, every integer is a double."""

MOST_FIELDS = 1000
"""An object with more fields than this is a dictionary, not a record."""


class Scalar(StrEnum):
    """Values without parts. `WIDE` are integers that need not be doubles."""

    NULL = "null"
    BOOL = "boolean"
    INT = "integer"
    WIDE = "64-bit integer"
    FLOAT = "decimal"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class ListOf:
    """Arrays of such elements."""

    item: Shape

    def __str__(self) -> str:
        return "array"


@dataclass(frozen=True, slots=True)
class Struct:
    """Objects with some of these fields."""

    fields: Mapping[str, Shape]

    def __str__(self) -> str:
        return "object"


@dataclass(frozen=True, slots=True)
class Mixed:
    """Nothing in common, and why."""

    why: str

    def __str__(self) -> str:
        return self.why


Shape: TypeAlias = Scalar | ListOf | Struct | Mixed

_SCALARS: dict[type, Scalar] = {
    bool: Scalar.BOOL,
    float: Scalar.FLOAT,
    str: Scalar.TEXT,
}


def shape_of(values: Sequence[object], path: str) -> Shape:
    """Return the shape of some values of JSON; `path` is where they stand.

    >>> shape_of([1, None, 2.5], "a"), shape_of([{"b": [1]}, {"c": True}], "a")
    (<Scalar.FLOAT: 'decimal'>, Struct(fields={'b': ListOf(item=<Scalar.INT: 'integer'>), 'c': <Scalar.BOOL: 'boolean'>}))
    >>> str(shape_of([1, "x"], "a"))
    'a is integer and text'
    """
    kinds = dict.fromkeys(map(type, values))
    kinds.pop(NoneType, None)
    if len(kinds) == 1:
        (kind,) = kinds
        return _shape_of_kind(kind, [each for each in values if each is not None], path)
    shape: Shape = Scalar.NULL
    for kind in kinds:
        some = [each for each in values if type(each) is kind]
        shape = merged(shape, _shape_of_kind(kind, some, path), path)
    return shape


def _shape_of_kind(kind: type, values: Sequence[object], path: str) -> Shape:
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind is int:
        return _shape_of_integers(cast("Sequence[int]", values), path)
    if kind is list:
        items = list(chain.from_iterable(cast("Sequence[list[object]]", values)))
        return _list_of(shape_of(items, f"{path}[]"))
    if kind is dict:
        return _shape_of_objects(cast("Sequence[dict[str, object]]", values), path)
    return Mixed(f"{path} has numbers beyond every double")


def _shape_of_integers(values: Sequence[int], path: str) -> Shape:
    low, high = min(values), max(values)
    if low >= -EXACT and high <= EXACT:
        return Scalar.INT
    if low >= -(1 << 63) and high < 1 << 63:
        return Scalar.WIDE
    return Mixed(f"{path} has integers of more than 64 bits")


def _shape_of_objects(values: Sequence[dict[str, object]], path: str) -> Shape:
    fields: dict[str, list[object]] = {}
    for value in values:
        for name, field in value.items():
            fields.setdefault(name, []).append(field)
    return _struct(
        {name: shape_of(each, f"{path}.{name}") for name, each in fields.items()}, path
    )


def _list_of(item: Shape) -> Shape:
    return item if isinstance(item, Mixed) else ListOf(item)


def _struct(fields: Mapping[str, Shape], path: str) -> Shape:
    mixed = next((each for each in fields.values() if isinstance(each, Mixed)), None)
    if mixed is not None:
        return mixed
    if len(fields) > MOST_FIELDS:
        return Mixed(f"{path} has more than {MOST_FIELDS} fields")
    return Struct(fields)


def merged(left: Shape, right: Shape, path: str) -> Shape:
    """Return the shape of values of either shape."""
    match left, right:
        case _ if left == right:
            return left
        case (Mixed() as mixed, _) | (_, Mixed() as mixed):
            return mixed
        case (Scalar.NULL, other) | (other, Scalar.NULL):
            return other
        case ListOf(one), ListOf(other):
            return _list_of(merged(one, other, f"{path}[]"))
        case Struct(), Struct():
            return _merged_objects(left, right, path)
        case Scalar(), Scalar():
            return _merged_scalars(left, right, path)
        case _:
            return Mixed(f"{path} is {left} and {right}")


def _merged_scalars(left: Scalar, right: Scalar, path: str) -> Shape:
    pair = {left, right}
    if pair == {Scalar.INT, Scalar.WIDE}:
        return Scalar.WIDE
    if pair == {Scalar.INT, Scalar.FLOAT}:
        return Scalar.FLOAT
    return Mixed(f"{path} is {left} and {right}")


def _merged_objects(left: Struct, right: Struct, path: str) -> Shape:
    fields = dict(left.fields)
    for name, shape in right.fields.items():
        before = fields.get(name, Scalar.NULL)
        fields[name] = merged(before, shape, f"{path}.{name}")
    return _struct(fields, path)


def settled(shape: Shape, path: str) -> Shape:
    """Return the shape that a column is given: integers are wide, records not empty.

    >>> settled(ListOf(Scalar.INT), "a")
    ListOf(item=<Scalar.WIDE: '64-bit integer'>)
    """
    match shape:
        case Scalar.INT:
            return Scalar.WIDE
        case ListOf(item):
            return _list_of(settled(item, f"{path}[]"))
        case Struct(fields) if fields:
            each = {
                name: settled(field, f"{path}.{name}") for name, field in fields.items()
            }
            return _struct(each, path)
        case Struct():
            return Mixed(f"{path} is an object without fields")
        case _:
            return shape


def fits(shape: Shape, column: Shape, path: str) -> bool:
    """Whether values of `shape` can stand in a column that was settled."""
    return merged(column, shape, path) == column
