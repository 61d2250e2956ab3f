"""Grammar of paths: a primary value, and the steps that follow it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from headrace.language import ast
from headrace.language.tokens import (
    FOREIGN_CONSTANTS,
    KEYWORDS,
    LITERAL_WORDS,
    TokenKind,
)
from headrace.record import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.errors import QuerySyntaxError
    from headrace.language.ast import Node, Step
    from headrace.language.grammar.cursor import Cursor
    from headrace.language.tokens import Token


def postfix(cursor: Cursor) -> Node:
    """Parse a value with all its steps."""
    start = cursor.token
    steps: list[Step] = []
    base: Node = ast.Current(span=ast.Span(start.start, start.start))
    if _at_call_on_current(cursor):
        name = cursor.advance()
        steps.append(_method(cursor, name, start))
    elif not cursor.at("."):
        base = primary(cursor)
    while cursor.token.kind is TokenKind.SIGN:
        if cursor.take("?"):
            if steps and isinstance(steps[-1], ast.Field | ast.Method):
                steps[-1] = replace(steps[-1], optional=True)
        elif cursor.token.text in _STEPS and not _at_writes(cursor):
            steps.append(_STEPS[cursor.token.text](cursor))
        else:
            break
    if not steps:
        return base
    return ast.Path(base, tuple(steps), span=cursor.since(start))


def _at_call_on_current(cursor: Cursor) -> bool:
    return cursor.at_call() and (
        cursor.index == cursor.piped_call or cursor.at_word("has", "missing")
    )


def _at_writes(cursor: Cursor) -> bool:
    """Whether the next brace begins the writes of a patch.

    They begin with a path and a colon, which no inline filter does. A string or
    `=` in their place is no path, but certainly a mistake in one.
    """
    if not cursor.context.patch_target or not cursor.at("{"):
        return False
    if cursor.ahead(1).kind not in {TokenKind.WORD, TokenKind.STRING}:
        return cursor.ahead(1).is_sign("}")
    index: int | None = cursor.index + 2
    while index is not None:
        token = cursor.tokens[index]
        if token.is_sign("["):
            closing = cursor.closing(index)
            index = None if closing is None else closing + 1
        elif token.is_sign(".", "..") or _is_after_dot(cursor, index):
            index += 1
        else:
            return token.is_sign(":", "=")
    return False


def _is_after_dot(cursor: Cursor, index: int) -> bool:
    """Whether a token is the field of a path."""
    quoted = cursor.tokens[index].kind is TokenKind.STRING
    return cursor.tokens[index].kind is TokenKind.FIELD or (
        quoted and cursor.tokens[index - 1].is_sign(".", "..")
    )


def _dot(cursor: Cursor) -> Step:
    dot = cursor.advance()
    if cursor.at("{"):
        opening = cursor.advance()
        key = cursor.enclosed()
        cursor.close(opening)
        return _keyed(key, cursor.since(dot))
    if cursor.token.kind is TokenKind.STRING:
        quoted = str(cursor.advance().value)
        return ast.Field(quoted, span=cursor.since(dot))
    if cursor.token.kind is not TokenKind.FIELD:
        raise _no_field(cursor)
    name = cursor.advance()
    if cursor.at("("):
        return _method(cursor, name, dot)
    return ast.Field(name.text, span=cursor.since(dot))


def _no_field(cursor: Cursor) -> QuerySyntaxError:
    hint = "write $ or @ for the value itself, @.name for a field of it"
    if cursor.at("["):
        hint = 'write @[0], @[*] or @["key"], without a dot before the bracket'
    return cursor.unexpected("expected a field after .", hint)


def _method(cursor: Cursor, name: Token, start: Token) -> Step:
    from headrace.language.grammar.parts import arguments

    given = arguments(cursor)
    return ast.Method(name.text, given, span=cursor.since(start))


def _descend(cursor: Cursor) -> Step:
    dots = cursor.advance()
    if cursor.token.kind is TokenKind.STRING:
        quoted = str(cursor.advance().value)
        return ast.Descend(quoted, span=cursor.since(dots))
    if cursor.token.kind is not TokenKind.FIELD:
        return ast.Descend(span=cursor.since(dots))
    key = cursor.advance().text
    if cursor.at("("):
        from headrace.language.grammar.parts import arguments

        given = arguments(cursor)
        return ast.DeepMethod(key, given, span=cursor.since(dots))
    if key == "match":
        first = cursor.at("!") and cursor.ahead(1).is_sign("{")
        if first:
            cursor.advance()
        if cursor.at("{"):
            from headrace.language.grammar.parts import arms

            found = arms(cursor)
            return ast.DeepMatch(found, first, span=cursor.since(dots))
    return ast.Descend(key, span=cursor.since(dots))


def _inline_filter(cursor: Cursor) -> Step:
    opening = cursor.advance()
    predicate = cursor.enclosed()
    cursor.close(opening)
    return ast.InlineFilter(predicate, span=cursor.since(opening))


def _exactly_one(cursor: Cursor) -> Step:
    sign = cursor.advance()
    return ast.ExactlyOne(span=cursor.since(sign))


def _bracket(cursor: Cursor) -> Step:
    opening = cursor.advance()
    if cursor.at("]"):
        raise cursor.unexpected("expected an index", "write [*] for all elements")
    if cursor.at("*"):
        return _each(cursor, opening)
    if cursor.at(":"):
        return _slice(cursor, opening, None)
    key = cursor.enclosed()
    if cursor.at(":"):
        return _slice(cursor, opening, key)
    cursor.close(opening)
    return _keyed(key, cursor.since(opening))


def _slice(cursor: Cursor, opening: Token, first: Node | None) -> ast.Slice:
    bounds = [None if first is None else _integer(first), None, None]
    if first is not None and bounds[0] is None:
        raise _no_bound(cursor, first.span.start)
    for place in (1, 2):
        if cursor.take(":") and not cursor.at(":", "]"):
            bounds[place] = _bound(cursor)
    cursor.close(opening)
    return ast.Slice(*bounds, span=cursor.since(opening))


def _bound(cursor: Cursor) -> int:
    start = cursor.token
    negative = cursor.take("-")
    number = cursor.advance()
    if number.kind is not TokenKind.NUMBER or not isinstance(number.value, int):
        raise _no_bound(cursor, start.start)
    return -number.value if negative else number.value


def _no_bound(cursor: Cursor, offset: int) -> QuerySyntaxError:
    hint = "write .slice(from, to) for computed ones"
    return cursor.error(offset, "the bounds of a slice are whole numbers", hint)


def _each(cursor: Cursor, opening: Token) -> Step:
    cursor.advance()
    condition: Node | None = None
    if cursor.take_word("if"):
        condition = cursor.enclosed()
    cursor.close(opening, "" if condition else "if")
    body: Node | None = None
    if cursor.take("=>"):
        body = cursor.expression()
    return ast.Each(condition, body, span=cursor.since(opening))


def _integer(node: Node) -> int | None:
    match node:
        case ast.Literal(int(value)) if not isinstance(value, bool):
            return value
        case ast.Negate(ast.Literal(int(value))) if not isinstance(value, bool):
            return -value
        case _:
            return None


def _keyed(key: Node, span: ast.Span) -> Step:
    """Return the step for a key in brackets."""
    if isinstance(key, ast.Literal) and isinstance(key.value, str):
        return ast.Field(key.value, span=span)
    index = _integer(key)
    if index is None:
        return ast.Computed(key, span=span)
    return ast.Index(index, span=span)


_StepParser: TypeAlias = "Callable[[Cursor], Step]"

_STEPS: dict[str, _StepParser] = {
    ".": _dot,
    "..": _descend,
    "[": _bracket,
    "{": _inline_filter,
    "!": _exactly_one,
}


def primary(cursor: Cursor) -> Node:
    """Parse a value without the steps that may follow it."""
    token = cursor.token
    if token.kind is TokenKind.WORD:
        return _word(cursor)
    if token.kind is TokenKind.F_START:
        from headrace.language.grammar.construction import f_string

        return f_string(cursor)
    if token.is_sign("("):
        return _parenthesis(cursor)
    if token.is_sign("[", "{"):
        from headrace.language.grammar.construction import array, brace

        return (array if token.text == "[" else brace)(cursor)
    return _leaf(cursor)


def _leaf(cursor: Cursor) -> Node:
    token = cursor.token
    span = ast.Span(token.start, token.end)
    found: Node
    if token.kind in {TokenKind.NUMBER, TokenKind.STRING}:
        found = ast.Literal(token.value, span=span)
    elif token.kind is TokenKind.SOURCE:
        found = ast.Source(token.text[1:], span=span)
    elif token.kind is TokenKind.ARGUMENT:
        found = cursor.argument(token)
    elif token.is_sign("$"):
        found = ast.Root(span=span)
    elif token.is_sign("@"):
        found = ast.Current(span=span)
    else:
        raise cursor.unexpected()
    cursor.advance()
    return found


def _word(cursor: Cursor) -> Node:
    token = cursor.token
    found: Node
    if token.text in LITERAL_WORDS:
        cursor.advance()
        found = ast.Literal(LITERAL_WORDS[token.text], span=cursor.since(token))
    elif token.text == "DELETE":
        cursor.advance()
        found = ast.Delete(span=cursor.since(token))
    elif token.text in KEYWORDS:
        from headrace.language.grammar.constructs import CONSTRUCTS

        if token.text not in CONSTRUCTS:
            raise cursor.unexpected()
        found = CONSTRUCTS[token.text](cursor)
    elif cursor.ahead(1).is_sign("=>"):
        from headrace.language.grammar.constructs import arrow

        found = arrow(cursor)
    elif token.text == "def" and cursor.ahead(1).kind is TokenKind.WORD:
        from headrace.language.grammar.constructs import definition

        found = definition(cursor)
    elif cursor.at_call():
        from headrace.language.grammar.parts import arguments

        cursor.advance()
        given = arguments(cursor)
        found = ast.Call(token.text, given, span=cursor.since(token))
        if token.text == "env":
            found = cursor.environment(token, found)
    elif token.text in FOREIGN_CONSTANTS:
        ours = FOREIGN_CONSTANTS[token.text]
        reason = f"{token.text} is no constant"
        hint = f'write {ours}; for a field of that name $["{token.text}"]'
        raise cursor.error(token, reason, hint)
    else:
        cursor.advance()
        found = ast.Name(token.text, span=cursor.since(token))
    return found


def _parenthesis(cursor: Cursor) -> Node:
    if cursor.at_arrow_parameters():
        from headrace.language.grammar.constructs import arrow

        return arrow(cursor)
    opening = cursor.advance()
    found = cursor.enclosed()
    if cursor.at_word("for"):
        from headrace.language.grammar.parts import loops

        turns = loops(cursor)
        cursor.close(opening)
        return ast.ArrayComprehension(found, turns, span=cursor.since(opening))
    cursor.close(opening)
    return found
