"""Columns of the answers of a query that names them itself.

``{id, name}`` gives objects with these fields and no others for every row. A format that begins
with its columns, such as CSV, then does not wait for the answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.language import ast

if TYPE_CHECKING:
    from collections.abc import Sequence

_SOME_ELEMENTS = frozenset({
    "distinct", "distinct_by", "drop", "drop_while", "dropwhile", "filter", "find_all",
    "remove", "reverse", "skip", "sort", "sort_by", "take", "take_while", "takewhile",
    "unique", "unique_by",
})  # fmt: skip
_ONE_ELEMENT = frozenset({"find", "find_first", "find_one", "first", "last"})


def columns_of(tree: ast.Node, *, stream: bool) -> tuple[str, ...] | None:
    """Return the fields that answers can have; None if that depends on the rows.

    `stream`: of a stream query, whose answer is the elements of an array.
    """
    match tree:
        case ast.ObjectLiteral():
            return _keys(tree)
        case ast.Conditional(then=then, otherwise=ast.Literal(None)) if not stream:
            return columns_of(then, stream=False)
        case ast.Path(base=ast.Root(), steps=steps) if stream:
            return _of_elements(steps)
        case _:
            return None


def _of_elements(steps: Sequence[ast.Step]) -> tuple[str, ...] | None:
    """Follow elements through steps that give elements; None behind any other step."""
    columns = None
    for position, step in enumerate(steps):
        is_last = position == len(steps) - 1
        match step:
            case ast.Method("rows", ()) if position == 0:
                continue
            case ast.Method("map", (ast.Arg(ast.Lambda(body=body) | body),)):
                columns = columns_of(body, stream=False)
            case ast.Method(name) if name in _SOME_ELEMENTS:
                continue
            case ast.Method("first" | "last", (_,)) | ast.Slice() | ast.InlineFilter():
                continue
            case ast.Method(name) if name in _ONE_ELEMENT and is_last:
                continue
            case _:
                return None
    return columns


def _keys(literal: ast.ObjectLiteral) -> tuple[str, ...] | None:
    keys: dict[str, None] = {}
    for entry in literal.entries:
        match entry:
            case ast.Entry(key=key) | ast.Shorthand(name=key):
                keys[key] = None
            case _:
                return None
    return tuple(keys) or None
