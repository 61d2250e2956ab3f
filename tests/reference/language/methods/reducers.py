"""Methods that reduce all elements to one value."""

from __future__ import annotations

from fractions import Fraction

from tests.reference.language.methods.streams import elements, settled
from tests.reference.language.values import (
    QueryError,
    compare,
    finite,
    in_order,
    integer,
    is_number,
    kind_of,
)


def _count(receiver, arguments):
    arguments.check(0, 9)
    return sum(map(arguments.condition(), elements(receiver)))


def _len(receiver, arguments):
    arguments.check(0)
    value = settled(receiver)
    if value is None:
        return 0
    if not isinstance(value, list | dict | str):
        raise QueryError("a number or bool has no length")
    return len(value)


def _values(receiver, arguments):
    """Return the values to reduce, without null."""
    arguments.check(0, 1)
    found = elements(receiver)
    if arguments:
        found = map(arguments.each(0), found)
    return [value for value in found if value is not None]


def addend(value):
    """Return a value to add; only numbers can be."""
    if not is_number(value):
        raise QueryError(f"a total with {value!r}")
    return finite(value) if isinstance(value, float) else value


def _numbers(receiver, arguments):
    return list(map(addend, _values(receiver, arguments)))


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


def _of_one_kind(found):
    if len(set(map(kind_of, found))) > 1:
        raise QueryError("values of several kinds")
    return found


def least(found):
    return min(_of_one_kind(found), default=None, key=in_order)


def greatest(found):
    return max(_of_one_kind(found), default=None, key=in_order)


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
    "min": lambda receiver, arguments: least(_values(receiver, arguments)),
    "max": lambda receiver, arguments: greatest(_values(receiver, arguments)),
    "min_by": lambda receiver, arguments: _by(receiver, arguments, -1),
    "max_by": lambda receiver, arguments: _by(receiver, arguments, 1),
}
