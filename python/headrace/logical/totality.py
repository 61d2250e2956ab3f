"""Totality: expressions that cannot fail on any document."""

from __future__ import annotations

from headrace.kernel.values import builtins
from headrace.language import ast, traversal

_TOTAL_NODES = (
    ast.Literal, ast.Root, ast.Current, ast.Name, ast.And, ast.Or, ast.Not, ast.Coalesce,
    ast.IsKind, ast.Conditional, ast.ArrayLiteral, ast.Path, ast.Compare,
)  # fmt: skip
_TOTAL_STEPS = (ast.Field, ast.Index, ast.Slice)
GIVING_ARRAYS = frozenset(
    {
        "compact", "distinct", "filter", "find_all", "flat_map", "map", "reverse", "rows", "skip", "sort",
        "take", "unique", "unique_by",
    }
)  # fmt: skip
_TOTAL_METHODS = GIVING_ARRAYS | {"all", "any", "count", "find", "first", "last"}
"""Builtins that do not fail on an array, with total arguments."""
_COUNTING = frozenset({"first", "last", "skip", "take"})


def cannot_fail(tree: ast.Node) -> bool:
    """Whether an expression has a value for every document; False in doubt.

    >>> from headrace.language.parser import parse
    >>> (
    ...     cannot_fail(parse("$.rows().filter(a.b > 1)")),
    ...     cannot_fail(parse("a.filter(b)")),
    ... )
    (True, False)
    """
    return all(map(_is_total, traversal.walk(tree)))


def _is_total(node: ast.Node) -> bool:
    match node:
        case ast.ObjectLiteral(entries):
            return all(
                isinstance(entry, ast.Entry | ast.Shorthand) for entry in entries
            )
        case ast.ArrayLiteral(items):
            return not any(isinstance(item, ast.Spread) for item in items)
        case ast.Compare(ast.CompareOperator.RESEMBLES):
            return False
        case ast.Lambda(params):
            return len(params) == 1
        case ast.Path(base, steps):
            return _are_total(base, steps)
        case _:
            return isinstance(node, _TOTAL_NODES)


def _are_total(base: ast.Node, steps: tuple[ast.Step, ...]) -> bool:
    """Whether no step fails: what takes elements stands behind what always is an array."""
    is_array = isinstance(base, ast.ArrayLiteral)
    for step in steps:
        match step:
            case ast.Method(name):
                if not (is_array or name == "rows") or not _is_total_method(step):
                    return False
                is_array = name in GIVING_ARRAYS
            case ast.Each() | ast.InlineFilter():
                if not is_array:
                    return False
            case _:
                if not isinstance(step, _TOTAL_STEPS):
                    return False
                is_array = is_array and isinstance(step, ast.Slice)
    return True


def _is_total_method(step: ast.Method) -> bool:
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
