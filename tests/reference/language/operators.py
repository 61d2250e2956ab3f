"""Arithmetic, comparisons and casts of computed values."""

from __future__ import annotations

import math
import re

from headrace.language.ast import BinaryOperator, CastType, CompareOperator
from tests.reference.language.values import (
    QueryError,
    Written,
    compare,
    equal,
    finite,
    integer,
    is_number,
    kind_of,
    read_number,
    text_of,
    truthy,
)

WHOLE = re.compile(r"[+-]?[0-9]+")
DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def arithmetic(operator, left, right):
    if operator is BinaryOperator.ADD and kind_of(left) == kind_of(right):
        if isinstance(left, str):
            return left + right
        if isinstance(left, list):
            return [*left, *right]
    if not is_number(left) or not is_number(right):
        raise QueryError(f"{kind_of(left)} {operator} {kind_of(right)}")
    if operator is BinaryOperator.DIVIDE:
        return divide(left, right)
    if operator is BinaryOperator.REMAINDER:
        return remainder(left, right)
    if isinstance(left, int) and isinstance(right, int):
        return integer(_simple(operator, left, right))
    return finite(_simple(operator, float(left), float(right)))


def _simple(operator, left, right):
    if operator is BinaryOperator.ADD:
        return left + right
    if operator is BinaryOperator.SUBTRACT:
        return left - right
    return left * right


def divide(left, right):
    if right == 0:
        raise QueryError("division by zero")
    return finite(float(left) / float(right))


def remainder(left, right):
    if right == 0:
        raise QueryError("division by zero")
    if isinstance(left, int) and isinstance(right, int):
        rest = abs(left) % abs(right)
        return -rest if left < 0 else rest
    if math.isinf(left):
        raise QueryError("no finite number")
    return finite(math.fmod(left, right))


def negate(value):
    if not is_number(value):
        raise QueryError("minus of what is no number")
    return integer(-value) if isinstance(value, int) else finite(-float(value))


def compared(operator, left, right) -> bool:
    if operator is CompareOperator.EQUAL:
        return equal(left, right)
    if operator is CompareOperator.NOT_EQUAL:
        return not equal(left, right)
    if operator is CompareOperator.RESEMBLES:
        return text_of(right).lower() in text_of(left).lower()
    if kind_of(left) != kind_of(right) or kind_of(left) in {"null", "array", "object"}:
        return False
    difference = compare(left, right)
    return {
        CompareOperator.LESS: difference < 0,
        CompareOperator.LESS_OR_EQUAL: difference <= 0,
        CompareOperator.GREATER: difference > 0,
        CompareOperator.GREATER_OR_EQUAL: difference >= 0,
    }[operator]


def number_of(text):
    """Return the number in a text, or None."""
    if WHOLE.fullmatch(text):
        return read_number(str(int(text)))
    if not DECIMAL.fullmatch(text):
        return None
    return float(text) if math.isfinite(float(text)) else Written(text)


def cast(value, to):
    return CASTS[to](value)


def _to_int(value):
    if value is None:
        return 0
    if isinstance(value, str):
        value = _number_in(value)
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, Written) and value.is_whole:
        return read_number(str(int(value.text)))
    if isinstance(value, float):
        return read_number(str(math.trunc(finite(value))))
    raise QueryError(f"{kind_of(value)} as int")


def _to_float(value):
    if value is None:
        return 0.0
    if isinstance(value, str):
        value = _number_in(value)
    if isinstance(value, bool | int | float):
        return finite(float(value))
    raise QueryError(f"{kind_of(value)} as float")


def _number_in(text):
    number = number_of(text)
    if number is None:
        raise QueryError(f"{text!r} is no number")
    return number


def _to_array(value):
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def _to_object(value):
    if not isinstance(value, dict):
        raise QueryError(f"{kind_of(value)} as object")
    return value


CASTS = {
    CastType.INT: _to_int,
    CastType.FLOAT: _to_float,
    CastType.NUMBER: _to_float,
    CastType.STRING: text_of,
    CastType.BOOL: truthy,
    CastType.ARRAY: _to_array,
    CastType.OBJECT: _to_object,
    CastType.NULL: lambda _value: None,
}
