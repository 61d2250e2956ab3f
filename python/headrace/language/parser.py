"""Parser: from the text of a query to its tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import UsageError
from headrace.language import ast, traversal
from headrace.language.bindings import UNBOUND
from headrace.language.grammar.cursor import DEEPEST, Cursor
from headrace.language.grammar.expressions import ExpressionParser
from headrace.language.routine import Routine, run
from headrace.language.tokens import TokenKind

if TYPE_CHECKING:
    from headrace.language.ast import Node
    from headrace.language.bindings import Bindings

MOST_TERMS = 3000
"""Maximum number of terms in a chain of arithmetic."""

MAX_DEPTH = 256
"""Maximum nesting depth of a query [default]."""


def parse(
    text: str, *, max_depth: int = MAX_DEPTH, bindings: Bindings = UNBOUND
) -> Node:
    """Return the tree of a query; raises `QuerySyntaxError`.

    `bindings` are the values of ``$name``.

    `max_depth` limits the nesting of expressions, and with it the depth of every walk through
    the tree.

    >>> parse("not $.a")
    Not(operand=Path(base=Root(), steps=(Field(name='a', optional=False),)))
    """
    if not 1 <= max_depth <= DEEPEST:
        raise UsageError(f"max_depth is {max_depth}; it must be from 1 to {DEEPEST}")
    cursor = Cursor(text, max_depth, bindings)
    tree = run(_query(ExpressionParser(cursor)))
    _check_depth(tree, cursor)
    return tree


def _query(parser: ExpressionParser) -> Routine[Node]:
    tree: Node = yield parser.expression()
    if parser.cursor.token.kind is not TokenKind.END:
        raise parser.cursor.unexpected()
    return tree


def _check_depth(tree: Node, cursor: Cursor) -> None:
    """Refuse trees that grew deep without nesting, as ``[*] => [*] => …`` does."""
    layer = [tree]
    for _ in range(cursor.max_depth + 1):
        layer = [child for node in layer for child in _inside(node, cursor)]
    if layer:
        raise cursor.too_deep(layer[0].span.start)


def _inside(node: Node, cursor: Cursor) -> list[Node]:
    """Return the expressions inside another one; ``1 + 1 + 1`` is a chain, and not deep."""
    terms: list[Node] = []
    first = node
    while isinstance(first, ast.Binary):
        terms.append(first.right)
        first = first.left
        if len(terms) > MOST_TERMS:
            reason = f"a chain of more than {MOST_TERMS:,} terms"
            raise cursor.error(first.span.end, reason, "write [a, b, …].sum()")
    return [first, *terms[::-1]] if terms else [*traversal.children(node)]
