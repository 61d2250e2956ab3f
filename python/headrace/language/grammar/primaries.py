"""Grammar of primary expressions: literals, names, keywords, parentheses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.language import ast
from headrace.language.tokens import (
    FOREIGN_CONSTANTS,
    KEYWORDS,
    LITERAL_WORDS,
    TokenKind,
)

if TYPE_CHECKING:
    from headrace.language.ast import Node
    from headrace.language.grammar.cursor import Parser
    from headrace.language.routine import Routine


def primary(parser: Parser) -> Routine[Node]:
    """Parse a value without the steps that may follow it."""
    token = parser.cursor.token
    found: Node
    if token.kind is TokenKind.WORD:
        found = yield _word(parser)
    elif token.kind is TokenKind.F_START:
        from headrace.language.grammar.construction import f_string

        found = yield f_string(parser)
    elif token.is_sign("("):
        found = yield _parenthesis(parser)
    elif token.is_sign("[", "{"):
        from headrace.language.grammar.construction import array, brace

        found = yield (array if token.text == "[" else brace)(parser)
    else:
        found = _leaf(parser)
    return found


def _leaf(parser: Parser) -> Node:
    cursor = parser.cursor
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


def _word(parser: Parser) -> Routine[Node]:
    cursor = parser.cursor
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
        found = yield CONSTRUCTS[token.text](parser)
    elif cursor.ahead(1).is_sign("=>"):
        from headrace.language.grammar.constructs import arrow

        found = yield arrow(parser)
    elif token.text == "def" and cursor.ahead(1).kind is TokenKind.WORD:
        from headrace.language.grammar.constructs import definition

        found = yield definition(parser)
    elif parser.at_call():
        from headrace.language.grammar.parts import arguments

        cursor.advance()
        given: tuple[ast.Arg, ...] = yield arguments(parser)
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


def _parenthesis(parser: Parser) -> Routine[Node]:
    cursor = parser.cursor
    found: Node
    if cursor.at_arrow_parameters():
        from headrace.language.grammar.constructs import arrow

        found = yield arrow(parser)
        return found
    opening = cursor.advance()
    found = yield parser.enclosed()
    if cursor.at_word("for"):
        from headrace.language.grammar.parts import loops

        turns: tuple[ast.For, ...] = yield loops(parser)
        cursor.close(opening)
        return ast.ArrayComprehension(found, turns, span=cursor.since(opening))
    cursor.close(opening)
    return found
