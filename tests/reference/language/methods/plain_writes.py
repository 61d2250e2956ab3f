"""Writes where no chain from ``$`` ends: the new value of what they are called on."""

from __future__ import annotations

from headrace.language import ast
from tests.reference.language.values import NotInSubset


def _set(_receiver, arguments):
    arguments.check(1)
    return arguments.value(0)


def _modify(receiver, arguments):
    if len(arguments) == 2:
        raise NotInSubset("an update by a path")
    arguments.check(1)
    if isinstance(arguments.args[0].value, ast.ObjectLiteral):
        raise NotInSubset("fields to be changed")
    return arguments.each(0)(receiver)


def _delete(_receiver, arguments):
    arguments.check(0)


PLAIN_WRITES = {
    "set": _set,
    "modify": _modify,
    "update": _modify,
    "delete": _delete,
}
