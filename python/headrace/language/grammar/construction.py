"""Grammar of arrays, objects, f-strings and comprehensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from headrace.language import ast
from headrace.language.grammar.parts import condition, loops
from headrace.language.tokens import LITERAL_WORDS, TokenKind
from headrace.record import replace

if TYPE_CHECKING:
    from headrace.errors import QuerySyntaxError
    from headrace.language.ast import Node
    from headrace.language.grammar.cursor import Cursor
    from headrace.language.tokens import Token

_Entry: TypeAlias = ast.Entry | ast.ComputedEntry | ast.Shorthand | ast.Spread
_Comprehension: TypeAlias = ast.ArrayComprehension | ast.ObjectComprehension

_KEY_HINT = "write key: value; only a name can stand for both"


def array(cursor: Cursor) -> Node:
    """Parse an array, or a comprehension in brackets."""
    opening = cursor.advance()
    items: list[Node | ast.Spread] = []
    while not cursor.at("]"):
        start = cursor.token
        spread = cursor.take("...")
        item = cursor.enclosed()
        if cursor.at_word("for") and not items and not spread:
            turns = loops(cursor)
            cursor.close(opening)
            return ast.ArrayComprehension(item, turns, span=cursor.since(opening))
        items.append(ast.Spread(item, span=cursor.since(start)) if spread else item)
        if not cursor.take(","):
            break
    cursor.close(opening, ",")
    return ast.ArrayLiteral(tuple(items), span=cursor.since(opening))


def brace(cursor: Cursor) -> Node:
    """Parse an object, or a comprehension in braces: the first entry tells."""
    opening = cursor.advance()
    entries: list[_Entry] = []
    while not cursor.at("}"):
        found: _Entry | _Comprehension
        found = _entry(cursor) if entries else _first_entry(cursor)
        if isinstance(found, ast.ArrayComprehension | ast.ObjectComprehension):
            cursor.close(opening)
            return replace(found, span=cursor.since(opening))
        entries.append(found)
        if not cursor.take(","):
            break
    cursor.close(opening, ",")
    return ast.ObjectLiteral(tuple(entries), span=cursor.since(opening))


def _first_entry(cursor: Cursor) -> _Entry | _Comprehension:
    """Parse an entry, or all of a comprehension but its brace.

    Whether ``a: b`` and ``[a]: b`` are entries is known when no ``for`` follows.
    """
    start = cursor.token
    key: Node | None
    if _at_entry(cursor) and not cursor.at("["):
        entry = _entry(cursor)
        key = _key_as_value(start)
        match entry:
            case ast.Entry(_, value, False, None) if key and cursor.at_word("for"):
                turns = loops(cursor)
                return ast.ObjectComprehension(key, value, turns)
        return entry

    key = cursor.enclosed()
    if cursor.at_word("for"):
        turns = loops(cursor)
        return ast.ArrayComprehension(key, turns, distinct=True)
    if not cursor.take(":"):
        raise _no_key(cursor, key)
    value = cursor.enclosed()
    if cursor.at_word("for"):
        turns = loops(cursor)
        return ast.ObjectComprehension(key, value, turns)
    if (
        start.is_sign("[")
        and isinstance(key, ast.ArrayLiteral)
        and len(key.items) == 1
        and not isinstance(key.items[0], ast.Spread)
    ):
        when = condition(cursor)
        span = cursor.since(start)
        return ast.ComputedEntry(key.items[0], value, when, span=span)
    reason = "a key is a name, a string, or an expression in […]"
    raise cursor.error(start, reason, "write [key]: value")


def _key_as_value(token: Token) -> Node | None:
    """Return a key as an expression; most keywords are none."""
    span = ast.Span(token.start, token.end)
    if token.kind is TokenKind.STRING:
        return ast.Literal(token.value, span=span)
    if token.text in LITERAL_WORDS:
        return ast.Literal(LITERAL_WORDS[token.text], span=span)
    if token.text == "DELETE":
        return ast.Delete(span=span)
    return ast.Name(token.text, span=span) if token.is_name else None


def is_hyphenated(written: str) -> bool:
    """Whether a difference is written as a name with hyphens."""
    names = written.split("-")
    return len(names) > 1 and all(name.isidentifier() for name in names)


def _no_key(cursor: Cursor, value: Node) -> QuerySyntaxError:
    if cursor.token.kind is TokenKind.END:
        return cursor.unexpected("expected } to close the object")
    if not cursor.at(",", "}"):
        hint = "write key: value" if cursor.at("=") else ""
        return cursor.unexpected("expected } or, after a key, :", hint)
    written = cursor.text[value.span.start : value.span.end]
    if is_hyphenated(written):
        hint = f'write "{written}": $."{written}"'
        return cursor.error(value.span.start, "this entry has no key", hint)
    return cursor.error(value.span.start, "this entry has no key", _KEY_HINT)


def _at_entry(cursor: Cursor) -> bool:
    """Whether the next tokens can only be an entry of an object."""
    token, after = cursor.token, cursor.ahead(1)
    if token.kind not in {TokenKind.WORD, TokenKind.STRING}:
        return cursor.at("...", "...*", "...**", "[")
    if after.is_sign("?"):
        return cursor.ahead(2).is_sign(":", ",", "}")
    return after.is_sign(":") or (token.is_name and after.is_sign(",", "}"))


def _entry(cursor: Cursor) -> _Entry:
    start = cursor.token
    if not _at_entry(cursor):
        raise _no_entry(cursor)
    cursor.advance()
    if start.kind is TokenKind.SIGN:
        return _sign_entry(cursor, start)
    key = str(start.value) if start.kind is TokenKind.STRING else start.text
    optional = cursor.take("?")
    if not cursor.take(":"):
        return ast.Shorthand(key, span=cursor.since(start))
    value = cursor.enclosed()
    when = condition(cursor)
    return ast.Entry(key, value, optional, when, span=cursor.since(start))


def _sign_entry(cursor: Cursor, sign: Token) -> _Entry:
    first = cursor.enclosed()
    if sign.text != "[":
        return ast.Spread(first, sign.text == "...**", span=cursor.since(sign))
    cursor.close(sign)
    cursor.expect(":", "after the key")
    value = cursor.enclosed()
    when = condition(cursor)
    return ast.ComputedEntry(first, value, when, span=cursor.since(sign))


def _no_entry(cursor: Cursor) -> QuerySyntaxError:
    word = cursor.token.text
    if cursor.token.kind is TokenKind.WORD and cursor.ahead(1).is_sign(",", "}"):
        reason = f"{word} is a keyword and cannot stand for key and value"
        return cursor.error(cursor.token, reason, f"write {word}: @.{word}")
    if cursor.token.kind in {TokenKind.WORD, TokenKind.STRING}:
        if cursor.ahead(1).kind is TokenKind.END:
            cursor.advance()
            return cursor.unexpected("expected } to close the object")
        if cursor.ahead(1).is_sign("="):
            cursor.advance()
            return cursor.unexpected("expected : after the key", "write key: value")
        return cursor.error(cursor.token, "this entry has no key", _KEY_HINT)
    return cursor.unexpected("expected a key: a name, a string or […]")


def f_string(cursor: Cursor) -> Node:
    """Parse an f-string."""
    start = cursor.advance()
    parts: list[ast.Text | ast.Interpolation] = []
    while cursor.token.kind is not TokenKind.F_END:
        token = cursor.advance()
        if token.kind is TokenKind.F_TEXT:
            parts.append(ast.Text(str(token.value), span=cursor.since(token)))
        else:
            parts.append(_interpolation(cursor, token))
    cursor.advance()
    return ast.FString(tuple(parts), span=cursor.since(start))


def _interpolation(cursor: Cursor, opening: Token) -> ast.Interpolation:
    if cursor.at("}"):
        hint = "write {{}} for braces that are text"
        raise cursor.error(opening, "there is nothing in these braces", hint)
    value = cursor.enclosed()
    spec = None
    if cursor.token.kind is TokenKind.F_SPEC:
        spec = str(cursor.advance().value) or None
    cursor.close(opening)
    return ast.Interpolation(value, spec, span=cursor.since(opening))
