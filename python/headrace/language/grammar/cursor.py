"""Cursor over the tokens of a query.

The cursor only moves forward. One pass over all tokens computes in advance what would need
unlimited look-ahead: the closing bracket of each opening one, and whether an ``if`` has an
``else`` (``a if b else c``) or not (the filter of a comprehension). Parsing is linear
for that reason.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from headrace.errors import QuerySyntaxError
from headrace.language.ast import Arg, Literal, Span
from headrace.language.tokens import KEYWORDS, UNBOUND, Token, TokenKind, tokenize
from headrace.record import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.language.ast import Call, Located, Node
    from headrace.language.literals import Level
    from headrace.language.tokens import Bindings

DEEPEST = 1000
"""Greatest limit of depth that a caller may set."""

_CLOSING = {"(": ")", "[": "]", "{": "}"}


@record
class Context:
    """Words and signs that end an expression which could otherwise continue.

    Does not apply where another token marks the end: inside brackets, and between
    ``try`` or ``if`` and ``else``, ``match`` and ``with``.
    """

    let_value: bool = False
    """``in`` ends the value of a ``let``."""

    guard: bool = False
    """``->`` ends the guard of an arm."""

    patch_target: bool = False
    """``{`` ends the target of a patch, if writes follow."""

    loop: bool = False
    """An ``if`` without ``else`` is a condition of the comprehension."""


OPEN = Context()


class Cursor(ABC):
    """The tokens of one query, a position in them, its nesting depth and its context."""

    def __init__(self, text: str, max_depth: int, bindings: Bindings = UNBOUND) -> None:
        self.text = text
        self.max_depth = max_depth
        self._bindings = bindings
        self.tokens = tokenize(text)
        self.index = 0
        self._depth = 0
        self._closing, self._conditional = _structure(self.tokens)
        self.context = OPEN
        self.piped_call = -1
        """Position of a call that directly follows a pipe."""

    @abstractmethod
    def expression(self) -> Node:
        """Parse a whole expression, with every operator."""

    @abstractmethod
    def operand(self, minimum: Level) -> Node:
        """Parse an expression that binds at least as tightly as `minimum`."""

    def enclosed(
        self, parse: Callable[[], Node] | None = None, context: Context = OPEN
    ) -> Node:
        """Parse an expression, or call `parse`, in another context."""
        outer, self.context = self.context, context
        found = (parse or self.expression)()
        self.context = outer
        return found

    @property
    def token(self) -> Token:
        """The token to be read next."""
        return self.tokens[self.index]

    def ahead(self, distance: int) -> Token:
        """Return the token `distance` after the next one, at the end the last one."""
        return self.tokens[min(self.index + distance, len(self.tokens) - 1)]

    def at(self, *signs: str) -> bool:
        """Whether one of these signs comes next."""
        return self.token.is_sign(*signs)

    def at_word(self, *words: str) -> bool:
        """Whether one of these words comes next."""
        return self.token.is_word(*words)

    def at_call(self) -> bool:
        """Whether a name and a parenthesis come next."""
        # `has` is an operator elsewhere, but never where a value begins.
        may_be_called = self.token.is_name or self.at_word("has")
        return may_be_called and self.ahead(1).is_sign("(")

    def at_conditional(self) -> bool:
        """Whether an ``if`` comes next that has an ``else``."""
        return self.index in self._conditional

    def at_arrow_parameters(self) -> bool:
        """Whether a parenthesis comes next whose closing one precedes ``=>``."""
        closing = self._closing.get(self.index)
        return closing is not None and self.tokens[closing + 1].is_sign("=>")

    def closing(self, index: int) -> int | None:
        """Return the closing bracket of the one at `index`; None if there is none."""
        return self._closing.get(index)

    def advance(self) -> Token:
        """Return the next token and go past it."""
        token = self.token
        if token.kind is not TokenKind.END:
            self.index += 1
        return token

    def take(self, *signs: str) -> bool:
        """Go past one of these signs if it comes next."""
        if found := self.at(*signs):
            self.advance()
        return found

    def take_word(self, *words: str) -> bool:
        """Go past one of these words if it comes next."""
        if found := self.at_word(*words):
            self.advance()
        return found

    def expect(self, sign: str, where: str) -> Token:
        """Go past `sign`, which has to come next."""
        if not self.at(sign):
            raise self.unexpected(f"expected {sign} {where}")
        return self.advance()

    def expect_word(self, word: str, where: str) -> Token:
        """Go past `word`, which has to come next."""
        if not self.at_word(word):
            raise self.unexpected(f"expected {word} {where}")
        return self.advance()

    def name(self, what: str) -> str:
        """Go past a name, which has to come next."""
        if not self.token.is_name:
            raise self.unexpected(f"expected {what}")
        return self.advance().text

    def argument(self, token: Token) -> Node:
        """Return the value of the name behind ``$``."""
        name = token.text[1:]
        found = self._bindings.arg(name, Span(token.start, token.end))
        if found is None:
            hint = (
                f"give it a value: --arg {name}=TEXT or --argjson {name}=JSON, args in "
                f"Python; write $.{name} for the field"
            )
            raise self.error(token, f"${name} has no value", hint)
        return found

    def environment(self, token: Token, call: Call) -> Node:
        """Return the value of the variable that a call of ``env`` names."""
        match call.args:
            case (Arg(Literal(str(name)), None),):
                pass
            case _:
                reason = "env takes the name of a variable in quotes"
                raise self.error(token, reason, 'write env("HOME")')
        if self._bindings.env is None:
            hint = "allow it: --allow-env, or allow_env=True in Python"
            reason = "the query may not read the environment"
            raise self.error(token, reason, hint)
        value = dict(self._bindings.env).get(name)
        if value is not None and _is_bytes(value):
            raise self.error(token, f"the variable {name} is not UTF-8")
        return Literal(value, span=call.span)

    def close(self, opening: Token, or_else: str = "") -> None:
        """Go past the bracket that closes `opening`, which has to come next."""
        sign = _CLOSING[opening.text]
        if not self.at(sign):
            choice = f"{or_else} or {sign}" if or_else else sign
            where = f"column {self._column(opening.start)}"
            hint = ""
            if opening.text == "(" and not or_else and self.at(","):
                hint = "an array is written in brackets: x in [1, 2]"
            raise self.unexpected(
                f"expected {choice} to close {opening.text} opened at {where}", hint
            )
        self.advance()

    def enter(self) -> None:
        """Count one level of nesting; every `enter` is followed by a `leave`."""
        if self._depth > self.max_depth:
            raise self.too_deep(self.token.start)
        self._depth += 1

    def leave(self) -> None:
        """Leave the level that was entered last."""
        self._depth -= 1

    def since(self, start: Token | Located | int) -> Span:
        """Return the span from `start` to the last token that was read."""
        if isinstance(start, Token):
            start = start.start
        elif not isinstance(start, int):
            start = start.span.start
        return Span(start, max(start, self.tokens[self.index - 1].end))

    def too_deep(self, offset: int) -> QuerySyntaxError:
        """Return the error for a query that is nested too deep."""
        reason = f"nested more than {self.max_depth} levels deep"
        hint = "write it flatter, with `let` or `|`"
        if self.max_depth < DEEPEST:
            hint += f", or raise max_depth (--max-depth, at most {DEEPEST})"
        return QuerySyntaxError(self.text, offset, reason, hint)

    def unexpected(self, expected: str = "", hint: str = "") -> QuerySyntaxError:
        """Return the error for the next token, which does not fit here."""
        token = self.token
        if token.kind is TokenKind.END:
            reason = "a query cannot end here" if self.index else "the query is empty"
            if expected:
                reason = f"{reason}: {expected}"
        elif expected:
            reason = f"{expected}, found {_shown(token)}"
        else:
            reason = f"unexpected {_shown(token)}"
        return self.error(token, reason, hint or self._hint(token))

    def error(self, at: Token | int, reason: str, hint: str = "") -> QuerySyntaxError:
        """Return an error that points to `at`."""
        offset = at.start if isinstance(at, Token) else at
        return QuerySyntaxError(self.text, offset, reason, hint)

    def _column(self, offset: int) -> int:
        return offset - self.text.rfind("\n", 0, offset)

    def _foreign_hint(self, token: Token, before: Token) -> str:
        """Return the hint for a construct of another language."""
        hint = ""
        if before.is_sign("?"):
            hint = _WORD_HINTS["if"]
        elif token.is_sign("*"):
            hint = _STAR_HINTS.get(before.text, "")
        elif token.kind is TokenKind.STRING and before.text == "f":
            hint = 'f-strings take double quotes: f"…"'
        elif before.is_sign("->") and self._is_match_without_with():
            hint = MATCH_HINT
        for word in (before, token):
            if word.kind is TokenKind.WORD:
                hint = _FOREIGN.get(word.text.lower(), hint)
        return hint

    def _is_match_without_with(self) -> bool:
        """Whether the brace around this holds the arms of a match."""
        open_braces = 0
        for token in reversed(self.tokens[: self.index]):
            open_braces += token.is_sign("{") - token.is_sign("}")
            if open_braces > 0 and token.is_word("match", "with"):
                return token.text == "match"
        return False

    def _hint(self, token: Token) -> str:
        before = self.tokens[self.index - 1] if self.index else token
        if foreign := self._foreign_hint(token, before):
            return foreign
        if token.kind is TokenKind.SIGN:
            return _SIGN_HINTS.get(token.text, "")
        if before.is_sign("$", "@") and token.is_name:
            return f"write {before.text}.{token.text} for the field"
        if token.is_word("not") and self.ahead(1).is_word("in"):
            return "write: not x in xs"
        for word in (token, before):
            if word.is_name and word.text.lower() in KEYWORDS:
                return f"keywords are written small: {word.text.lower()}"
        if token.is_word(*_WORD_HINTS):
            return _WORD_HINTS[token.text]
        if token.is_word(*KEYWORDS):
            return f"for a field of this name write @.{token.text}"
        return ""


def _is_bytes(text: str) -> bool:
    """Whether a text from the environment has bytes that are not UTF-8."""
    return any("\ud800" <= sign <= "\udfff" for sign in text)


def _shown(token: Token) -> str:
    """Return how an error names a token."""
    match token.kind:
        case TokenKind.STRING | TokenKind.F_START:
            return "a string"
        case TokenKind.F_TEXT | TokenKind.F_END:
            return "the end of {…}"
        case TokenKind.F_SPEC:
            return ":"
        case TokenKind.NUMBER:
            return token.text if len(token.text) < 20 else "a number"
        case _:
            return token.text if len(token.text) < 40 else "a long name"


def _structure(tokens: list[Token]) -> tuple[dict[int, int], set[int]]:
    """Find the closing bracket of each opening one, and each ``if`` with ``else``."""
    closing: dict[int, int] = {}
    conditional: set[int] = set()
    # For every open bracket: its index, and the `if` and `try` without `else` so far.
    waiting: list[tuple[int, list[int]]] = [(-1, [])]
    for index, token in enumerate(tokens):
        if token.kind is TokenKind.SIGN:
            if token.text in _CLOSING:
                waiting.append((index, []))
            elif token.text in _CLOSING.values() and len(waiting) > 1:
                opening, _ = waiting.pop()
                if _CLOSING[tokens[opening].text] == token.text:
                    closing[opening] = index
        elif token.is_word("if", "try", "else") and not _is_key(tokens, index):
            undecided = waiting[-1][1]
            if token.text != "else":
                undecided.append(index)
            elif undecided and tokens[decided := undecided.pop()].text == "if":
                conditional.add(decided)
    return closing, conditional


def _is_key(tokens: list[Token], index: int) -> bool:
    """Whether a keyword is only a key or the name of an argument here."""
    return tokens[index + 1].is_sign(":", "?")


MATCH_HINT = "write: match value with {pattern -> value, _ -> other}"

_STAR_HINTS = {
    "*": "no sign means a power: write x * x",
    "(": "write count() for all, count(test) for some",
}
_PROJECTION = "write the answer and then the rows: {a, b} where test"
_FOREIGN = {
    "select": _PROJECTION,
    "from": _PROJECTION,
    "where": _PROJECTION,
    "like": "write text ~= part, or text.re_match(pattern)",
    "ilike": "write text ~= part, or text.re_match(pattern)",
    "between": "write: a <= x and x <= b",
    "desc": "write a minus before the key: sort(-v)",
    "asc": "keys go up as they are: sort(v)",
    "case": "write: value if test else other, or match value with {…}",
    "def": "write: def f(x, y) = x + y in f(1, 2)",
    "function": "write: def f(x, y) = x + y in f(1, 2)",
    "reduce": "write xs.fold(0, (total, x) => total + x)",
    "foreach": "write xs.accumulate(0, (total, x) => total + x)",
}
"""Hints for words of jq, SQL and JavaScript, where no word is allowed."""

_EQUAL = (
    "compare with ==; name a value with let x = 1 in …, change a field with $.x.set(1)"
)
_SIGN_HINTS = {
    "=": _EQUAL,
    "===": "compare with ==",
    "=~": 'write .re_match("…"), or ~= for containment',
    "!==": "compare with !=",
    "<>": "compare with !=",
    "&&": "write `and`",
    "||": "write `or`, or ?? for a default of null",
    "//": "write ?? for a default, / to divide",
    "!": "write `not x`",
    ".": "write $ or @ for the value itself, @.name for a field",
    "..": "write $.. or @..",
    "=>": "put parameters in parentheses: (a, b) => …, ([k, v]) => …",
}
_WORD_HINTS = {
    "if": "write: value if test else other",
    "else": "write: value if test else other",
    "then": "write: value if test else other",
    "elif": "write: value if test else other",
    "not": "put it in parentheses: (not x)",
    "try": "put it in parentheses: (try x else y)",
}
