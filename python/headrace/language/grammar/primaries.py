"""Grammar of primary expressions: literals, names, keywords, parentheses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from headrace.language import ast
from headrace.language.grammar.construction import array, brace, f_string
from headrace.language.grammar.cursor import MATCH_HINT
from headrace.language.grammar.parts import arguments, arms, loops, names, parameter
from headrace.language.grammar.patch import patch
from headrace.language.grammar.patterns import LITERAL_WORDS
from headrace.language.tokens import FOREIGN_CONSTANTS, KEYWORDS, TokenKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.language.ast import Node
    from headrace.language.grammar.cursor import Cursor
    from headrace.language.grammar.state import Parser
    from headrace.language.routine import Routine


def primary(parser: Parser) -> Routine[Node]:
    """Parse a value without the steps that may follow it."""
    token = parser.cursor.token
    found: Node
    if token.kind is TokenKind.WORD:
        found = yield _word(parser)
    elif token.kind is TokenKind.F_START:
        found = yield f_string(parser)
    elif token.kind is TokenKind.SIGN and token.text in _BRACKETS:
        found = yield _BRACKETS[token.text](parser)
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
    if token.text in KEYWORDS:
        if token.text not in _KEYWORDS:
            raise cursor.unexpected()
        found = yield _KEYWORDS[token.text](parser)
    elif cursor.ahead(1).is_sign("=>"):
        found = yield _arrow(parser)
    elif token.text == "def" and cursor.ahead(1).kind is TokenKind.WORD:
        found = yield _definition(parser)
    elif parser.at_call():
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


def _constant(parser: Parser) -> Node:
    token = parser.cursor.advance()
    return ast.Literal(LITERAL_WORDS[token.text], span=parser.cursor.since(token))


def _delete(parser: Parser) -> Node:
    token = parser.cursor.advance()
    return ast.Delete(span=parser.cursor.since(token))


def _parenthesis(parser: Parser) -> Routine[Node]:
    cursor = parser.cursor
    found: Node
    if cursor.at_arrow_parameters():
        found = yield _arrow(parser)
        return found
    opening = cursor.advance()
    found = yield parser.enclosed()
    if cursor.at_word("for"):
        turns: tuple[ast.For, ...] = yield loops(parser)
        cursor.close(opening)
        return ast.ArrayComprehension(found, turns, span=cursor.since(opening))
    cursor.close(opening)
    return found


def _arrow(parser: Parser) -> Routine[Node]:
    cursor = parser.cursor
    start = cursor.token
    params = _parameters(cursor) if cursor.at("(") else (parameter(cursor),)
    cursor.expect("=>", "after the parameters")
    body: Node = yield parser.expression()
    return ast.Lambda(params, body, span=cursor.since(start))


def _parameters(cursor: Cursor) -> tuple[ast.Variable | ast.Items, ...]:
    opening = cursor.advance()
    params: list[ast.Variable | ast.Items] = []
    while not cursor.at(")"):
        params.append(parameter(cursor))
        if not cursor.take(","):
            break
    cursor.close(opening, ",")
    return tuple(params)


def _lambda(parser: Parser) -> Routine[Node]:
    cursor = parser.cursor
    start = cursor.advance()
    params = [parameter(cursor)]
    while cursor.take(","):
        params.append(parameter(cursor))
    cursor.expect(":", "after the parameters")
    body: Node = yield parser.expression()
    return ast.Lambda(tuple(params), body, span=cursor.since(start))


def _let(parser: Parser) -> Routine[Node]:
    cursor = parser.cursor
    start = cursor.advance()
    bindings: list[ast.Binding] = [(yield _binding(parser))]
    while cursor.take(","):
        bindings.append((yield _binding(parser)))
    cursor.expect_word("in", "after the names of let")
    body: Node = yield parser.expression()
    return ast.Let(tuple(bindings), body, span=cursor.since(start))


def _definition(parser: Parser) -> Routine[Node]:
    """Parse ``def f(x) = … in …``, which is ``let f = x => … in …``."""
    cursor = parser.cursor
    start = cursor.advance()
    named = cursor.token
    name = cursor.name("a name after def")
    target = ast.Variable(name, span=cursor.since(named))
    if not cursor.at("("):
        raise cursor.unexpected("expected the parameters in parentheses", _DEF_HINT)
    params = _parameters(cursor)
    if not cursor.take("="):
        raise cursor.unexpected("expected = after the parameters", _DEF_HINT)
    context = replace(parser.context, let_value=True)
    body: Node = yield parser.enclosed(context=context)
    function = ast.Lambda(params, body, span=cursor.since(named))
    binding = ast.Binding(target, function, span=cursor.since(named))
    if not cursor.take_word("in"):
        raise cursor.unexpected("expected in after the definition", _DEF_HINT)
    rest: Node = yield parser.expression()
    return ast.Let((binding,), rest, span=cursor.since(start))


_DEF_HINT = "write: def f(x, y) = x + y in f(1, 2)"


def _binding(parser: Parser) -> Routine[ast.Binding]:
    cursor = parser.cursor
    start = cursor.token
    target: ast.Variable | ast.Items
    if cursor.at("("):
        found, _ = names(cursor, may_rest=False)
        target = ast.Items(found, span=cursor.since(start))
    else:
        name = cursor.name("a name to give a value to")
        target = ast.Variable(name, span=cursor.since(start))
    cursor.expect("=", "after the name")
    context = replace(parser.context, let_value=True)
    value: Node = yield parser.enclosed(context=context)
    return ast.Binding(target, value, span=cursor.since(start))


def _match(parser: Parser) -> Routine[Node]:
    cursor = parser.cursor
    start = cursor.advance()
    subject: Node = yield parser.enclosed()
    if not cursor.at_word("with"):
        raise cursor.unexpected("expected with after the value to match", MATCH_HINT)
    cursor.advance()
    if not cursor.at("{"):
        raise cursor.unexpected("expected { after with")
    found: tuple[ast.Arm, ...] = yield arms(parser)
    return ast.Match(subject, found, span=cursor.since(start))


_Primary: TypeAlias = "Callable[[Parser], Routine[Node] | Node]"

_BRACKETS: dict[str, _Primary] = {
    "(": _parenthesis,
    "[": array,
    "{": brace,
}

_KEYWORDS: dict[str, _Primary] = {
    "true": _constant,
    "false": _constant,
    "null": _constant,
    "DELETE": _delete,
    "lambda": _lambda,
    "let": _let,
    "match": _match,
    "patch": patch,
}
