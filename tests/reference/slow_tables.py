"""Slow reference of Arrow tables of answers: the type of a column, then each value."""

import math
import re

import pyarrow as pa

from tests.reference.slow_columns import Number, Pairs, parsed, written

EXACT = 1 << 53
MOST_FIELDS = 1000
MOST_LEVELS = 32


def slow_table(lines):
    """Return the fields of lines of JSON, and a row of values for each line.

    A field is its name and its type, None for JSON text.
    """
    rows = [record(parsed(line)) for line in lines]
    names = dict.fromkeys(name for row in rows for name in row)
    if rows and not names:
        names = ["value"]
    types = {name: type_of([row.get(name) for row in rows]) for name in names}
    return (
        list(types.items()),
        [
            {name: value_of(row.get(name), types[name]) for name in types}
            for row in rows
        ],
    )


def record(answer):
    """Return the columns of one answer; of equal keys the last value, at the first position."""
    if isinstance(answer, Pairs):
        return dict(answer)
    return {} if answer is None else {"value": answer}


def type_of(values, level=1, *, empty=None):
    """Return the type that stores each value exactly, None if there is none.

    `empty` is the type of objects without fields.
    """
    values = [value for value in values if value is not None]
    kinds = {type(value) for value in values}
    if not kinds:
        return pa.null()
    if len(kinds) > 1 or (kinds & {list, Pairs} and level > MOST_LEVELS):
        return None
    (kind,) = kinds
    if kind is bool:
        return pa.bool_()
    if kind is str:
        return pa.string()
    if kind is Number:
        return type_of_numbers(values)
    if kind is list:
        inside = type_of(
            [element for value in values for element in value], level + 1, empty=empty
        )
        return None if inside is None else pa.list_(inside)
    return type_of_objects([dict(value) for value in values], level, empty)


def type_of_numbers(numbers):
    integers = [int(number) for number in numbers if not is_decimal(number)]
    if len(integers) == len(numbers):
        fits = all(-(1 << 63) <= number < 1 << 63 for number in integers)
        return pa.int64() if fits else None
    exact = all(abs(number) <= EXACT for number in integers)
    finite = all(math.isfinite(float(number)) for number in numbers)
    return pa.float64() if exact and finite else None


def is_decimal(number):
    return bool(re.search("[.eE]", number))


def type_of_objects(objects, level, empty):
    names = dict.fromkeys(name for each in objects for name in each)
    if not names:
        return empty
    if len(names) > MOST_FIELDS:
        return None
    types = [
        type_of([each.get(name) for each in objects], level + 1, empty=empty)
        for name in names
    ]
    if any(of is None for of in types):
        return None
    return pa.struct(list(zip(names, types, strict=True)))


def value_of(value, of):
    """Return the value of a column of a type; JSON as it is written, without space."""
    if value is None:
        return None
    if of is None:
        return written(value)
    if pa.types.is_int64(of):
        return int(value)
    if pa.types.is_float64(of):
        return float(value)
    if pa.types.is_list(of):
        return [value_of(element, of.value_type) for element in value]
    if pa.types.is_struct(of):
        found = dict(value)
        return {field.name: value_of(found.get(field.name), field.type) for field in of}
    return value if isinstance(value, bool) else str(value)


def first_misfit(lines, name):
    """Return the number, from 1, of the first answer that shares no type with those before it."""
    rows = [record(parsed(line)) for line in lines]
    for count in range(1, len(rows) + 1):
        values = [row.get(name) for row in rows[:count]]
        if type_of(values, empty=pa.struct([])) is None:
            return count
    return None


def same_json(one, other):
    """Whether two JSON texts have the same numbers and strings, and keys in the same order."""
    return written(parsed(one)) == written(parsed(other))


def has_empty_objects(lines):
    return any("{}" in written(parsed(line)) for line in lines)
