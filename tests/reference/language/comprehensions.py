"""The iterations of the loops in a comprehension."""

from __future__ import annotations

from tests.reference.language.values import QueryError, truthy


def turns(loops, scope, evaluate):
    """Yield the scope of each iteration of the innermost loop."""
    if not loops:
        yield scope
        return
    loop, *inner_loops = loops
    for item in elements(evaluate(loop.source, scope)):
        inner = scope.knowing(_names(loop.names, item))
        if all(truthy(evaluate(test, inner)) for test in loop.conditions):
            yield from turns(inner_loops, inner, evaluate)


def elements(source):
    """Return the elements of a loop."""
    if isinstance(source, list):
        return source
    if isinstance(source, dict):
        return [{"key": key, "value": value} for key, value in source.items()]
    if source is not None:
        raise QueryError("no elements")
    return []


def _names(names, item):
    if len(names) == 1:
        return {names[0]: item}
    return dict(zip(names, _pair(item), strict=True))


def _pair(item):
    if isinstance(item, list) and len(item) == 2:
        return item
    if isinstance(item, dict):
        for first in ("key", "index"):
            if item.keys() == {first, "value"}:
                return item[first], item["value"]
    return None, item
