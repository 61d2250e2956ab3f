"""Methods that need all elements."""

from __future__ import annotations

from dataclasses import replace
from functools import cmp_to_key

from headrace.language import ast
from tests.reference.language.methods.streams import Lazy, elements
from tests.reference.language.values import (
    NotInSubset,
    QueryError,
    in_order,
    kind_of,
    text_of,
    truthy,
)


def _sort(receiver, arguments):
    arguments.check(0, 9)
    if arguments.scope.manner == "eager":
        return _sorted(receiver, arguments)
    return Lazy(_sorted_when_needed(receiver, arguments))


def _sorted_when_needed(receiver, arguments):
    """Yield elements in order; if none is needed, no key is computed."""
    yield from _sorted(receiver, arguments)


def _sorted(receiver, arguments):
    found = list(elements(receiver))
    if not arguments:
        return sorted(found, key=in_order)
    before = arguments.of_two(0)
    if before is not None:
        return sorted(found, key=cmp_to_key(_by_comparison(before)))
    # The last key first: sorting is stable.
    keys = [_sort_key(arguments, place) for place in range(len(arguments))]
    rows = [([in_order(key(element)) for key, _ in keys], element) for element in found]
    for place in reversed(range(len(keys))):
        rows.sort(key=lambda row: row[0][place], reverse=keys[place][1])
    return [element for _keys, element in rows]


def _sort_key(arguments, place):
    """Return a key as a function of an element, and whether it is descending."""
    node = arguments.args[place].value
    named = isinstance(node, ast.Lambda)
    body = node.body if named else node
    if not isinstance(body, ast.Negate):
        return arguments.each(place), False
    upwards = replace(node, body=body.operand) if named else body.operand
    argument = replace(arguments.args[place], value=upwards)
    return replace(arguments, args=(argument,)).each(0), True


def _by_comparison(before):
    def comparison(one, other):
        if truthy(before(one, other)):
            return -1
        return 1 if truthy(before(other, one)) else 0

    return comparison


def _reverse(receiver, arguments):
    arguments.check(0)
    if isinstance(receiver, str):
        return receiver[::-1]
    return list(elements(receiver))[::-1]


def key_text(value):
    """Return a value as the key of an object."""
    if isinstance(value, list | dict):
        # Equal keys have one text; which spelling is not specified.
        raise NotInSubset("an array or an object as a key")
    return text_of(value)


def _group_by(receiver, arguments):
    arguments.check(1)
    key = arguments.each(0)
    groups = {}
    kinds = {}
    for element in elements(receiver):
        value = key(element)
        text = key_text(value)
        if kinds.setdefault(text, kind_of(value)) != kind_of(value):
            raise QueryError(f"keys of two kinds: {text}")
        groups.setdefault(text, []).append(element)
    return groups


def _count_by(receiver, arguments):
    groups = _group_by(receiver, arguments)
    return {key: len(group) for key, group in groups.items()}


def _index_by(receiver, arguments):
    groups = _group_by(receiver, arguments)
    return {key: group[-1] for key, group in groups.items()}


def _append(receiver, arguments):
    arguments.check(1)
    # An addend without an array is not evaluated.
    return [*receiver, arguments.value(0)] if isinstance(receiver, list) else receiver


GROUPING = {
    "sort": _sort,
    "sort_by": _sort,
    "reverse": _reverse,
    "group_by": _group_by,
    "count_by": _count_by,
    "index_by": _index_by,
    "append": _append,
}
