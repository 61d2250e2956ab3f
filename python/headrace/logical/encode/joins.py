"""Joins as they are written: ``.join(@users, on: user_id == id, as: "user")``."""

from __future__ import annotations

from typing import cast

from headrace.language import ast, traversal
from headrace.logical.methods import JoinKind, is_join
from headrace.record import record

_NAMES = ("on", "right_on", "as")
_FILTERS = ("diff", "intersect")


@record
class JoinCall:
    """A join; `on` and `right_on` are keys of an element, `name` is the field for the right one."""

    kind: JoinKind
    other: ast.Node
    on: ast.Node
    right_on: ast.Node
    name: str | None

    @property
    def builtin(self) -> str:
        """The core's name: three names also have a meaning without keys."""
        return self.kind if self.kind in ("left_join", "lookup") else f"{self.kind} on"


def lacks_key(step: ast.Method) -> bool:
    """Whether a call was meant as a join of rows, but has no ``on:``."""
    if step.name != "join" or is_join(step):
        return False
    return len(step.args) > 1 or any(
        isinstance(arg.value, ast.Source) for arg in step.args
    )


def join_call(kind: str, args: tuple[ast.Arg, ...]) -> JoinCall | str:
    """Return the join of a call, or the error in it."""
    others = [arg.value for arg in args if arg.name in (None, "other")]
    names = [arg.name for arg in args if arg.name not in (None, "other")]
    named = {arg.name: arg.value for arg in args if arg.name in names}
    if any(arg.name not in (None, "other") for arg in args[: len(others)]):
        return "an argument without a name follows one with a name"
    if len(named) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        return f"{kind} is given {twice}: twice"
    if unknown := next((name for name in named if name not in _NAMES), None):
        return f"{kind} has no argument {unknown}; there are on:, right_on: and as:"
    if len(others) != 1:
        return f"{kind} takes one other side, as in .{kind}(@other, on: id)"
    if "on" not in named:
        return f"{kind} needs a key, as in .{kind}(@other, on: id)"
    name = None
    if (nest := named.get("as")) is not None:
        name = field_name(nest)
        if name is None or kind in _FILTERS:
            return f"as: names the field for the other side, and {kind} has none"
    sides = _sides(named["on"], named.get("right_on"))
    if isinstance(sides, str):
        return sides
    return JoinCall(cast("JoinKind", kind), others[0], *sides, name)


def field_name(node: ast.Node) -> str | None:
    """Return the name of a field from an argument, with quotes or without."""
    match node:
        case ast.Literal(str(name)) | ast.Name(name):
            return name
        case _:
            return None


def _sides(on: ast.Node, right_on: ast.Node | None) -> tuple[ast.Node, ast.Node] | str:
    """Return the keys of left and right elements, or the reason why `on` is no key."""
    equal = _equalities(on)
    if equal and right_on is not None:
        return "on: already has both sides, with ==; leave out right_on:"
    if len(equal) == 1:
        ((left, right),) = equal
        return _key(left), _key(right)
    if equal:
        lefts, rights = (tuple(map(_key, side)) for side in zip(*equal, strict=True))
        return (
            ast.ArrayLiteral(lefts, span=on.span),
            ast.ArrayLiteral(rights, span=on.span),
        )
    for key in (on, right_on):
        if isinstance(key, _TESTS) or (
            isinstance(key, ast.Literal) and not isinstance(key.value, str)
        ):
            return "on: is a key or left == right, as in on: id == user_id"
    return _key(on), _key(on if right_on is None else right_on)


def _equalities(on: ast.Node) -> list[tuple[ast.Node, ast.Node]]:
    """Return both sides of ``a == b``, or of several with ``and`` between them."""
    operands = on.operands if isinstance(on, ast.And) else (on,)
    found = [
        (each.left, each.right)
        for each in operands
        if isinstance(each, ast.Compare) and each.operator is ast.CompareOperator.EQUAL
    ]
    return found if len(found) == len(operands) else []


_TESTS = (
    *(ast.Compare, ast.And, ast.Or, ast.Not),
    *(ast.IsKind, ast.Contains, ast.ContainsAll),
)


def _key(node: ast.Node) -> ast.Node:
    """Return a key as an expression for each element: a text is the name of a field."""
    match node:
        case ast.Literal(str(name)):
            return ast.Path(ast.Current(), (ast.Field(name),), span=node.span)
        case ast.ArrayLiteral():
            return traversal.rebuilt(node, _key)
        case _:
            return node
