"""Writes outside of a chain from ``$``: they return the changed receiver."""

from __future__ import annotations

from tests.reference.language.methods.objects import each_object, without
from tests.reference.language.values import NotInSubset, QueryError


def _set(_receiver, arguments):
    arguments.check(1)
    return arguments.value(0)


def _modify(receiver, arguments):
    if len(arguments) == 2:
        raise NotInSubset("an update by a path")
    arguments.check(1)
    return arguments.each(0)(receiver)


def _delete(_receiver, arguments):
    arguments.check(0)


def _unset(receiver, arguments):
    if not arguments:
        raise QueryError("unset what?")
    keys = arguments.names()
    return each_object(receiver, lambda value: without(value, keys))


PLAIN_WRITES = {
    "unset": _unset,
    "set": _set,
    "modify": _modify,
    "update": _modify,
    "delete": _delete,
}
