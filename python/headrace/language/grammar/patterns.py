"""Grammar of the patterns of ``match``.

Patterns have no expressions inside, only literals, kinds and names, so they do not use the rest
of the grammar.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from headrace.language import ast
from headrace.language.tokens import LITERAL_WORDS, Token, TokenKind

if TYPE_CHECKING:
    from headrace.language.grammar.cursor import Cursor

KINDS = {kind.value: kind for kind in ast.Kind}


def pattern(cursor: Cursor, bound: list[str]) -> ast.Pattern:
    """Parse a pattern with its alternatives, and add the names it binds to `bound`."""
    cursor.enter()
    start = cursor.token
    first = len(bound)
    alternatives: list[ast.Pattern] = [_alternative(cursor, bound)]
    while cursor.take("|"):
        following = cursor.token
        own: list[str] = []
        alternatives.append(_alternative(cursor, own))
        if set(own) != set(bound[first:]):
            reason = "the alternatives of a pattern must bind the same names"
            raise cursor.error(following, reason)
    cursor.leave()
    if len(alternatives) == 1:
        return alternatives[0]
    return ast.OneOf(tuple(alternatives), span=cursor.since(start))


def _alternative(cursor: Cursor, bound: list[str]) -> ast.Pattern:
    token = cursor.token
    if token.kind is TokenKind.NUMBER or cursor.at("-"):
        return _number_or_range(cursor)
    if token.kind is TokenKind.STRING or cursor.at_word(*LITERAL_WORDS):
        cursor.advance()
        value = LITERAL_WORDS.get(token.text, token.value)
        literal = ast.Literal(value, span=cursor.since(token))
        return ast.Equals(literal, span=literal.span)
    if token.is_name:
        return _name_or_kind(cursor, bound)

    if cursor.at("{"):
        return _object(cursor, bound)
    if cursor.at("["):
        return _array(cursor, bound)
    if cursor.take("("):
        found = pattern(cursor, bound)
        cursor.close(token, "|")
        return found
    raise cursor.unexpected("expected a pattern")


def _number_or_range(cursor: Cursor) -> ast.Pattern:
    start = cursor.token
    low = _number(cursor)
    if cursor.at("..", "..="):
        inclusive = cursor.advance().text == "..="
        return ast.InRange(low, _number(cursor), inclusive, span=cursor.since(start))
    literal = ast.Literal(low, span=cursor.since(start))
    return ast.Equals(literal, span=literal.span)


def _number(cursor: Cursor) -> ast.Number:
    negative = cursor.take("-")
    if cursor.token.kind is not TokenKind.NUMBER:
        raise cursor.unexpected("expected a number")
    value = cursor.advance().value
    assert isinstance(value, int | float | Decimal)  # the tokenizer guarantees it
    return -value if negative else value


def _name_or_kind(cursor: Cursor, bound: list[str]) -> ast.Pattern:
    token = cursor.advance()
    name = None if token.text == "_" else token.text
    if cursor.take(":"):
        kind = cursor.advance()
        if kind.kind is not TokenKind.WORD or kind.text not in KINDS:
            raise cursor.error(kind, f"expected a kind after {token.text}:", _KIND_HINT)
        bound.extend([name] if name else [])
        return ast.OfKind(KINDS[kind.text], name, span=cursor.since(token))
    if token.text in KINDS:
        return ast.OfKind(KINDS[token.text], span=cursor.since(token))
    if name is None:
        return ast.AnyValue(span=cursor.since(token))
    bound.append(name)
    return ast.Capture(name, span=cursor.since(token))


def _object(cursor: Cursor, bound: list[str]) -> ast.Pattern:
    opening = cursor.advance()
    found: list[ast.FieldPattern] = []
    rest = None
    while rest is None and not cursor.at("}"):
        if cursor.at("...", "...*"):
            rest = _rest(cursor, bound)
        else:
            found.append(_field(cursor, bound))
        if not cursor.take(","):
            break
    cursor.close(opening, ",")
    return ast.ObjectPattern(tuple(found), rest, span=cursor.since(opening))


def _field(cursor: Cursor, bound: list[str]) -> ast.FieldPattern:
    token = cursor.token
    if token.kind not in {TokenKind.WORD, TokenKind.STRING}:
        raise cursor.unexpected("expected a key")
    cursor.advance()
    if cursor.take(":"):
        value = pattern(cursor, bound)
        return ast.FieldPattern(_key(token), value, span=cursor.since(token))
    if not token.is_name:
        raise cursor.unexpected(f"expected : after the key {token.text}")
    bound.append(token.text)
    capture = ast.Capture(token.text, span=cursor.since(token))
    return ast.FieldPattern(token.text, capture, span=capture.span)


def _key(token: Token) -> str:
    return str(token.value) if token.kind is TokenKind.STRING else token.text


def _array(cursor: Cursor, bound: list[str]) -> ast.Pattern:
    opening = cursor.advance()
    items: list[ast.Pattern] = []
    rest = None
    while rest is None and not cursor.at("]"):
        if cursor.at("..."):
            rest = _rest(cursor, bound)
        else:
            items.append(pattern(cursor, bound))
        if not cursor.take(","):
            break
    cursor.close(opening, ",")
    return ast.ArrayPattern(tuple(items), rest, span=cursor.since(opening))


def _rest(cursor: Cursor, bound: list[str]) -> ast.Rest:
    dots = cursor.advance()
    name = cursor.advance().text if cursor.token.is_name else None
    bound.extend([name] if name else [])
    return ast.Rest(name, span=cursor.since(dots))


_KIND_HINT = f"the kinds are {', '.join(KINDS)}"
