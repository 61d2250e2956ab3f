"""Grouping with aggregates: ``group(city, {n: count(), total: sum(v)})``, and `aggregate`.

In the aggregates ``@`` is the array of the elements of a group, and a function of elements
without a receiver applies to it: ``sum(v)`` is ``@.sum(v)``. `slots_of` cuts aggregates into
*slots*, accumulators that take one element at a time, and an expression over the final slots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from headrace.kernel.values import builtins
from headrace.language import ast, traversal
from headrace.logical.steps import RANKS
from headrace.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

NAMES = frozenset({"group", "aggregate"})
"""Methods that this module handles."""

SlotKind: TypeAlias = Literal["count", "sum", "avg", "min", "max", "numbers", "collect"]
"""Kinds of accumulators: the count of truthy values, a total, ..., an array of numbers, or of all values."""

OF_NUMBERS = frozenset({
    "histogram", "median", "percentile", "pstdev", "quantile", "stddev", "stddev_pop",
    "stddev_samp", "stdev", "var_pop", "var_samp", "variance",
})  # fmt: skip
"""Functions that fail on values that are neither number nor null."""

_REDUCED: dict[str, SlotKind] = {"sum": "sum", "avg": "avg", "min": "min", "max": "max"}
_AGGREGATES = frozenset({"Reducers", "Aggregates"})
_CONDITIONS = frozenset({"any", "all", "exists"})


_ELSEWHERE = (ast.Root, ast.Source)
"""Expressions that use more than the elements."""


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


@record
class Slot:
    """Accumulator of a group; `each` is evaluated for every element, as ``@``."""

    kind: SlotKind
    each: ast.Node


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
        builtin.group in _AGGREGATES or builtin.name in _CONDITIONS
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
                    if _is_value(node.name, place - 1)
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


def _is_value(name: str, position: int) -> bool:
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
                if _is_value(name, place - 1):
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


# Slots


class _NotCut(Exception):  # noqa: N818
    """Signal that the aggregates need all elements of a group together."""


def slots_of(grouping: Grouping) -> tuple[list[Slot], ast.ObjectLiteral] | None:
    """Return the slots, and the program that makes a row of an array of keys and an array of slots.

    None if the aggregates need more than accumulators and expressions over them.
    """
    if any(isinstance(key, ast.Lambda) for _, key in grouping.keys):
        return None
    slots: list[Slot] = []
    try:
        entries = [
            traversal.rebuilt(entry, lambda node: _cut(node, slots))
            for entry in grouping.aggregates.entries
        ]
    except _NotCut:
        return None
    keys = [
        ast.Entry(name, _part(0, place))
        for place, (name, _) in enumerate(grouping.keys)
    ]
    return slots, replace(grouping.aggregates, entries=(*keys, *entries))


def slots_of_numbers(step: ast.Method) -> tuple[Slot, ast.Method] | None:
    """Return the slot of a function of numbers, and the function of the numbers in it.

    None if its other arguments are no constants.
    """
    args = step.args
    if step.optional or any(arg.name is not None for arg in args):
        return None
    builtin = builtins()[step.name]
    each = ast.Arg(ast.Current())
    if len(args) == len(builtin.parameters):
        each, args = args[0], args[1:]
    elif len(args) != builtin.required:
        return None
    if any(_mentions(arg.value, (ast.Current, ast.Name, *_ELSEWHERE)) for arg in args):
        return None
    try:
        slot = Slot("numbers", _about_each(each))
    except _NotCut:
        return None
    return slot, replace(step, args=args)


def elements_of(grouping: Grouping, slots: Sequence[Slot]) -> ast.Node:
    """Return the values of each element: its keys, and one value for each slot."""
    keys = ast.ArrayLiteral(tuple(key for _, key in grouping.keys))
    return ast.ArrayLiteral(
        (keys, ast.ArrayLiteral(tuple(slot.each for slot in slots)))
    )


def _part(*places: int) -> ast.Path:
    return ast.Path(ast.Current(), tuple(ast.Index(place) for place in places))


def _cut(node: ast.Node, slots: list[Slot]) -> ast.Node:  # noqa: C901, a table of kinds
    """Return an expression over slots, adding those that it needs."""

    def slot(kind: SlotKind, each: ast.Node) -> ast.Path:
        wanted = Slot(kind, each)
        if wanted not in slots:
            slots.append(wanted)
        return _part(1, slots.index(wanted))

    match node:
        case ast.Path(ast.Current(), (ast.Method("count", args), *rest)):
            conditions = tuple(_about_each(arg) for arg in args)
            every = (ast.Literal(value=True), *conditions)
            test = ast.And(every) if len(conditions) > 1 else every[-1]
            return _followed(slot("count", test), rest, node)
        case ast.Path(ast.Current(), (ast.Method(name, args), *rest)) if (
            name in _REDUCED
        ):
            if len(args) > 1:
                raise _NotCut
            taken = _about_each(args[0]) if args else ast.Current()
            return _followed(slot(_REDUCED[name], taken), rest, node)
        case ast.Path(ast.Current(), (ast.Method(name, (first, *others)), *rest)) if (
            _is_of_one_value(name, len(others))
        ):
            kind: SlotKind = "numbers" if name in OF_NUMBERS else "collect"
            values = slot(kind, _about_each(first))
            itself = replace(first, value=ast.Current())
            step = ast.Method(name, (itself, *others), span=node.span)
            return _followed(values, (step, *rest), node)
        case ast.Path(ast.Current(), steps):
            return _followed(slot("collect", ast.Current()), steps, node)
        case ast.Path(base, steps):
            return _followed(_cut(base, slots), steps, node)
        case ast.Current():
            return slot("collect", node)
        case ast.Call(_, (_, *_)):
            if not all(
                _is_value(node.name, place - 1) for place in range(len(node.args))
            ):
                raise _NotCut
            return traversal.rebuilt(node, lambda child: _cut(child, slots))
        case (
            ast.Literal()
            | ast.Binary()
            | ast.Compare()
            | ast.Negate()
            | ast.Not()
            | ast.IsKind()
            | ast.Cast()
            | ast.ArrayLiteral()
            | ast.FString()
        ):
            return traversal.rebuilt(node, lambda child: _cut(child, slots))
        case ast.ObjectLiteral(entries) if all(
            isinstance(entry, ast.Entry) and entry.condition is None
            for entry in entries
        ):
            return traversal.rebuilt(node, lambda child: _cut(child, slots))
        case ast.And(operands) | ast.Or(operands) | ast.Coalesce(operands):
            sure, *rare = operands
            cut = [_cut(sure, slots), *(_cut_if_needed(each, slots) for each in rare)]
            return replace(node, operands=tuple(cut))
        case ast.Conditional(test, then, otherwise):
            return replace(
                node,
                test=_cut(test, slots),
                then=_cut_if_needed(then, slots),
                otherwise=_cut_if_needed(otherwise, slots),
            )
        case _:
            raise _NotCut


def _cut_if_needed(node: ast.Node, slots: list[Slot]) -> ast.Node:
    """Cut an expression that is not always evaluated: slots that only it needs must not fail."""
    known = len(slots)
    cut = _cut(node, slots)
    if any(slot != Slot("count", ast.Literal(value=True)) for slot in slots[known:]):
        raise _NotCut
    return cut


def _followed(of: ast.Node, steps: Sequence[ast.Step], whole: ast.Node) -> ast.Node:
    """Return a value with steps that use nothing else of the group."""
    for step in steps:
        match step:
            case ast.Method(name, args):
                for place, arg in enumerate(args):
                    if _is_value(name, place) and _is_about_group(arg.value):
                        raise _NotCut
                    if _mentions(arg.value, _ELSEWHERE):
                        raise _NotCut
            case ast.Field() | ast.Index() | ast.Slice() | ast.ExactlyOne():
                pass
            case ast.Each() | ast.InlineFilter() if not _mentions(step, _ELSEWHERE):
                pass
            case _:
                raise _NotCut
    if not steps:
        return of
    return ast.Path(of, tuple(steps), span=whole.span)


def _is_of_one_value(name: str, others: int) -> bool:
    """Whether a function uses only the value of its first argument for each element."""
    builtin = builtins().get(name)
    return (
        builtin is not None
        and builtin.group in _AGGREGATES
        and builtin.name not in {"fold", "accumulate", "min_by", "max_by"}
        and builtin.name not in NAMES
        and builtin.name not in RANKS
        and others == len(builtin.parameters) - 1
    )


def _about_each(arg: ast.Arg) -> ast.Node:
    """Return an argument as an expression in which ``@`` is the element."""
    node = arg.value
    if arg.name is not None:
        raise _NotCut
    if isinstance(node, ast.Lambda):
        if len(node.params) != 1:
            raise _NotCut
        return ast.Let((ast.Binding(node.params[0], ast.Current()),), node.body)
    if isinstance(node, ast.Name) and node.name in builtins():
        # As an argument, it is the function for elements that are no objects.
        one = ast.Path(ast.ArrayLiteral((ast.Current(),)), (ast.Method("map", (arg,)),))
        return ast.Path(one, (ast.Index(0),))
    return node


def _is_about_group(node: ast.Node) -> bool:
    return _mentions(node, (ast.Current, ast.Name, ast.Call))


def _mentions(part: ast.Located, kinds: tuple[type[ast.Located], ...]) -> bool:
    return any(isinstance(node, kinds) for node in traversal.walk(part))
