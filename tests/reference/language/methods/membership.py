"""Tests of membership."""

from __future__ import annotations

from tests.reference.language.data_paths import reached
from tests.reference.language.values import QueryError, equal


def includes(container, item):
    """Whether an array has an element, a text a part, an object a key."""
    if container is None:
        return None
    if isinstance(container, list):
        return any(equal(element, item) for element in container)
    if isinstance(container, str | dict):
        return isinstance(item, str) and item in container
    return False


def has(container, wanted):
    """Whether a value includes an item, or all items of an array."""
    if container is None:
        return None
    several = wanted if isinstance(wanted, list) else [wanted]
    return all(includes(container, item) for item in several)


def _includes(receiver, arguments):
    arguments.check(1)
    return includes(receiver, arguments.value(0))


def _has(receiver, arguments):
    arguments.check(1, 9)
    names = arguments.names()
    if receiver is None:
        return None
    return all(has(receiver, name) for name in names)


def _missing(receiver, arguments):
    arguments.check(1, 9)
    names = arguments.names()
    if not all(isinstance(name, str) for name in names):
        raise QueryError("a key must be a text")
    absent = [name for name in names if reached(receiver, name) is None]
    return absent if len(names) > 1 else bool(absent)


def _or(receiver, arguments):
    arguments.check(1)
    return arguments.value(0) if receiver is None else receiver


MEMBERSHIP = {
    "includes": _includes,
    "contains": _includes,
    "has": _has,
    "missing": _missing,
    "or": _or,
}
