"""Grouping with aggregates: ``group(city, {n: count(), total: sum(v)})``, and `aggregate`.

In the aggregates ``@`` is the array of the elements of a group, and a function of elements
without a receiver applies to it: ``sum(v)`` is ``@.sum(v)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.kernel.values import builtins
from headrace.language import ast, traversal
from headrace.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

NAMES = frozenset({"group", "aggregate"})
"""Methods that this module handles."""

OF_NUMBERS = frozenset({
    "histogram", "median", "percentile", "pstdev", "quantile", "stddev", "stddev_pop",
    "stddev_samp", "stdev", "var_pop", "var_samp", "variance",
})  # fmt: skip
"""Functions that fail on values that are neither number nor null."""

AGGREGATES = frozenset({"Reducers", "Aggregates"})
"""Groups of functions of elements."""

_CONDITIONS = frozenset({"any", "all", "exists"})


class Problem(NamedTuple):
    """Error in a call: its place, the reason and the hint."""

    node: ast.Located
    reason: str
    hint: str


@record
class Grouping:
    """Keys by the names of their fields, and the aggregates of a group."""

    keys: tuple[tuple[str, ast.Node], ...]
    aggregates: ast.ObjectLiteral


def grouping_of(
    name: str, args: Sequence[ast.Arg], call: ast.Located
) -> Grouping | Problem:
    """Return the grouping of a call of `group` or `aggregate`, or the error in it."""
    *keys, last = args or (ast.Arg(ast.Literal(None), span=call.span),)
    example = "{n: count(), total: sum(v)}"
    if not isinstance(last.value, ast.ObjectLiteral) or last.name is not None:
        reason = f"the last argument of {name} names the aggregates"
        before = "key, " if name == "group" else ""
        return Problem(last, reason, f"write {name}({before}{example})")
    if name == "aggregate" and keys:
        reason = "aggregate has no keys"
        return Problem(keys[0], reason, f"write group(key, {example})")
    if name == "group" and not keys:
        hint = f"write group(key, {example}), or aggregate({example}) of all"
        return Problem(call, "group takes a key", hint)
    named = []
    for key in keys:
        field = key.name or _field_of(key.value)
        if field is None:
            hint = "write name: expression"
            return Problem(key, "a key that is no field needs a name", hint)
        named.append((field, _as_field(key.value)))
    return _checked(tuple(named), last.value)


def _checked(
    keys: tuple[tuple[str, ast.Node], ...], aggregates: ast.ObjectLiteral
) -> Grouping | Problem:
    taken = {name for name, _ in keys}
    if len(taken) < len(keys):
        return Problem(aggregates, "two keys have the same name", "write name: key")
    for entry in aggregates.entries:
        if isinstance(entry, ast.Shorthand):
            return _no_value(entry, entry.name)
        if not isinstance(entry, ast.Entry) or entry.optional or entry.condition:
            reason = "an aggregate has a name and a value, and nothing else"
            return Problem(entry, reason, "write name: aggregate, as in n: count()")
        if entry.key in taken:
            reason = f"there is another field {entry.key} in the rows"
            return Problem(entry, reason, "give it another name")
        taken.add(entry.key)
    return Grouping(keys, traversal.rebuilt(aggregates, _about_group))


def _field_of(node: ast.Node) -> str | None:
    match node:
        case ast.Name(name) | ast.Path(_, (*_, ast.Field(name))):
            return name
        case _:
            return None


def _as_field(node: ast.Node) -> ast.Node:
    """Return a key; a bare name is a field of the element, never a function."""
    if isinstance(node, ast.Name) and node.name in builtins():
        return ast.Path(ast.Current(), (ast.Field(node.name),), span=node.span)
    return node


def _no_value(node: ast.Located, name: str) -> Problem:
    if name in builtins() and not builtins()[name].required:
        return Problem(node, f"{name} is a function", f"write {name}()")
    reason = f"{name} is a field of each element, and the group has many"
    hint = f"make it a key, or write max({name}), @.first().{name} or @.map({name})"
    return Problem(node, reason, hint)


def _is_aggregate(name: str) -> bool:
    builtin = builtins().get(name)
    return builtin is not None and (
        builtin.group in AGGREGATES or builtin.name in _CONDITIONS
    )


def _about_group(node: ast.Node) -> ast.Node:
    """Return an expression in which functions of elements have the group as their receiver."""
    match node:
        case ast.Call(name, args) if _is_aggregate(name):
            method = ast.Method(name, args, span=node.span)
            return ast.Path(ast.Current(), (method,), span=node.span)
        case ast.Call():
            return replace(
                node,
                args=tuple(
                    replace(arg, value=_about_group(arg.value))
                    if is_value(node.name, place - 1)
                    else arg
                    for place, arg in enumerate(node.args)
                ),
            )
        case ast.Path(base, steps):
            return replace(node, base=_about_group(base), steps=steps)
        case ast.Lambda() | ast.ArrayComprehension() | ast.ObjectComprehension():
            return node
        case ast.Pipe(first):
            return replace(node, first=_about_group(first))
        case _:
            return traversal.rebuilt(node, _about_group)


def is_value(name: str, position: int) -> bool:
    """Whether the argument at a position (-1: the receiver) is not evaluated for each element."""
    builtin = builtins().get(name)
    if builtin is None or position < 0:
        return True
    parameter = builtin.parameter(position)
    return parameter is not None and parameter.kind == "value"


def stray_name(grouping: Grouping, known: Collection[str]) -> Problem | None:
    """Return a bare name in the aggregates that is a field of no single element."""
    for entry in grouping.aggregates.entries:
        for name in _names(entry):
            if name.name not in known:
                return _no_value(name, name.name)
    return None


def _names(part: ast.Located) -> Iterator[ast.Name]:  # noqa: C901, a table of kinds
    """Yield the bare names that are neither fields of elements nor given within the expression."""
    match part:
        case ast.Name():
            yield part
        case ast.Path(base):
            yield from _names(base)
        case ast.Call(name, args):
            for place, arg in enumerate(args):
                if is_value(name, place - 1):
                    yield from _names(arg.value)
        case ast.Lambda() | ast.ArrayComprehension() | ast.ObjectComprehension():
            pass
        case ast.Let() | ast.Match():
            pass
        case ast.Pipe(first):
            yield from _names(first)
        case ast.Shorthand(name):
            yield ast.Name(name, span=part.span)
        case ast.ObjectLiteral(entries):
            for entry in entries:
                yield from _names(entry)
        case _:
            for child in traversal.children(part):
                yield from _names(child)
