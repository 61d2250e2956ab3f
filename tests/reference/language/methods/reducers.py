"""One value of all elements."""

from __future__ import annotations

from fractions import Fraction

from tests.reference.language.methods.streams import elements, settled
from tests.reference.language.values import (
    QueryError,
    compare,
    exact,
    finite,
    integer,
    is_number,
)


def _count(receiver, arguments):
    arguments.check(0, 9)
    return sum(map(arguments.condition(), elements(receiver)))


def _len(receiver, arguments):
    arguments.check(0)
    value = settled(receiver)
    if value is None:
        return None
    if not isinstance(value, list | dict | str):
        raise QueryError("a number or bool has no length")
    return len(value)


def _numbers(receiver, arguments):
    arguments.check(0, 1)
    found = elements(receiver)
    if arguments:
        found = map(arguments.each(0), found)
    return [value for value in found if is_number(value)]


def total(numbers):
    """Return the sum of numbers, exact."""
    for number in numbers:
        finite(number)
    return sum((Fraction(number) for number in numbers), Fraction(0))


def rounded(number):
    """Return the double nearest to an exact number."""
    try:
        return float(number)
    except OverflowError:
        raise QueryError("no finite number") from None


def sum_of(numbers):
    exact = total(numbers)
    if all(isinstance(number, int) for number in numbers):
        return integer(int(exact))
    return rounded(exact)


def average_of(numbers):
    return rounded(total(numbers)) / len(numbers) if numbers else None


def _sum(receiver, arguments):
    return sum_of(_numbers(receiver, arguments))


def _avg(receiver, arguments):
    return average_of(_numbers(receiver, arguments))


def least(found):
    return min(found, default=None, key=exact)


def greatest(found):
    return max(found, default=None, key=exact)


def _by(receiver, arguments, sign):
    arguments.check(1)
    key = arguments.each(0)
    best = None
    for element in elements(receiver):
        pair = key(element), element
        if best is None or compare(pair[0], best[0]) * sign > 0:
            best = pair
    return None if best is None else best[1]


REDUCERS = {
    "count": _count,
    "len": _len,
    "sum": _sum,
    "avg": _avg,
    "min": lambda receiver, arguments: least(_numbers(receiver, arguments)),
    "max": lambda receiver, arguments: greatest(_numbers(receiver, arguments)),
    "min_by": lambda receiver, arguments: _by(receiver, arguments, -1),
    "max_by": lambda receiver, arguments: _by(receiver, arguments, 1),
}
