"""Properties of the steps and arguments of a path over all rows.

The planner of streams cuts a path by them (`headrace.logical.stream_planner`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from headrace.kernel.values import builtins
from headrace.language import ast, traversal
from headrace.logical.methods import ROW_LOCAL
from headrace.logical.shape import stream_steps
from headrace.logical.stream_plan import Group
from headrace.logical.totality import cannot_fail
from headrace.record import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

_OF_ENTRIES = ("entries", "keys", "to_pairs", "values")


def is_call(step: ast.Step, name: str) -> bool:
    """Whether a step calls a method without arguments."""
    return isinstance(step, ast.Method) and step.name == name and not step.args


def mentions_root(step: ast.Step) -> bool:
    """Whether ``$`` occurs in a step."""
    return any(isinstance(node, ast.Root) for node in traversal.walk(step))


def literal_count(arguments: tuple[ast.Node, ...]) -> int | None:
    """Return the number of elements that a literal argument requests [default: 1].

    None for an argument that is computed, or is no count.
    """
    match arguments:
        case ():
            return 1
        case (ast.Literal(value=int(count)),) if type(count) is int and count >= 0:
            return count
        case _:
            return None


def count_taken(step: ast.Step) -> int | None:
    """Return the number of elements that a step takes from the front, if it does only that."""
    if not isinstance(step, ast.Method) or step.name not in ("take", "first"):
        return None
    if step.name == "take" and not step.args:
        return None
    return literal_count(tuple(arg.value for arg in step.args))


def longest_option(options: Sequence[ast.Arg]) -> bool | None:
    """Return the value of ``longest:``; None if it is no literal."""
    match options:
        case []:
            return False
        case [ast.Arg(ast.Literal(bool(longest)), "longest")]:
            return longest
        case _:
            return None


def are_elementwise(steps: Sequence[ast.Step]) -> bool:
    """Whether each step handles one element at a time."""
    for step in steps:
        match step:
            case ast.Each(body=None):
                return True
            case ast.InlineFilter() | ast.Each():
                pass
            case ast.Method(name) if name in ROW_LOCAL:
                pass
            case _:
                return False
    return True


def compares_two(argument: ast.Node) -> bool:
    """Whether the argument of a sort is a lambda of two elements, which may contradict itself."""
    return isinstance(argument, ast.Lambda) and len(argument.params) > 1


def sort_key(argument: ast.Node) -> tuple[ast.Node, bool]:
    """Return the key of a sort, and whether it is in descending order."""
    body = argument.body if isinstance(argument, ast.Lambda) else argument
    descending = isinstance(body, ast.Negate)
    if isinstance(body, ast.Negate):
        body = body.operand
    if isinstance(argument, ast.Lambda):
        body = replace(argument, body=body)
    return element_query(body), descending


def element_query(argument: ast.Node) -> ast.Node:
    """Return an argument as a query with the element as its document."""
    if not isinstance(argument, ast.Lambda) or len(argument.params) != 1:
        return argument
    (param,) = argument.params
    return ast.Let((ast.Binding(param, ast.Root()),), argument.body)


def negated(argument: ast.Node) -> ast.Node:
    """Return a condition that holds where another one does not."""
    if isinstance(argument, ast.Lambda):
        return replace(argument, body=ast.Not(argument.body))
    return ast.Not(argument)


def is_total_field(arg: ast.Arg) -> bool:
    """Whether an argument is a field of the element, or part of one, and cannot fail."""
    match arg:
        case ast.Arg(ast.Name(name), None):
            return name not in builtins()
        case ast.Arg(ast.Path(ast.Name() | ast.Current()) as path, None):
            return cannot_fail(path)
        case _:
            return False


def key_check(key: ast.Node) -> ast.Node | None:
    """Return a condition that is always true and fails where a key fails; None if it cannot fail."""
    if isinstance(key, ast.Lambda):
        body = key_check(key.body)
        return None if body is None else replace(key, body=body)
    value = key.operand if isinstance(key, ast.Negate) else key
    if cannot_fail(value):
        return None
    return ast.IsKind(ast.ArrayLiteral((value,)), ast.Kind.ARRAY, span=key.span)


def changed_row(path: Sequence[ast.Step], write: ast.Method) -> ast.Node | None:
    """Return the program of a write that changes each row by itself: an array of its new values."""
    if any(map(mentions_root, (*path, write))):
        return None
    test: ast.Node | None = None
    match path:
        case (ast.Each(test, None), *inner):
            pass
        case (ast.Descend(), *_):
            inner = list(path)
        case _:
            return None
    if write.name == "delete" and not inner:
        other = ast.Not(ast.Literal(value=True) if test is None else test)
        kept = ast.Method("filter", (ast.Arg(other),))
        return ast.Path(ast.ArrayLiteral((ast.Root(),)), (kept,))
    changed: ast.Node = ast.Path(ast.Root(), (*inner, write), span=write.span)
    if test is not None:
        changed = ast.Conditional(test, changed, ast.Root())
    return ast.ArrayLiteral((changed,))


def group_of(step: ast.Method, rest: Sequence[ast.Step]) -> Group | None:
    """Plan `group_by` with the steps behind it that handle each group by itself."""
    if step.name != "group_by" or len(step.args) != 1:
        return None
    if any(map(mentions_root, rest)):
        return None
    behind = _end_of_values(rest)
    gives: Literal["object", "elements"] = "object"
    if behind < len(rest):
        if not _gives_entries(rest[behind]):
            return None
        gives, behind = "elements", _end_of_elementwise(rest, behind + 1)
    each = ast.Path(ast.Root(), tuple(rest[:behind])) if behind else None
    left: ast.Node | None = None
    if rest[behind:]:
        left = ast.Path(ast.Root(), tuple(rest[behind:]))
    elif gives == "elements" and not stream_steps(rest):
        left = ast.Root()
    # The builtin itself turns keys into names.
    name = (ast.Method("group_by", (ast.Arg(ast.Current()),)), ast.Method("keys"))
    key = ast.ArrayLiteral((element_query(step.args[0].value),))
    path = ast.Path(key, (*name, ast.Index(0)))
    check = ast.Path(ast.Root(), (ast.Method("rows"), step))
    return Group(path, check, each, gives, left)


def steps_of_entry(
    steps: Sequence[ast.Step],
) -> tuple[Sequence[ast.Step], Sequence[ast.Step] | None] | None:
    """Cut the steps behind an object of groups: those of each entry by itself, and the others.

    The first ones make an array of one element of an entry. Without others they make an object.
    None if a step needs all entries.
    """
    end = _end_of_values(steps)
    if end == len(steps):
        return steps, None
    if is_call(steps[end], "len"):
        return (*steps[:end], ast.Method("keys")), steps[end:]
    if _gives_entries(steps[end]):
        return steps[: end + 1], steps[end + 1 :]
    return None


def _end_of_values(steps: Sequence[ast.Step]) -> int:
    """Return the end of the first steps that map the values of an object."""
    end = 0
    while end < len(steps) and _maps_values(steps[end]):
        end += 1
    return end


def _gives_entries(step: ast.Step) -> bool:
    """Whether a step makes an array of an object, of one element for each entry."""
    return any(is_call(step, name) for name in _OF_ENTRIES)


def _maps_values(step: ast.Step) -> bool:
    """Whether a step maps the values of an object."""
    return isinstance(step, ast.Method) and step.name == "transform_values"


def _end_of_elementwise(steps: Sequence[ast.Step], start: int) -> int:
    """Return the end of the steps from `start` on that handle one element at a time."""
    if are_elementwise(steps[start:]):
        return len(steps)
    while are_elementwise(steps[start : start + 1]) and not (
        isinstance(steps[start], ast.Each)
    ):
        start += 1
    return start
