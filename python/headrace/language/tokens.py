"""Tokens of a query: words, signs, literals and the parts of f-strings.

Every token has its position. Words come in two kinds: after ``.`` and ``..`` a *field*, where
keywords have no meaning; elsewhere a *word*, which the parser may take for a keyword. A ``#``
begins a comment that ends with the line. An f-string becomes a run of tokens, with those of the
expressions inside it, so no text is read twice.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal, InvalidOperation
from enum import Enum, auto
from typing import TYPE_CHECKING

from headrace.errors import QuerySyntaxError, UsageError
from headrace.kernel import values
from headrace.language import ast
from headrace.record import record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.language.ast import Number, Scalar

KEYWORDS = frozenset(
    {
        *("true", "false", "null", "and", "or", "not", "for", "in", "if", "else"),
        *("let", "lambda", "kind", "is", "as", "when", "patch", "DELETE", "try"),
        *("has", "match", "with"),
    }
)

LITERAL_WORDS = {"true": True, "false": False, "null": None}

FOREIGN_CONSTANTS = {
    "True": "true", "TRUE": "true", "False": "false", "FALSE": "false",
    "None": "null", "NULL": "null", "nil": "null", "undefined": "null",
}  # fmt: skip
"""Constants of other languages, each with ours: as field names, they would be null in every row."""

LONGEST_NUMBER = 640
"""Maximum length of a number: Python converts this many digits at any setting."""


class TokenKind(Enum):
    """Kinds of tokens."""

    WORD = auto()
    FIELD = auto()
    SOURCE = auto()
    ARGUMENT = auto()
    NUMBER = auto()
    STRING = auto()
    SIGN = auto()
    F_START = auto()
    F_TEXT = auto()
    F_SPEC = auto()
    F_END = auto()
    END = auto()


@record
class Token:
    """A piece of the query from `start` up to `end`.

    `value` is that of a number, a string or a part of an f-string.
    """

    kind: TokenKind
    text: str
    start: int
    end: int
    value: Scalar = None

    def is_sign(self, *signs: str) -> bool:
        """Tell whether this is one of these signs."""
        return self.kind is TokenKind.SIGN and self.text in signs

    def is_word(self, *words: str) -> bool:
        """Tell whether this is one of these words, not as a field."""
        return self.kind is TokenKind.WORD and self.text in words

    @property
    def is_name(self) -> bool:
        """Whether this is a word that is no keyword."""
        return self.kind is TokenKind.WORD and self.text not in KEYWORDS


# Longer ones first. Signs of other languages have a hint in the cursor.
_SIGNS = (
    *("...**", "...*", "...", "..=", "..", "."),
    *("??", "?|", "?", "|>", "||", "|", "->", "-", "=>", "===", "==", "=~", "="),
    *("!==", "!=", "!", "~=", ">=", "<=", "<>", "<", ">", "&&", "+", "*", "//", "/"),
    *("%", "(", ")", "[", "]", "{", "}", ",", ":", "$", "@"),
)

_SPACE = re.compile(r"(?:[ \t\r\n]++|\#[^\n]*+)*+")
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOKEN = re.compile(
    r"""
      (?P<F_START> f" )
    | (?P<WORD> [A-Za-z_][A-Za-z0-9_]* )
    | @ (?P<SOURCE> [A-Za-z_][A-Za-z0-9_]* )
    | \$ (?P<ARGUMENT> [A-Za-z_][A-Za-z0-9_]* )
    | (?P<NUMBER> [0-9]+ (?: \.[0-9]+ )? (?: [eE][+-]?[0-9]+ )? )
    | (?P<STRING> "[^"\\]*+(?:\\.[^"\\]*+)*+" | '[^'\\]*+(?:\\.[^'\\]*+)*+' )
    | (?P<SIGN> """
    + " | ".join(re.escape(sign) for sign in _SIGNS)
    + ")",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(
    r"\\(?: x[0-9A-Fa-f]{2} | u[0-9A-Fa-f]{4} | . )", re.VERBOSE | re.DOTALL
)
_SURROGATE = re.compile("[\ud800-\udfff]")

_ESCAPES = {
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "0": "\0",
    "\\": "\\",
    '"': '"',
    "'": "'",
    "/": "/",
}

_OPENING = {")": "(", "]": "[", "}": "{"}


def tokenize(text: str) -> list[Token]:
    """Return the tokens of `text`, the last one of kind `END`.

    >>> [token.text for token in tokenize("@.a-1 # the rest is a comment")]
    ['@', '.', 'a', '-', '1', '']
    """
    if stray := _SURROGATE.search(text):
        reason = "half a character: the query is not valid Unicode"
        raise QuerySyntaxError(text, stray.start(), reason)
    lexer = _Lexer(text)
    lexer.code(0, len(text))
    lexer.add(TokenKind.END, len(text), len(text))
    return lexer.tokens


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[Token] = []

    def add(self, kind: TokenKind, start: int, end: int, value: Scalar = None) -> None:
        self.tokens.append(Token(kind, self.text[start:end], start, end, value))

    def code(self, start: int, end: int) -> None:
        at = self._skip_space(start, end)
        while at < end:
            at = self._skip_space(self._token(at, end), end)

    def _skip_space(self, at: int, end: int) -> int:
        space = _SPACE.match(self.text, at, end)
        return space.end() if space else at

    def _token(self, at: int, end: int) -> int:
        """Add the tokens that begin at `at`, return their end."""
        if self._after_dot() and (field := _FIELD.match(self.text, at, end)):
            self.add(TokenKind.FIELD, at, field.end())
            return field.end()

        found = _TOKEN.match(self.text, at, end)
        if not found or not found.lastgroup:
            raise self._unknown(at)
        kind = TokenKind[found.lastgroup]
        if kind is TokenKind.F_START:
            return self._f_string(at)
        is_prefixed = kind in {TokenKind.SOURCE, TokenKind.ARGUMENT}
        if is_prefixed and found[kind.name] in KEYWORDS:
            self.add(TokenKind.SIGN, at, at + 1)
            return at + 1

        value: Scalar = None
        if kind is TokenKind.NUMBER:
            value = self._number(found[0], at)
        elif kind is TokenKind.STRING:
            value = self._unescape(found[0][1:-1], at + 1)
        self.add(kind, at, found.end(), value)
        return found.end()

    def _after_dot(self) -> bool:
        last = self.tokens[-1] if self.tokens else None
        return last is not None and last.is_sign(".", "..")

    def _number(self, digits: str, at: int) -> Number:
        if len(digits) > LONGEST_NUMBER:
            reason = f"a number of more than {LONGEST_NUMBER} characters"
            raise QuerySyntaxError(self.text, at, reason)
        if digits.isdigit():
            return int(digits)
        number = float(digits)
        if math.isfinite(number):
            return number
        try:
            return Decimal(digits)
        except InvalidOperation:
            reason = "a number with too large an exponent"
            raise QuerySyntaxError(self.text, at, reason) from None

    def _unescape(self, raw: str, at: int) -> str:
        """Return the text of a string; an unknown escape stays as it is."""
        if "\\" not in raw:
            return raw

        def meaning(escape: re.Match[str]) -> str:
            code = escape[0][1:]
            if len(code) > 1:
                return chr(int(code[1:], 16))
            return _ESCAPES.get(code, escape[0])

        text = _ESCAPE.sub(meaning, raw)
        if not _SURROGATE.search(text):
            return text
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            reason = "half of a surrogate pair in this string"
            hint = "write the character itself, or both halves as \\uXXXX\\uXXXX"
            raise QuerySyntaxError(self.text, at - 1, reason, hint) from None

    def _f_string(self, at: int) -> int:
        """Add the tokens of ``f"…"``; it has no escapes, so the next quote ends it."""
        end = self.text.find('"', at + 2)
        if end < 0:
            raise self._unclosed_string(at)
        self.add(TokenKind.F_START, at, at + 2)
        at += 2
        while at < end:
            at = self._f_part(at, end)
        self.add(TokenKind.F_END, end, end + 1)
        return end + 1

    def _f_part(self, at: int, end: int) -> int:
        start, text = at, []
        while at < end:
            sign = self.text[at]
            if sign in "{}":
                if self.text[at : at + 2] != sign * 2:
                    break
                at += 1
            text.append(sign)
            at += 1
        if text:
            self.add(TokenKind.F_TEXT, start, at, "".join(text))
        if at == end:
            return at
        if self.text[at] == "}":
            hint = "write }} for a brace that is text"
            raise QuerySyntaxError(self.text, at, "a } that closes nothing", hint)
        return self._interpolation(at, end)

    def _interpolation(self, opening: int, end: int) -> int:
        """Add the tokens from one ``{`` of an f-string to its ``}``."""
        self.add(TokenKind.SIGN, opening, opening + 1)
        still_open = dict.fromkeys("([{", 0)
        at = self._skip_space(opening + 1, end)
        while at < end:
            sign = self.text[at]
            if sign == "}" and not still_open["{"]:
                self.add(TokenKind.SIGN, at, at + 1)
                return at + 1
            if sign == ":" and not any(still_open.values()):
                at = self._spec(at + 1, end)
                continue
            at = self._skip_space(self._token(at, end), end)
            if sign in still_open:
                still_open[sign] += 1
            elif sign in _OPENING:
                still_open[_OPENING[sign]] = max(0, still_open[_OPENING[sign]] - 1)
        reason = "this { of the f-string is not closed"
        hint = "write {{ for a brace that is text; inside {…}, quote strings with '…'"
        raise QuerySyntaxError(self.text, opening, reason, hint)

    def _spec(self, start: int, end: int) -> int:
        stop = self.text.find("}", start, end)
        stop = end if stop < 0 else stop
        self.add(TokenKind.F_SPEC, start, stop, self.text[start:stop])
        return stop

    def _unknown(self, at: int) -> QuerySyntaxError:
        sign = self.text[at]
        if sign in "\"'":
            return self._unclosed_string(at)
        hint = _SIGN_HINTS.get(sign, "")
        if not hint and sign.isalpha():
            hint = 'names are ASCII; write such a key as @["…"]'
        elif not hint and sign.isspace():
            hint = "only space, tab and line ends separate words"
        shown = sign if sign.isprintable() else f"U+{ord(sign):04X}"
        return QuerySyntaxError(self.text, at, f"unexpected {shown}", hint)

    def _unclosed_string(self, at: int) -> QuerySyntaxError:
        hint = "close it with the same quote; inside, write \\\" or \\'"
        return QuerySyntaxError(self.text, at, "this string is not closed", hint)


_QUOTES = "write strings as \"…\" or '…'"
_SIGN_HINTS = {
    "&": "write `and`",
    ";": "a query is one expression; use `|` or `let … in …`",
    "`": _QUOTES,
    "^": "no sign means a power: write x * x",
    **dict.fromkeys("\u2018\u2019\u201c\u201d", _QUOTES),
}


@record
class Bindings:
    """The values of the names in a query.

    `args` has JSON by name; `env` the variables of the environment, None if the query may
    not read them.
    """

    args: tuple[tuple[str, str], ...] = ()
    env: tuple[tuple[str, str], ...] | None = None

    def arg(self, name: str, span: ast.Span) -> ast.Node | None:
        """Return the value of ``$name`` as an expression, None if there is none."""
        text = dict(self.args).get(name)
        return None if text is None else literal(values.parse(text.encode()), span)


UNBOUND = Bindings()


def bindings_of(
    args: Mapping[str, object], env: Mapping[str, str] | None = None
) -> Bindings:
    """Return bindings to Python values.

    >>> bindings_of({"min": 5, "tags": ["a"]}).args
    (('min', '5'), ('tags', '["a"]'))
    """
    texts = []
    for name, value in args.items():
        if not name.isidentifier() or not name.isascii():
            raise UsageError(f"args: {name!r} is not a name; a query has it as $name")
        try:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False)
            values.parse(text.encode())
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"args: {name!r} is not a JSON value: {error}") from None
        texts.append((name, text))
    return Bindings(tuple(texts), None if env is None else tuple(sorted(env.items())))


def names_used(query: str) -> set[str]:
    """Return the names behind ``$`` in a query.

    >>> sorted(names_used("v > $min and k == $key"))
    ['key', 'min']
    """
    tokens = tokenize(query)
    return {token.text[1:] for token in tokens if token.kind is TokenKind.ARGUMENT}


def refuse_unused(bindings: Bindings, queries: tuple[str, ...]) -> None:
    """Refuse arguments that none of the queries uses: a name is misspelt."""
    used = set().union(*map(names_used, queries))
    for name, _value in bindings.args:
        if name not in used:
            raise UsageError(f"the query has no ${name}; leave out the argument {name}")


def literal(value: object, span: ast.Span) -> ast.Node:
    """Return the expression that gives a value.

    >>> from headrace.language.unparse import unparse
    >>> unparse(literal({"a": [1, -2.5, None]}, ast.NOWHERE))
    '{a: [1, -2.5, null]}'
    """
    match value:
        case dict():
            entries = [
                ast.Entry(str(key), literal(each, span), span=span)
                for key, each in value.items()
            ]
            return ast.ObjectLiteral(tuple(entries), span=span)
        case list():
            items = tuple(literal(each, span) for each in value)
            return ast.ArrayLiteral(items, span=span)
        case bool() | None | str():
            return ast.Literal(value, span=span)
        case int() | float() | Decimal() if str(value).startswith("-"):
            return ast.Negate(ast.Literal(-value, span=span), span=span)
        case int() | float() | Decimal():
            return ast.Literal(value, span=span)
        case _:
            raise TypeError(f"{type(value).__name__} is not a JSON value")
