"""Evaluation of the steps of a path.

Methods that take elements one by one return a `Lazy`: the next method takes only the
elements that it needs; the others are never computed, so they cannot fail.
"""

from __future__ import annotations

from headrace.language import ast
from tests.reference.language.arguments import Arguments
from tests.reference.language.methods import METHODS
from tests.reference.language.methods.streams import elements, settled
from tests.reference.language.scope import NO_HOLDER, Later, RowsOnly
from tests.reference.language.values import (
    NotInSubset,
    QueryError,
    kind_of,
    truthy,
    whole,
)
from tests.reference.language.writes import changed, is_update, is_write


def follow(path, scope, evaluate):
    """Return the value of a path."""
    return settled(_followed(path, scope, evaluate))


def _followed(path, scope, evaluate):
    base, steps = path.base, path.steps
    of_rows = isinstance(base, ast.Root) and steps[0] == ast.Method("rows")
    if isinstance(base, ast.Name):
        base, scope_of_base = later(base, scope)
    else:
        scope_of_base = scope
    if of_rows:
        if scope.in_stage:
            raise QueryError("all rows in a stage about one")
        value = list(scope.root) if isinstance(scope.root, RowsOnly) else scope.root
    elif _is_of_holder(path, scope):
        value = scope.holder
    elif isinstance(base, ast.Path) and not is_write(base):
        value = _followed(base, scope_of_base, evaluate)
    else:
        value = evaluate(base, scope_of_base)
    if of_rows:
        value = value if isinstance(value, list) else [value]
        steps = steps[1:]
    return Walk(scope, evaluate, of_rows).through(value, steps)


def later(node, scope):
    """Return the value of a name that is computed where it is used, else the name."""
    while isinstance(node, ast.Name):
        value = scope.variables.get(node.name)
        if not isinstance(value, Later):
            break
        node, scope = value.node, value.scope
    return node, scope


FIRST = ast.Method("first")
ONE = {"find", "find_first", "find_one", "first", "last", "nth"}


def gives_one(step):
    """Whether a step returns one of the elements before it."""
    if not isinstance(step, ast.Method) or step.name not in ONE:
        return False
    return not (step.name in {"first", "last"} and step.args)


def _is_of_holder(path, scope):
    """Whether a path is ``has(k)`` or ``missing(k)`` in a change, without a receiver."""
    implied = isinstance(path.base, ast.Current) and (
        path.base.span.start == path.base.span.end
    )
    first = path.steps[0]
    return (
        scope.holder is not NO_HOLDER
        and implied
        and isinstance(first, ast.Method)
        and first.name in {"has", "missing"}
    )


class Walk:
    """One evaluation of the steps of a path."""

    def __init__(self, scope, evaluate, of_rows):
        self.scope = scope
        self.evaluate = evaluate
        self.of_rows = of_rows

    def through(self, value, steps):
        for place, step in enumerate(steps):
            if isinstance(step, ast.Each):
                return self.each(settled(value), step, steps[place + 1 :])
            if isinstance(step, ast.Method):
                if (
                    step == FIRST
                    and place
                    and gives_one(steps[place - 1])
                    and kind_of(value) not in {"null", "array"}
                ):
                    # The step before has already returned the first element.
                    continue
                value = self.method(value, step)
            else:
                value = self.step(settled(value), step)
        return value

    def step(self, value, step):
        match step:
            case ast.Field(name):
                return value.get(name) if isinstance(value, dict) else None
            case ast.Index(index):
                return element_at(value, index)
            case ast.Slice():
                return sliced(value, step)
            case ast.Computed(key):
                return at_key(value, self.evaluate(key, self.scope))
            case ast.InlineFilter(predicate):
                return [
                    element
                    for element in elements(value)
                    if truthy(self.evaluate(predicate, self.scope.at(element)))
                ]
            case ast.Descend(str() as key):
                return list(everything_under(value, key))
            case ast.ExactlyOne():
                return only(value)
        raise NotInSubset(type(step).__name__)

    def each(self, value, step, rest):
        condition, body = step.condition, step.body
        if condition is body is None and not rest:
            return value
        chosen = list(elements(value))
        if condition is not None:
            chosen = [
                element
                for element in chosen
                if truthy(self.evaluate(condition, self.scope.at(element)))
            ]
        if body is not None:
            return [self.evaluate(body, self.scope.at(element)) for element in chosen]
        return [
            settled(self.about(element).through(element, rest)) for element in chosen
        ]

    def about(self, element):
        """Return the same walk where ``@`` is an element, as in an argument of `map`."""
        return Walk(self.scope.at(element), self.evaluate, self.of_rows)

    def method(self, value, step):
        if is_update(step):
            return changed(settled(value), [], step, self.scope, self.evaluate)
        if step.name not in METHODS:
            raise NotInSubset(step.name)
        if step.optional and value is None:
            return None
        arguments = Arguments(step.args, self.scope, self.evaluate, self.of_rows)
        return METHODS[step.name](value, arguments)


def element_at(value, index):
    if not isinstance(value, list | str) or not -len(value) <= index < len(value):
        return None
    return value[index]


def at_key(value, key):
    if key is None:
        return None
    if isinstance(key, str):
        return value.get(key) if isinstance(value, dict) else None
    place = whole(key)
    if place is None:
        raise QueryError("no position")
    return element_at(value, place)


def sliced(value, step):
    if not isinstance(value, list | str) or step.step == 0:
        return None
    return value[step.start : step.stop : step.step]


def everything_under(value, key):
    """Yield every value of a key: that of an object before those inside it."""
    if isinstance(value, dict):
        if key in value:
            yield value[key]
        for inner in value.values():
            yield from everything_under(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from everything_under(inner, key)


def only(value):
    if not isinstance(value, list):
        return value
    if len(value) != 1:
        raise QueryError("not exactly one")
    return value[0]
