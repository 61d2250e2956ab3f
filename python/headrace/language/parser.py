"""Parser: from the text of a query to its tree. Here are operators, conditions and pipes."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

from headrace.errors import UsageError
from headrace.language import ast, traversal
from headrace.language.grammar.cursor import DEEPEST, Cursor
from headrace.language.grammar.paths import postfix
from headrace.language.literals import ONE_ONLY, SIGN_OPERATORS, WORD_OPERATORS, Level
from headrace.language.tokens import UNBOUND, TokenKind
from headrace.language.traversal import deep

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.errors import QuerySyntaxError
    from headrace.language.ast import Node
    from headrace.language.tokens import Bindings, Token

MOST_TERMS = 3000
"""Maximum number of terms in a chain of arithmetic."""

MAX_DEPTH = 256
"""Maximum nesting depth of a query [default]."""


@deep()
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
    cursor = _Operators(text, max_depth, bindings)
    tree = cursor.expression()
    if cursor.token.kind is not TokenKind.END:
        raise cursor.unexpected()
    _check_depth(tree, cursor)
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


_CASTS = {cast.value: cast for cast in ast.CastType}


class _Operators(Cursor):
    def expression(self) -> Node:
        start = self.token
        found = _choice(self)
        while self.at_word("where"):
            word = self.advance()
            if self.context.loop:
                hint = "write: [x for x in xs if test]"
                raise self.error(word, "a comprehension has no where", hint)
            test = _choice(self)
            otherwise = ast.Literal(None, span=ast.Span(word.start, word.end))
            found = ast.Conditional(test, found, otherwise, span=self.since(start))
        return found

    def operand(self, minimum: Level) -> Node:
        start = self.token
        left = _prefixed(self, minimum)
        # An operator that binds tighter than what has been read cannot follow it.
        ceiling = Level.NOT if start.is_word("not") else Level.CAST
        while (level := _operator(self)) and minimum <= level <= ceiling:
            left = _INFIX[level](self, left, start)
            ceiling = Level(level - 1) if level in ONE_ONLY else level
        if level in ONE_ONLY and level == ceiling + 1 and minimum <= level:
            raise _chained(self, level)
        return left


def _choice(cursor: Cursor) -> Node:
    """Parse a pipe, perhaps with ``if`` behind it or ``try`` before it."""
    cursor.enter()
    start = cursor.token
    otherwise: Node
    if cursor.take_word("try"):
        body = cursor.enclosed(lambda: _pipe(cursor))
        cursor.expect_word("else", "after the expression to try")
        otherwise = _choice(cursor)
        found: Node = ast.Try(body, otherwise, span=cursor.since(start))
    else:
        found = _pipe(cursor)
        if cursor.at_conditional():
            cursor.advance()
            test = cursor.enclosed(lambda: _pipe(cursor))
            cursor.expect_word("else", "after the test of if")
            otherwise = _choice(cursor)
            span = cursor.since(start)
            found = ast.Conditional(test, found, otherwise, span=span)
        elif cursor.at_word("if") and not cursor.context.loop:
            word = cursor.advance()
            test = _pipe(cursor)
            otherwise = ast.Literal(None, span=ast.Span(word.start, word.end))
            span = cursor.since(start)
            found = ast.Conditional(test, found, otherwise, span=span)
    cursor.leave()
    return found


def _pipe(cursor: Cursor) -> Node:
    start = cursor.token
    first = cursor.operand(Level.COALESCE)
    stages: list[Node | ast.Bind] = []
    while True:
        if cursor.take("|", "|>"):
            if cursor.at_call():
                cursor.piped_call = cursor.index
            stages.append(cursor.operand(Level.COALESCE))
        elif cursor.at("->") and not cursor.context.guard:
            stages.append(_bind(cursor))
        else:
            break
    if not stages:
        return first
    return ast.Pipe(first, tuple(stages), span=cursor.since(start))


def _bind(cursor: Cursor) -> ast.Bind:
    from headrace.language.grammar.parts import names

    arrow = cursor.advance()
    opening = cursor.token
    target: ast.Variable | ast.Items | ast.Fields
    if cursor.at("{"):
        found, rest = names(cursor, may_rest=True)
        target = ast.Fields(found, rest, span=cursor.since(opening))
    elif cursor.at("["):
        found, rest = names(cursor, may_rest=True)
        target = ast.Items(found, rest, span=cursor.since(opening))
    else:
        name = cursor.name("a name, {…} or […] after ->")
        target = ast.Variable(name, span=cursor.since(opening))
    return ast.Bind(target, span=cursor.since(arrow))


def _operator(cursor: Cursor) -> Level | None:
    token = cursor.token
    if token.kind is TokenKind.SIGN:
        return SIGN_OPERATORS.get(token.text)
    if token.kind is not TokenKind.WORD:
        return None
    if token.text == "in" and cursor.context.let_value:
        return None
    return WORD_OPERATORS.get(token.text)


def _chained(cursor: Cursor, level: Level) -> QuerySyntaxError:
    if level is Level.COMPARE:
        hint = "write: a < b and b < c"
        return cursor.error(cursor.token, "comparisons cannot be chained", hint)
    reason = f"{cursor.token.text} cannot follow another such test"
    return cursor.error(cursor.token, reason, "use parentheses, or `and`")


def _prefixed(cursor: Cursor, minimum: Level) -> Node:
    start = cursor.token
    kind: type[ast.Negate | ast.Not]
    if start.is_sign("-"):
        kind, level = ast.Negate, Level.NEGATE
    elif start.is_word("not") and minimum <= Level.NOT:
        kind, level = ast.Not, Level.NOT
    else:
        return postfix(cursor)
    cursor.advance()
    cursor.enter()
    inner = cursor.operand(level)
    cursor.leave()
    return kind(inner, span=cursor.since(start))


def _chain(cursor: Cursor, left: Node, start: Token) -> Node:
    """Parse any number of operands with the same operator between them."""
    level = _operator(cursor)
    assert level is not None  # the caller has seen an operator
    operands = [left]
    while _operator(cursor) == level:
        cursor.advance()
        operands.append(cursor.operand(level.tighter))
    return _CHAINS[level](tuple(operands), span=cursor.since(start))


def _arithmetic(cursor: Cursor, left: Node, start: Token) -> Node:
    operator = ast.BinaryOperator(cursor.advance().text)
    right = cursor.operand(SIGN_OPERATORS[operator].tighter)
    return ast.Binary(operator, left, right, span=cursor.since(start))


def _compare(cursor: Cursor, left: Node, start: Token) -> Node:
    operator = ast.CompareOperator(cursor.advance().text)
    right = cursor.operand(Level.SUM)
    return ast.Compare(operator, left, right, span=cursor.since(start))


def _member(cursor: Cursor, left: Node, start: Token) -> Node:
    operator = cursor.advance()
    opening = cursor.token
    right = cursor.operand(Level.COMPARE)
    span = cursor.since(start)
    if operator.text == "in":
        if opening.is_sign("(") and isinstance(right, ast.Literal):
            reason = "in takes an array, and the parentheses make none"
            written = cursor.text[right.span.start : right.span.end]
            raise cursor.error(opening, reason, f"write in [{written}]")
        return ast.Contains(right, left, single=True, span=span)
    if isinstance(right, ast.ArrayLiteral) and opening.is_sign("["):
        items = tuple(_listed(cursor, item) for item in right.items)
        return ast.ContainsAll(left, items, span=span)
    return ast.Contains(left, right, span=span)


def _listed(cursor: Cursor, item: Node | ast.Spread) -> ast.Literal:
    literal = item.operand if isinstance(item, ast.Negate) else item
    if isinstance(literal, ast.Literal):
        value = literal.value
        if literal is item:
            return literal
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            return ast.Literal(-value, span=item.span)
    hint = "write .has_all([…]) for computed values"
    reason = "after has, a list holds only literals"
    raise cursor.error(item.span.start, reason, hint)


def _is_kind(cursor: Cursor, left: Node, start: Token) -> Node:
    operator = cursor.advance()
    negated = cursor.take_word("not")
    from headrace.language.grammar.patterns import KINDS

    kind = KINDS.get(cursor.token.text)
    if kind is None or cursor.token.kind is not TokenKind.WORD:
        after = f"{operator.text} not" if negated else operator.text
        hint = (
            "write missing(field)" if cursor.token.text == "missing" else _one_of(KINDS)
        )
        raise cursor.unexpected(f"expected a kind after {after}", hint)
    cursor.advance()
    return ast.IsKind(left, kind, negated, span=cursor.since(start))


def _cast(cursor: Cursor, left: Node, start: Token) -> Node:
    cursor.advance()
    to = _CASTS.get(cursor.token.text)
    if cursor.token.text.startswith("$"):
        hint = "write value -> name | …, or let name = value in …"
        raise cursor.unexpected("expected a type after as", hint)
    if to is None or cursor.token.kind is not TokenKind.WORD:
        raise cursor.unexpected("expected a type after as", _one_of(_CASTS))
    cursor.advance()
    return ast.Cast(left, to, span=cursor.since(start))


def _one_of(words: dict[str, ast.Kind] | dict[str, ast.CastType]) -> str:
    return f"one of {', '.join(words)}"


_CHAINS: dict[Level, type[ast.And | ast.Or | ast.Coalesce]] = {
    Level.COALESCE: ast.Coalesce,
    Level.OR: ast.Or,
    Level.AND: ast.And,
}

_Infix: TypeAlias = "Callable[[Cursor, Node, Token], Node]"

_INFIX: dict[Level, _Infix] = {
    Level.COALESCE: _chain,
    Level.OR: _chain,
    Level.AND: _chain,
    Level.KIND: _is_kind,
    Level.MEMBER: _member,
    Level.COMPARE: _compare,
    Level.SUM: _arithmetic,
    Level.PRODUCT: _arithmetic,
    Level.CAST: _cast,
}
