"""Grammar of ``patch``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from headrace.language import ast
from headrace.language.grammar.parts import condition
from headrace.language.precedence import Level
from headrace.language.tokens import TokenKind

if TYPE_CHECKING:
    from headrace.language.ast import Node
    from headrace.language.grammar.cursor import Cursor
    from headrace.language.grammar.state import Parser
    from headrace.language.routine import Routine

_WriteStep: TypeAlias = ast.Field | ast.Index | ast.Each | ast.Descend

_HINT = "a path is a name and then .key, ..key, [0], [*] or [* if test], not quoted"


def patch(parser: Parser) -> Routine[Node]:
    """Parse a patch."""
    cursor = parser.cursor
    start = cursor.advance()
    context = replace(parser.context, patch_target=True)
    cursor.enter()
    target: Node = yield parser.enclosed(parser.operand(Level.COALESCE), context)
    cursor.leave()
    opening = cursor.expect("{", "after the value to patch")
    writes: list[ast.Write] = []
    while not cursor.at("}"):
        writes.append((yield _write(parser)))
        if not cursor.take(","):
            break
    cursor.close(opening, ",")
    return ast.Patch(target, tuple(writes), span=cursor.since(start))


def _write(parser: Parser) -> Routine[ast.Write]:
    cursor = parser.cursor
    start = cursor.token
    if start.kind is not TokenKind.WORD:
        raise cursor.unexpected("expected a path", _HINT)
    cursor.advance()
    path: list[_WriteStep] = [ast.Field(start.text, span=cursor.since(start))]
    while cursor.at(".", "..", "["):
        path.append((yield _bracket(parser) if cursor.at("[") else _key(cursor)))
    if not cursor.at(":"):
        raise cursor.unexpected("expected : after the path", _HINT)
    cursor.advance()
    value: Node = yield parser.enclosed()
    when: Node | None = yield condition(parser)
    return ast.Write(tuple(path), value, when, span=cursor.since(start))


def _key(cursor: Cursor) -> _WriteStep:
    dots = cursor.advance()
    if cursor.token.kind not in {TokenKind.FIELD, TokenKind.STRING}:
        raise cursor.unexpected(f"expected a key after {dots.text}", _HINT)
    token = cursor.advance()
    key = token.text if token.kind is TokenKind.FIELD else str(token.value)
    step = ast.Field if dots.text == "." else ast.Descend
    return step(key, span=cursor.since(dots))


def _bracket(parser: Parser) -> Routine[_WriteStep]:
    cursor = parser.cursor
    opening = cursor.advance()
    test: Node | None = None
    if cursor.take("*"):
        if cursor.take_word("if"):
            test = yield parser.enclosed()
        cursor.close(opening)
        return ast.Each(test, span=cursor.since(opening))

    if cursor.token.kind is TokenKind.STRING:
        key = str(cursor.advance().value)
        cursor.close(opening)
        return ast.Field(key, span=cursor.since(opening))
    negative = cursor.take("-")
    number = cursor.token
    if number.kind is not TokenKind.NUMBER or not isinstance(number.value, int):
        raise cursor.unexpected("expected a position, *, or a string", _HINT)
    cursor.advance()
    cursor.close(opening)
    index = -number.value if negative else number.value
    return ast.Index(index, span=cursor.since(opening))
