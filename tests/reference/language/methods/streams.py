"""Lazy methods, which take elements one by one as far as they are needed."""

from __future__ import annotations

from itertools import islice

from tests.reference.language.values import (
    QueryError,
    identity,
    kind_of,
    truthy,
)


class Lazy:
    """Elements that are computed when they are taken."""

    def __init__(self, source):
        self.source = source


def elements(value):
    """Return the elements of the receiver; null has none."""
    if isinstance(value, Lazy):
        return value.source
    if isinstance(value, list):
        return iter(value)
    return iter([]) if value is None else _no_elements()


def _no_elements():
    """Fail once the first element is taken."""
    raise QueryError("no elements")
    yield


def spread(value):
    """Return the elements of an array, none of null, or a single value."""
    return iter([value]) if kind_of(value) not in {"null", "array"} else elements(value)


def settled(value):
    """Return a value, computed completely."""
    return list(value.source) if isinstance(value, Lazy) else value


def _filter(receiver, arguments):
    arguments.check(1, 9)
    return Lazy(filter(arguments.condition(), elements(receiver)))


def _map(receiver, arguments):
    arguments.check(1)
    return Lazy(map(arguments.each(0), elements(receiver)))


def _flat_map(receiver, arguments):
    arguments.check(1)
    function = arguments.each(0)
    return Lazy(
        inner for element in elements(receiver) for inner in spread(function(element))
    )


def _take(receiver, arguments):
    arguments.check(1)
    return Lazy(islice(elements(receiver), arguments.count(0)))


def _skip(receiver, arguments):
    arguments.check(1)
    return Lazy(islice(elements(receiver), arguments.count(0), None))


def _compact(receiver, arguments):
    arguments.check(0)
    return Lazy(element for element in elements(receiver) if element is not None)


def first_of_each(pairs):
    """Yield the first value of each key of (key, value) pairs."""
    seen = set()
    for key, value in pairs:
        if identity(key) not in seen:
            seen.add(identity(key))
            yield value


def _unique(receiver, arguments):
    arguments.check(0)
    pairs = ((element, element) for element in elements(receiver))
    return Lazy(first_of_each(pairs))


def _unique_by(receiver, arguments):
    arguments.check(1)
    key = arguments.each(0)
    pairs = ((key(element), element) for element in elements(receiver))
    return Lazy(first_of_each(pairs))


def _flatten(receiver, arguments):
    arguments.check(0, 1)
    depth = arguments.count(0) if arguments else 1
    return Lazy(_flat(elements(receiver), depth))


def _flat(source, depth):
    for element in source:
        if isinstance(element, list) and depth > 0:
            yield from _flat(element, depth - 1)
        else:
            yield element


def _find(receiver, arguments):
    arguments.check(1, 9)
    return next(filter(arguments.condition(), elements(receiver)), None)


def _any(receiver, arguments):
    arguments.check(1, 9)
    return any(map(arguments.condition(), elements(receiver)))


def _all(receiver, arguments):
    arguments.check(1, 9)
    return all(map(arguments.condition(), elements(receiver)))


def _first(receiver, arguments):
    arguments.check(0, 1)
    if arguments:
        return list(islice(elements(receiver), arguments.count(0)))
    return next(elements(receiver), None)


def _last(receiver, arguments):
    arguments.check(0, 1)
    if not arguments:
        found = list(elements(receiver))
        return found[-1] if found else None
    count = arguments.count(0)
    # A count of 0 needs no element.
    found = list(elements(receiver)) if count else []
    return found[-count:]


def _nth(receiver, arguments):
    arguments.check(1)
    place = arguments.whole(0)
    if place >= 0:
        return next(islice(elements(receiver), place, None), None)
    found = list(elements(receiver))
    return found[place] if -len(found) <= place < len(found) else None


def _partition(receiver, arguments):
    arguments.check(1, 9)
    condition = arguments.condition()
    fitting, others = [], []
    for element in elements(receiver):
        (fitting if truthy(condition(element)) else others).append(element)
    return [fitting, others]


STREAMS = {
    "filter": _filter,
    "find_all": _filter,
    "map": _map,
    "flat_map": _flat_map,
    "take": _take,
    "skip": _skip,
    "drop": _skip,
    "compact": _compact,
    "unique": _unique,
    "distinct": _unique,
    "unique_by": _unique_by,
    "distinct_by": _unique_by,
    "flatten": _flatten,
    "find": _find,
    "find_first": _find,
    "any": _any,
    "exists": _any,
    "all": _all,
    "first": _first,
    "last": _last,
    "nth": _nth,
    "partition": _partition,
}
