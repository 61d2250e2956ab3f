"""Grammar of the patterns of ``match``.

Patterns have no expressions inside, only literals, kinds and names, so they do not use the rest
of the grammar.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from headrace.language.ast import (
    AnyValue,
    ArrayPattern,
    Capture,
    Equals,
    FieldPattern,
    InRange,
    Kind,
    Literal,
    ObjectPattern,
    OfKind,
    OneOf,
    Pattern,
    Rest,
)
from headrace.language.tokens import LITERAL_WORDS, Token, TokenKind

if TYPE_CHECKING:
    from headrace.language.ast import Number
    from headrace.language.grammar.cursor import Cursor

KINDS = {kind.value: kind for kind in Kind}


def pattern(cursor: Cursor, bound: list[str]) -> Pattern:
    """Parse a pattern with its alternatives, and add the names it binds to `bound`."""
    cursor.enter()
    start = cursor.token
    first = len(bound)
    alternatives: list[Pattern] = [_alternative(cursor, bound)]
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
    return OneOf(tuple(alternatives), span=cursor.since(start))


def _alternative(cursor: Cursor, bound: list[str]) -> Pattern:
    token = cursor.token
    if token.kind is TokenKind.NUMBER or cursor.at("-"):
        return _number_or_range(cursor)
    if token.kind is TokenKind.STRING or cursor.at_word(*LITERAL_WORDS):
        cursor.advance()
        value = LITERAL_WORDS.get(token.text, token.value)
        literal = Literal(value, span=cursor.since(token))
        return Equals(literal, span=literal.span)
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


def _number_or_range(cursor: Cursor) -> Pattern:
    start = cursor.token
    low = _number(cursor)
    if cursor.at("..", "..="):
        inclusive = cursor.advance().text == "..="
        return InRange(low, _number(cursor), inclusive, span=cursor.since(start))
    literal = Literal(low, span=cursor.since(start))
    return Equals(literal, span=literal.span)


def _number(cursor: Cursor) -> Number:
    negative = cursor.take("-")
    if cursor.token.kind is not TokenKind.NUMBER:
        raise cursor.unexpected("expected a number")
    value = cursor.advance().value
    assert isinstance(value, int | float | Decimal)  # the tokenizer guarantees it
    return -value if negative else value


def _name_or_kind(cursor: Cursor, bound: list[str]) -> Pattern:
    token = cursor.advance()
    name = None if token.text == "_" else token.text
    if cursor.take(":"):
        kind = cursor.advance()
        if kind.kind is not TokenKind.WORD or kind.text not in KINDS:
            raise cursor.error(kind, f"expected a kind after {token.text}:", _KIND_HINT)
        bound.extend([name] if name else [])
        return OfKind(KINDS[kind.text], name, span=cursor.since(token))
    if token.text in KINDS:
        return OfKind(KINDS[token.text], span=cursor.since(token))
    if name is None:
        return AnyValue(span=cursor.since(token))
    bound.append(name)
    return Capture(name, span=cursor.since(token))


def _object(cursor: Cursor, bound: list[str]) -> Pattern:
    opening = cursor.advance()
    found: list[FieldPattern] = []
    rest = None
    while rest is None and not cursor.at("}"):
        if cursor.at("...", "...*"):
            rest = _rest(cursor, bound)
        else:
            found.append(_field(cursor, bound))
        if not cursor.take(","):
            break
    cursor.close(opening, ",")
    return ObjectPattern(tuple(found), rest, span=cursor.since(opening))


def _field(cursor: Cursor, bound: list[str]) -> FieldPattern:
    token = cursor.token
    if token.kind not in {TokenKind.WORD, TokenKind.STRING}:
        raise cursor.unexpected("expected a key")
    cursor.advance()
    if cursor.take(":"):
        value = pattern(cursor, bound)
        return FieldPattern(_key(token), value, span=cursor.since(token))
    if not token.is_name:
        raise cursor.unexpected(f"expected : after the key {token.text}")
    bound.append(token.text)
    capture = Capture(token.text, span=cursor.since(token))
    return FieldPattern(token.text, capture, span=capture.span)


def _key(token: Token) -> str:
    return str(token.value) if token.kind is TokenKind.STRING else token.text


def _array(cursor: Cursor, bound: list[str]) -> Pattern:
    opening = cursor.advance()
    items: list[Pattern] = []
    rest = None
    while rest is None and not cursor.at("]"):
        if cursor.at("..."):
            rest = _rest(cursor, bound)
        else:
            items.append(pattern(cursor, bound))
        if not cursor.take(","):
            break
    cursor.close(opening, ",")
    return ArrayPattern(tuple(items), rest, span=cursor.since(opening))


def _rest(cursor: Cursor, bound: list[str]) -> Rest:
    dots = cursor.advance()
    name = cursor.advance().text if cursor.token.is_name else None
    bound.extend([name] if name else [])
    return Rest(name, span=cursor.since(dots))


_KIND_HINT = f"the kinds are {', '.join(KINDS)}"
