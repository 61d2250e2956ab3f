"""Functions, which are called without a receiver."""

from __future__ import annotations

from tests.reference.language.values import QueryError

LONGEST = 10_000_000


def _coalesce(arguments):
    for place in range(len(arguments)):
        value = arguments.value(place)
        if value is not None:
            return value
    return None


def _range(arguments):
    arguments.check(1, 3)
    numbers = [arguments.whole(place) for place in range(len(arguments))]
    if len(numbers) == 3 and numbers[2] == 0:
        return []
    made = range(*numbers)
    if len(made) > LONGEST:
        raise QueryError("too many numbers")
    return list(made)


FUNCTIONS = {"coalesce": _coalesce, "range": _range}
