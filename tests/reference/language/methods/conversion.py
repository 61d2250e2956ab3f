"""Kinds, numbers and JSON."""

from __future__ import annotations

import math
from fractions import Fraction

from tests.reference.language.operators import number_of
from tests.reference.language.values import (
    QueryError,
    Written,
    integer,
    is_number,
    kind_of,
    read,
    text_of,
    write,
)


def _plain(function):
    """Make a method without arguments."""

    def method(receiver, arguments):
        arguments.check(0)
        return function(receiver)

    return method


def _of_number(function):
    """Make a method of numbers; null stays null."""

    def on_value(value):
        if value is None:
            return None
        if not is_number(value):
            raise QueryError("not a number")
        return function(value)

    return _plain(on_value)


def _whole(rounding):
    def on_number(number):
        if isinstance(number, int):
            return number
        if isinstance(number, Written) and (number.is_whole or math.isinf(number)):
            return number
        return integer(rounding(Fraction(number)))

    return _of_number(on_number)


def _half_away(number):
    away = math.floor(abs(number) + Fraction(1, 2))
    return away if number >= 0 else -away


def _abs(number):
    if isinstance(number, Written) and number.is_whole:
        return Written(number.text.lstrip("-"))
    return integer(abs(number)) if isinstance(number, int) else abs(number)


def _to_number(value):
    if isinstance(value, bool):
        return int(value)
    if is_number(value):
        return value
    return number_of(value) if isinstance(value, str) else None


def _from_json(value):
    return read(value) if isinstance(value, str) else value


CONVERSION = {
    "type": _plain(kind_of),
    "ceil": _whole(math.ceil),
    "floor": _whole(math.floor),
    "round": _whole(_half_away),
    "abs": _of_number(_abs),
    "to_number": _plain(_to_number),
    "to_string": _plain(text_of),
    "to_json": _plain(write),
    "from_json": _plain(_from_json),
}
