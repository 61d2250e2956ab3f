"""Visibility: the names of values, ``@`` and ``$`` at each part of a query.

`rebuilt` is the only walk through a tree that tracks where names are given and where ``@``
becomes another value. Every transformation that moves a part of a query uses it: a name can be a
value at one place and a field at another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from headrace.kernel.values import builtins
from headrace.language import ast, traversal
from headrace.logical.methods import WRITES, is_join, is_rows
from headrace.record import field, record, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from headrace.kernel.values import ParameterKind


class Known(NamedTuple):
    """A value that may be inlined, and a fresh name for it."""

    value: ast.Node
    name: str


@record
class Around:
    """Context of an expression.

    `names` and those in `known` have values. `is_key`: it is the key of a join,
    where a string names a field. `is_top`: ``@`` is the same as
    for the whole query. `stage`: ``row`` inside a stage of ``$.rows()``, where ``$`` is the row;
    ``beside`` in an argument of such a stage that is not evaluated for each row; else ``none``.
    """

    names: frozenset[str] = frozenset()
    known: Mapping[str, Known] = field(default_factory=dict)
    is_top: bool = True
    is_key: bool = False
    stage: Literal["none", "beside", "row"] = "none"

    def giving(self, names: Iterable[str]) -> Around:
        """Return the context with more names of values."""
        given = frozenset(names)
        known = {name: each for name, each in self.known.items() if name not in given}
        return replace(self, names=self.names | given, known=known)

    def knowing(self, name: str, value: Known) -> Around:
        """Return the context with one more known value."""
        given = self.giving([value.name])
        return replace(given, known={**given.known, name: value})

    def about_part(self) -> Around:
        """Return the context where ``@`` is another value."""
        return replace(self, is_top=False)


_JOIN: dict[str, ParameterKind] = {"on": "each", "right_on": "each", "as": "name"}

Change: TypeAlias = "Callable[[ast.Node, Around], ast.Node]"


def rebuilt(node: ast.Node, around: Around, change: Change) -> ast.Node:  # noqa: C901, a table of kinds
    """Return an expression with every expression directly inside it changed.

    `change` receives the context of each. The ``$`` of ``$.rows()`` is not changed by itself.
    """
    match node:
        case ast.Let(bindings, body):
            made = []
            for binding in bindings:
                value = change(binding.value, around)
                made.append(replace(binding, value=value))
                around = around.giving(traversal.names_given(binding))
            return replace(node, bindings=tuple(made), body=change(body, around))
        case ast.Lambda(_, body):
            inner = around.giving(traversal.names_given(node)).about_part()
            return replace(node, body=change(body, inner))
        case ast.Pipe(first, stages):
            return _pipe(node, first, stages, around, change)
        case ast.Match(subject, arms):
            return replace(
                node,
                subject=change(subject, around),
                arms=tuple(_arm(arm, around, change) for arm in arms),
            )
        case ast.ArrayComprehension(item, loops):
            changed, inner = _loops(loops, around, change)
            return replace(node, item=change(item, inner), loops=changed)
        case ast.ObjectComprehension(key, value, loops):
            changed, inner = _loops(loops, around, change)
            key, value = change(key, inner), change(value, inner)
            return replace(node, key=key, value=value, loops=changed)
        case ast.Path(base, path_steps):
            of_rows = is_rows(node)
            return replace(
                node,
                base=base if of_rows else change(base, around),
                steps=steps(path_steps, around, change, of_rows=of_rows),
            )
        case ast.Call(name, (receiver, *others)) if name not in around.names:
            first_arg = replace(receiver, value=change(receiver.value, around))
            method = ast.Method(name, tuple(others))
            rest = _arguments(method, around, around.about_part(), change)
            return replace(node, args=(first_arg, *rest))
        case ast.Patch(target, writes):
            inner = around.about_part()
            return replace(
                node,
                target=change(target, around),
                writes=tuple(
                    traversal.rebuilt(write, lambda child: change(child, inner))
                    for write in writes
                ),
            )
        case _:
            return traversal.rebuilt(node, lambda child: change(child, around))


def steps(
    path: Sequence[ast.Step], around: Around, change: Change, *, of_rows: bool
) -> tuple[ast.Step, ...]:
    """Return steps with every expression directly inside them changed."""
    beside = replace(around, stage="beside") if of_rows else around
    element = around.about_part()
    if of_rows:
        element = replace(element, stage="row")
    changed: list[ast.Step] = []
    for step in path:
        match step:
            case ast.Method():
                args = _arguments(step, beside, element, change)
                changed.append(replace(step, args=args))
            case ast.Computed(key):
                changed.append(replace(step, key=change(key, beside)))
            case ast.DeepMatch(arms):
                made = tuple(_arm(arm, element, change) for arm in arms)
                changed.append(replace(step, arms=made))
            case _:
                changed.append(
                    traversal.rebuilt(step, lambda child: change(child, element))
                )
                if isinstance(step, ast.Each):
                    # The steps behind apply to each element.
                    beside = element
    return tuple(changed)


def _arguments(
    step: ast.Method, beside: Around, element: Around, change: Change
) -> tuple[ast.Arg, ...]:
    builtin = builtins().get(step.name)
    changed = []
    for position, arg in enumerate(step.args):
        parameter = None if builtin is None else builtin.parameter(position)
        kind = "value" if parameter is None else parameter.kind
        if is_join(step):
            kind = _JOIN.get(arg.name or "", "value")
        if kind == "name" and isinstance(arg.value, ast.Name):
            changed.append(arg)
            continue
        about_element = kind in ("each", "either") or step.name in WRITES
        inner = element if about_element else beside
        if is_join(step):
            inner = replace(inner, is_key=about_element)
        changed.append(replace(arg, value=change(arg.value, inner)))
    return tuple(changed)


def _pipe(
    node: ast.Pipe,
    first: ast.Node,
    stages: Sequence[ast.Node | ast.Bind],
    around: Around,
    change: Change,
) -> ast.Pipe:
    first = change(first, around)
    around = around.about_part()
    changed: list[ast.Node | ast.Bind] = []
    for stage in stages:
        if isinstance(stage, ast.Bind):
            around = around.giving(traversal.names_given(stage))
            changed.append(stage)
        else:
            changed.append(change(stage, around))
    return replace(node, first=first, stages=tuple(changed))


def _arm(arm: ast.Arm, around: Around, change: Change) -> ast.Arm:
    inner = around.giving(traversal.names_given(arm))
    return traversal.rebuilt(arm, lambda child: change(child, inner))


def _loops(
    loops: Sequence[ast.For], around: Around, change: Change
) -> tuple[tuple[ast.For, ...], Around]:
    changed = []
    for loop in loops:
        source = change(loop.source, around)
        around = around.giving(loop.names).about_part()
        conditions = tuple(change(each, around) for each in loop.conditions)
        changed.append(replace(loop, source=source, conditions=conditions))
    return tuple(changed), around


def free_names(node: ast.Node) -> frozenset[str]:
    """Return the free names of an expression: those that it does not bind itself.

    >>> from headrace.language.parser import parse
    >>> sorted(free_names(parse("let a = b in [a, f(c), {d}]")))
    ['b', 'c', 'd', 'f']
    """
    found: set[str] = set()

    def visit(part: ast.Node, around: Around) -> ast.Node:
        found.update(_own_names(part) - around.names)
        return rebuilt(part, around, visit)

    visit(node, Around())
    return frozenset(found)


def uses_current(node: ast.Node, names: frozenset[str]) -> bool:
    """Whether an expression uses the ``@`` around it; `names` have values.

    >>> from headrace.language.parser import parse
    >>> for query in ("[n, @]", "k", "$.rows().map(k + n)", "n | len()"):
    ...     print(uses_current(parse(query), frozenset({"n"})))
    True
    True
    False
    False
    """
    found = False

    def visit(part: ast.Node, around: Around) -> ast.Node:
        nonlocal found
        if around.is_top:
            is_current = isinstance(part, ast.Current) or (
                isinstance(part, ast.Call) and not part.args
            )
            found = found or is_current or bool(_own_names(part) - around.names)
        return rebuilt(part, around, visit)

    visit(node, Around(names))
    return found


def _own_names(node: ast.Node) -> frozenset[str]:
    """Return the names in an expression itself, without those in its parts."""
    match node:
        case ast.Name(name):
            return frozenset({name})
        case ast.Call(name) if name not in builtins():
            return frozenset({name})
        case ast.ObjectLiteral(entries):
            return frozenset(
                entry.name for entry in entries if isinstance(entry, ast.Shorthand)
            )
        case _:
            return frozenset()
