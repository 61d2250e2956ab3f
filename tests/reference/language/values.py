"""Values: JSON text to Python and back, truth, equality and order.

An integer that fits 64 bits is an int. Any other number in a text is `Written`: a
double that knows how it was written, as long as nothing is computed with it.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from functools import cmp_to_key

LEAST, GREATEST = -(2**63), 2**63 - 1


class QueryError(Exception):
    """The query cannot be computed on this document."""


class NotInSubset(Exception):  # noqa: N818
    """The query needs a construct that the reference does not implement."""


class Written(float):
    """A number with its spelling `text`."""

    text: str

    def __new__(cls, text: str) -> Written:
        number = super().__new__(cls, text)
        number.text = text
        return number

    @property
    def is_whole(self) -> bool:
        """Whether the number is written as an integer."""
        return self.text.lstrip("-").isdigit()


def exact(number):
    """Return a number for comparison, with all written digits."""
    if not isinstance(number, Written):
        return number
    if number.is_whole:
        return int(number.text)
    return Decimal(number.text) if math.isinf(number) else float(number)


def integer(number):
    """Return an integer, as a double if it does not fit 64 bits."""
    return number if LEAST <= number <= GREATEST else finite(_double(number))


def _double(number):
    try:
        return float(number)
    except OverflowError:
        return math.inf


def finite(number):
    """Return a computed double; infinity and NaN are errors."""
    if not math.isfinite(number):
        raise QueryError("no finite number")
    return number


def read_number(text):
    """Return the number in a JSON text."""
    if text.lstrip("-").isdigit() and LEAST <= int(text) <= GREATEST:
        # Integers have no negative zero.
        return Written(text) if text == "-0" else int(text)
    return Written(text)


def read(text: bytes | str):
    """Return the value of a JSON text; of equal keys the last one wins."""
    try:
        return json.loads(
            text, parse_int=read_number, parse_float=read_number, parse_constant=_refuse
        )
    except ValueError:
        raise QueryError("not JSON") from None


def _refuse(text):
    raise ValueError(text)


def write(value) -> str:
    """Return a value as JSON on one line."""
    if isinstance(value, list):
        return "[" + ",".join(map(write, value)) + "]"
    if isinstance(value, dict):
        fields = (write(key) + ":" + write(item) for key, item in value.items())
        return "{" + ",".join(fields) + "}"
    if isinstance(value, Written):
        return value.text
    if isinstance(value, float):
        return _float_text(value)
    return json.dumps(value, ensure_ascii=False)


def _float_text(number):
    mantissa, sign, exponent = repr(number).partition("e")
    if exponent == "-05":
        return f"{Decimal(repr(number)):f}"
    return mantissa + sign + (str(int(exponent)) if exponent else "")


def text_of(value) -> str:
    """Return a value as text: no quotes around a text, no exponent in a number."""
    if isinstance(value, str):
        return value
    if isinstance(value, Written) and (value.is_whole or math.isinf(value)):
        return value.text
    if isinstance(value, float):
        return f"{Decimal(float.__repr__(value)):f}".removesuffix(".0")
    return write(value)


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def whole(value):
    """Return a number without a fraction as an integer; None for anything else."""
    if not is_number(value):
        return None
    number = exact(value)
    if isinstance(number, float) and not number.is_integer():
        return None
    # A number beyond all positions is limited to the last one.
    return max(LEAST, min(GREATEST, int(number)))


def kind_of(value) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if is_number(value):
        return "number"
    return {str: "string", list: "array", dict: "object"}[type(value)]


def truthy(value) -> bool:
    """``false``, ``null``, ``0``, ``""``, ``[]`` and ``{}`` are not, all else is."""
    return bool(value)


def identity(value):
    """Return a hashable value that is the same for equal values, for any order of keys."""
    if isinstance(value, list):
        return "array", tuple(map(identity, value))
    if isinstance(value, dict):
        return "object", frozenset((key, identity(item)) for key, item in value.items())
    if is_number(value):
        # 1 and 1.0 are equal and have the same hash.
        return "number", exact(value)
    return kind_of(value), value


def equal(left, right) -> bool:
    return identity(left) == identity(right)


KINDS = ["null", "bool", "number", "string", "array", "object"]


def compare(left, right) -> int:
    """Return less than, greater than or 0 in the order of all values."""
    kind, other = kind_of(left), kind_of(right)
    if kind != other:
        return KINDS.index(kind) - KINDS.index(other)
    if kind == "null":
        return 0
    if kind == "array":
        return _compare_arrays(left, right)
    if kind == "object":
        return _compare_arrays(_keys_and_values(left), _keys_and_values(right))
    if kind == "number":
        left, right = exact(left), exact(right)
    return (left > right) - (left < right)


def _compare_arrays(left, right):
    for one, other in zip(left, right, strict=False):
        if difference := compare(one, other):
            return difference
    return len(left) - len(right)


def _keys_and_values(value):
    keys = sorted(value)
    return [keys, [value[key] for key in keys]]


in_order = cmp_to_key(compare)
