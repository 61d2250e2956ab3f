"""Slots: aggregates of groups as accumulators that take one element at a time.

Aggregates of ``@``, the array of the elements of a group, are cut into slots and an expression
over what the slots hold in the end. A slot holds a value, such as a total, or an array that gives
the same as all elements would to the steps behind it: the first ones to ``@.take(3)``, the best
ones to ``@.max_by(v)``. The result of a group is an array of two, its keys and its slots, and an
expression over these makes what the query makes of the group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from headrace.kernel.values import builtins
from headrace.language import ast, traversal
from headrace.logical.grouping import (
    AGGREGATES,
    NAMES,
    OF_NUMBERS,
    Grouping,
    is_value,
)
from headrace.logical.methods import RANKS
from headrace.logical.stream_steps import (
    compares_two,
    count_taken,
    is_call,
    literal_count,
    mentions_root,
    sort_key,
)
from headrace.logical.totality import cannot_fail
from headrace.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SlotKind: TypeAlias = Literal[
    "count", "sum", "avg", "min", "max", "first", "last", "best", "distinct", "approximate",
    "numbers", "collect",
]  # fmt: skip
"""Kinds of accumulators: the count of truthy values, a total, ..., an array of the first values, of
the best, of different ones, of numbers, or of all values."""

_REDUCED: dict[str, SlotKind] = {"sum": "sum", "avg": "avg", "min": "min", "max": "max"}
_BY_KEY = frozenset({"min_by", "max_by"})
_SORTS = frozenset({"sort", "sort_by"})
_EACH_ELEMENT = frozenset({"fold", "accumulate", *_BY_KEY, *NAMES, *RANKS})
"""Functions of elements that use more than the value of their first argument for each."""

_ELSEWHERE = (ast.Root, ast.Source)
"""Expressions that use more than the elements."""


class SlotShape(NamedTuple):
    """Kind of an accumulator, how many elements it holds, and which of its keys fall.

    `function` is the one that errors name, of those that use the same numbers.
    """

    kind: SlotKind
    elements: int = 0
    falling: tuple[bool, ...] = ()
    function: str = ""

    def holds_same(self, other: SlotShape) -> bool:
        """Whether another accumulator holds the same of each element."""
        return self._replace(function="") == other._replace(function="")


@record
class Slot:
    """Accumulator of a group; `each` is evaluated for every element, as ``@``."""

    shape: SlotShape
    each: ast.Node


EVERY = Slot(SlotShape("count"), ast.Literal(value=True))
"""The count of all elements."""


class NamedGroups(NamedTuple):
    """Groups by the text of one key, their slots, and the steps that use what becomes of them.

    `pair` makes the text and what becomes of a group of an array of keys and one of slots.
    """

    key: ast.Node
    slots: list[Slot]
    pair: ast.ArrayLiteral
    rest: tuple[ast.Step, ...]


class _NotCut(Exception):  # noqa: N818
    """Signal that the aggregates need all elements of a group together."""


def named_groups(step: ast.Method, rest: Sequence[ast.Step]) -> NamedGroups | None:
    """Return the groups of `group_by` or `group_shape` with the steps behind it.

    None if what becomes of a group needs all of its elements.
    """
    if any(map(mentions_root, (step, *rest))):
        return None
    try:
        return _named_groups(step, tuple(rest))
    except _NotCut:
        return None


def _named_groups(step: ast.Method, rest: tuple[ast.Step, ...]) -> NamedGroups | None:
    slots: list[Slot] = []
    match step.name, step.args, rest:
        case "group_by", (ast.Arg(_, None) as key,), (
            ast.Method("transform_values", (ast.Arg(_, None) as made,)),
            *behind,
        ):
            value = _cut(_of_array(made), slots)
        case "group_by", (ast.Arg(_, None) as key,), (
            ast.Method("values", ()) as values,
            ast.Method("map", (ast.Arg(_, None) as made,)),
            *behind,
        ):
            value = _cut(_of_array(made), slots)
            behind = [values, *behind]
        case "group_by", (ast.Arg(_, None) as key,), (
            ast.Method("entries", ()),
            ast.Method("map", (ast.Arg(ast.Lambda() as made, None),)),
            *behind,
        ):
            value = _cut(_of_pair(made), slots)
            behind = [ast.Method("values"), *behind]
        case "group_by", (ast.Arg(_, None) as key,), (last, *_) if is_call(
            last, "keys"
        ) or is_call(last, "len"):
            value, behind = ast.Literal(None), list(rest)
        case "group_shape", (key, made), _ if key.name in (
            None,
            "by",
        ) and made.name in (None, "shape"):
            value, behind = _cut(_of_array(made), slots), list(rest)
        case _:
            return None
    if any(
        slot.shape.kind == "collect" and isinstance(slot.each, ast.Current)
        for slot in slots
    ):
        return None
    pair = ast.ArrayLiteral((_part(0, 0), value))
    return NamedGroups(_about_each(replace(key, name=None)), slots, pair, tuple(behind))


def _of_array(arg: ast.Arg) -> ast.Node:
    """Return an argument as an expression in which ``@`` is the array of the elements."""
    match arg.value:
        case ast.Name(name) if name in builtins():
            # As an argument, it is the function for an array.
            return ast.Path(ast.Current(), (ast.Method(name),), span=arg.span)
        case ast.Lambda((ast.Variable(name),), body):
            return _bound(body, {name: ast.Current()}, ast.Current())
        case ast.Lambda():
            raise _NotCut
        case node:
            return node


def _of_pair(function: ast.Lambda) -> ast.Node:
    """Return the body of a function of an entry: ``@`` is the array, ``_KEY`` the text of the key."""
    match function.params:
        case (ast.Items((key, elements), None),) if key != elements:
            names: dict[str, ast.Node] = {key: _KEY, elements: ast.Current()}
            return _bound(function.body, names, None)
        case _:
            raise _NotCut


_KEY = ast.Path(ast.Name("@"), ())
"""The text of the key of a group: no query has a name like that."""


def _bound(
    node: ast.Node, names: Mapping[str, ast.Node], current: ast.Node | None
) -> ast.Node:
    """Return an expression with what its names, and ``@``, are for the group as a whole."""

    def inner(part: ast.Node) -> ast.Node:
        return _bound(part, names, current)

    match node:
        case ast.Name(name):
            return names.get(name, node)
        case ast.Current():
            if current is None:
                raise _NotCut
            return current
        case ast.Path(base, steps):
            for step in steps:
                _refuse_names(step, names)
            return replace(node, base=inner(base))
        case ast.ObjectLiteral(entries):
            full = (
                ast.Entry(entry.name, ast.Name(entry.name), span=entry.span)
                if isinstance(entry, ast.Shorthand) and entry.name in names
                else entry
                for entry in entries
            )
            return traversal.rebuilt(replace(node, entries=tuple(full)), inner)
        case ast.Call() | ast.Lambda() | ast.Let() | ast.Match() | ast.Pipe():
            raise _NotCut
        case ast.ArrayComprehension() | ast.ObjectComprehension():
            raise _NotCut
        case _:
            return traversal.rebuilt(node, inner)


def _refuse_names(part: ast.Located, names: Mapping[str, ast.Node]) -> None:
    """Refuse names of the group where ``@`` is an element."""
    for node in traversal.walk(part):
        if isinstance(node, ast.Name | ast.Shorthand) and node.name in names:
            raise _NotCut


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
        shape = SlotShape("numbers", function=step.name)
        slot = Slot(shape, _about_each(each))
    except _NotCut:
        return None
    return slot, replace(step, args=args)


def last_elements(keys: Sequence[ast.Arg], value: ast.Arg) -> ast.Node | None:
    """Return the values of each element where the last one of its keys is held.

    None if they need more than the element.
    """
    try:
        named = tuple(("", _about_each(key)) for key in keys)
        last = Slot(SlotShape("last", 1), _about_each(value))
    except _NotCut:
        return None
    return elements_of(Grouping(named, ast.ObjectLiteral(())), [last])


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

    def slot(
        kind: SlotKind,
        each: ast.Node,
        count: int = 0,
        falling: tuple[bool, ...] = (),
        function: str = "",
    ) -> ast.Path:
        shape = SlotShape(kind, count, falling, function)
        for place, known in enumerate(slots):
            if known.each == each and known.shape.holds_same(shape):
                return _part(1, place)
        slots.append(Slot(shape, each))
        return _part(1, len(slots) - 1)

    node = _merged(node)
    match node:
        case ast.Path(ast.Name("@")):
            return _part(0, 0)
        case ast.Path(ast.Path(ast.Name("@")), steps):
            return _followed(_part(0, 0), steps, node)
        case ast.Path(ast.Current(), (ast.Method("len", ()), *rest)):
            return _followed(slot("count", EVERY.each), rest, node)
        case ast.Path(ast.Current(), (ast.Method("count", args), *rest)):
            return _followed(slot("count", _all_of(args)), rest, node)
        case ast.Path(
            ast.Current(), (ast.Method("any" | "exists" | "all" as name, args), *rest)
        ) if args and all(cannot_fail(arg.value) for arg in args):
            # No element is left out: behind the one that decides none can fail.
            test = ast.Not(_all_of(args)) if name == "all" else _all_of(args)
            operator = (
                ast.CompareOperator.EQUAL
                if name == "all"
                else ast.CompareOperator.GREATER
            )
            decided = ast.Compare(operator, slot("count", test), ast.Literal(0))
            return _followed(decided, rest, node)
        case ast.Path(ast.Current(), (ast.Method(name, args), *rest)) if (
            name in _REDUCED
        ):
            if len(args) > 1:
                raise _NotCut
            taken = _about_each(args[0]) if args else ast.Current()
            return _followed(slot(_REDUCED[name], taken), rest, node)
        case ast.Path(ast.Current(), (ast.Method(name, args), *rest)) if (
            _canonical(name) == "approx_count_distinct" and len(args) <= 1
        ):
            taken = _about_each(args[0]) if args else ast.Current()
            return _followed(slot("approximate", taken), rest, node)
        case ast.Path(ast.Current(), (ast.Method(name, (key,)), *_) as steps) if (
            name in _BY_KEY
        ):
            best = ast.ArrayLiteral(
                (ast.ArrayLiteral((_about_each(key),)), ast.Current())
            )
            return _followed(slot("best", best, 1, (name == "max_by",)), steps, node)
        case ast.Path(ast.Current(), (ast.Method(name, args), taking, *_) as steps) if (
            name in _SORTS
            and (count := _count_needed(taking)) is not None
            and not any(arg.name or compares_two(arg.value) for arg in args)
        ):
            keys = [_sort_key(arg) for arg in args] or [(ast.Current(), False)]
            together = ast.ArrayLiteral(tuple(key for key, _ in keys))
            best = ast.ArrayLiteral((together, ast.Current()))
            falling = tuple(falls for _, falls in keys)
            return _followed(slot("best", best, count, falling), steps, node)
        case ast.Path(ast.Current(), (step, *_) as steps) if (
            count := _count_needed(step)
        ) is not None:
            return _followed(slot("first", ast.Current(), count), steps, node)
        case ast.Path(
            ast.Current(), (ast.Method("map", (arg,)), step, *_) as steps
        ) if arg.name is None and (count := _count_needed(step)) is not None:
            return _followed(slot("first", ast.Current(), count), steps, node)
        case ast.Path(ast.Current(), (step, *_) as steps) if (
            count := _count_needed_of_last(step)
        ) is not None:
            return _followed(slot("last", ast.Current(), count), steps, node)
        case ast.Path(
            ast.Current(), (ast.Method("unique" | "distinct", ()), *_) as steps
        ):
            return _followed(slot("distinct", ast.Current()), steps, node)
        case ast.Path(
            ast.Current(),
            (
                ast.Method("map", (arg,)),
                ast.Method("unique" | "distinct", ()) as step,
                *rest,
            ),
        ) if cannot_fail(arg.value):
            values = slot("distinct", _about_each(arg))
            return _followed(values, (step, *rest), node)
        case ast.Path(ast.Current(), (ast.Method(name, ()), *_) as steps) if (
            _canonical(name) == "count_distinct"
        ):
            return _followed(slot("distinct", ast.Current()), steps, node)
        case ast.Path(ast.Current(), (ast.Method(name, (first, *others)), *rest)) if (
            _is_of_one_value(name, len(others))
        ):
            kind = _kind_of(name)
            function = name if kind == "numbers" else ""
            values = slot(kind, _about_each(first), function=function)
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
                is_value(node.name, place - 1) for place in range(len(node.args))
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
    if any(slot != EVERY for slot in slots[known:]):
        raise _NotCut
    return cut


def _followed(of: ast.Node, steps: Sequence[ast.Step], whole: ast.Node) -> ast.Node:
    """Return a value with steps that use nothing else of the group."""
    for step in steps:
        match step:
            case ast.Method(name, args):
                for place, arg in enumerate(args):
                    if is_value(name, place) and _is_about_group(arg.value):
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
        and builtin.group in AGGREGATES
        and builtin.name not in _EACH_ELEMENT
        and others == len(builtin.parameters) - 1
    )


def _kind_of(name: str) -> SlotKind:
    """Return the kind of the slot for a function of one value of each element."""
    if name in OF_NUMBERS:
        return "numbers"
    return "distinct" if _canonical(name) == "count_distinct" else "collect"


def _canonical(name: str) -> str:
    builtin = builtins().get(name)
    return name if builtin is None else builtin.name


def _merged(node: ast.Node) -> ast.Node:
    """Return a reducer behind `map` or `filter` as one with an argument."""
    match node:
        case ast.Path(
            ast.Current(),
            (ast.Method("map", (arg,)), ast.Method(name, ()) as reducer, *rest),
        ) if name in _REDUCED and arg.name is None:
            return replace(node, steps=(replace(reducer, args=(arg,)), *rest))
        case ast.Path(
            ast.Current(),
            (
                ast.Method("filter", args),
                ast.Method("count" | "len", ()) as step,
                *rest,
            ),
        ) if args:
            count = replace(step, name="count", args=args)
            return replace(node, steps=(count, *rest))
        case ast.Path(
            ast.Current(),
            (ast.Method("filter", args), ast.Method(name, taken) as reducer, *rest),
        ) if args and name in _REDUCED and len(taken) <= 1:
            # Null is left out.
            value = _about_each(taken[0]) if taken else ast.Current()
            chosen = ast.Conditional(_all_of(args), value, ast.Literal(None))
            given = replace(reducer, args=(ast.Arg(chosen, span=reducer.span),))
            return replace(node, steps=(given, *rest))
        case _:
            return node


def _all_of(conditions: Sequence[ast.Arg]) -> ast.Node:
    """Return the condition on an element that all conditions hold."""
    tests = tuple(map(_about_each, conditions))
    match tests:
        case ():
            return EVERY.each
        case (test,):
            return test
        case _:
            return ast.And(tests)


def _sort_key(arg: ast.Arg) -> tuple[ast.Node, bool]:
    """Return the key of a sort as an expression about the element, and whether it falls."""
    key, falls = sort_key(replace(arg, name=None).value)
    if isinstance(arg.value, ast.Lambda):
        raise _NotCut
    return _about_each(replace(arg, value=key)), falls


def _count_needed(step: ast.Step) -> int | None:
    """Return how many elements from the front a step uses, if only these."""
    match step:
        case ast.Index(index) if index >= 0:
            return index + 1
        case ast.Slice(start, int(stop), None) if (start or 0) >= 0 and stop >= 0:
            return stop
        case _:
            return count_taken(step)


def _count_needed_of_last(step: ast.Step) -> int | None:
    """Return how many elements from the end a step uses, if only these."""
    match step:
        case ast.Index(index) if index < 0:
            return -index
        case ast.Slice(int(start), None, None) if start < 0:
            return -start
        case ast.Method("last", args):
            return literal_count(tuple(arg.value for arg in args))
        case _:
            return None


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
