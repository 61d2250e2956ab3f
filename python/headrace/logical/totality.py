"""Totality: expressions that cannot fail on any document."""

from __future__ import annotations

from headrace.kernel.builtins import builtins
from headrace.language import ast, traversal

_TOTAL_NODES = (
    ast.Literal, ast.Root, ast.Current, ast.Name, ast.And, ast.Or, ast.Not, ast.Coalesce,
    ast.IsKind, ast.Conditional, ast.ArrayLiteral, ast.Path, ast.Compare,
)  # fmt: skip
_TOTAL_STEPS = (ast.Field, ast.Index, ast.Slice, ast.Each, ast.InlineFilter)
_TOTAL_METHODS = frozenset(
    {
        "all", "any", "compact", "count", "distinct", "filter", "find", "find_all", "first", "flat_map",
        "last", "map", "reverse", "rows", "skip", "sort", "take", "unique", "unique_by",
    }
)  # fmt: skip
_COUNTING = frozenset({"first", "last", "skip", "take"})


def cannot_fail(tree: ast.Node) -> bool:
    """Whether an expression has a value for every document; False in doubt.

    >>> from headrace.language.parser import parse
    >>> cannot_fail(parse("$.filter(a.b > 1).map({a: b})")), cannot_fail(parse("a + 1"))
    (True, False)
    """
    return all(map(_is_total, traversal.walk(tree)))


def _is_total(node: ast.Node) -> bool:
    match node:
        case ast.ObjectLiteral(entries):
            return all(
                isinstance(entry, ast.Entry | ast.Shorthand) for entry in entries
            )
        case ast.Compare(ast.CompareOperator.RESEMBLES):
            return False
        case ast.Lambda(params):
            return len(params) == 1
        case ast.Path(_, steps):
            return all(map(_is_total_step, steps))
        case _:
            return isinstance(node, _TOTAL_NODES)


def _is_total_step(step: ast.Step) -> bool:
    if not isinstance(step, ast.Method):
        return isinstance(step, _TOTAL_STEPS)
    return step.name in _TOTAL_METHODS and all(
        _is_total_argument(step.name, arg) for arg in step.args
    )


def _is_total_argument(method: str, arg: ast.Arg) -> bool:
    match arg:
        case ast.Arg(name=str()):
            return False
        case ast.Arg(ast.Name(name)):
            # Of a value that is no object, this would be the method of that name.
            return name not in builtins()
        case ast.Arg(value):
            counts = method in _COUNTING
            return not counts or (
                isinstance(value, ast.Literal) and type(value.value) is int
            )
