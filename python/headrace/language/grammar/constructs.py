"""Grammar of the constructs that begin with a word, and of lambdas."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from headrace.language import ast
from headrace.language.grammar.cursor import MATCH_HINT
from headrace.language.grammar.parts import arms, condition, names, parameter
from headrace.language.literals import Level
from headrace.language.tokens import TokenKind
from headrace.record import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.language.ast import Node
    from headrace.language.grammar.cursor import Cursor

_WriteStep: TypeAlias = ast.Field | ast.Index | ast.Each | ast.Descend

_HINT = "a path is a name and then .key, ..key, [0], [*] or [* if test], not quoted"


def _patch(cursor: Cursor) -> Node:
    """Parse a patch."""
    start = cursor.advance()
    context = replace(cursor.context, patch_target=True)
    cursor.enter()
    target = cursor.enclosed(lambda: cursor.operand(Level.COALESCE), context)
    cursor.leave()
    opening = cursor.expect("{", "after the value to patch")
    writes: list[ast.Write] = []
    while not cursor.at("}"):
        writes.append(_write(cursor))
        if not cursor.take(","):
            break
    cursor.close(opening, ",")
    return ast.Patch(target, tuple(writes), span=cursor.since(start))


def _write(cursor: Cursor) -> ast.Write:
    start = cursor.token
    if start.kind is not TokenKind.WORD:
        raise cursor.unexpected("expected a path", _HINT)
    cursor.advance()
    path: list[_WriteStep] = [ast.Field(start.text, span=cursor.since(start))]
    while cursor.at(".", "..", "["):
        path.append(_bracket(cursor) if cursor.at("[") else _key(cursor))
    if not cursor.at(":"):
        raise cursor.unexpected("expected : after the path", _HINT)
    cursor.advance()
    value = cursor.enclosed()
    when = condition(cursor)
    return ast.Write(tuple(path), value, when, span=cursor.since(start))


def _key(cursor: Cursor) -> _WriteStep:
    dots = cursor.advance()
    if cursor.token.kind not in {TokenKind.FIELD, TokenKind.STRING}:
        raise cursor.unexpected(f"expected a key after {dots.text}", _HINT)
    token = cursor.advance()
    key = token.text if token.kind is TokenKind.FIELD else str(token.value)
    step = ast.Field if dots.text == "." else ast.Descend
    return step(key, span=cursor.since(dots))


def _bracket(cursor: Cursor) -> _WriteStep:
    opening = cursor.advance()
    test: Node | None = None
    if cursor.take("*"):
        if cursor.take_word("if"):
            test = cursor.enclosed()
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


def arrow(cursor: Cursor) -> Node:
    """Parse ``x => …``."""
    start = cursor.token
    params = _parameters(cursor) if cursor.at("(") else (parameter(cursor),)
    cursor.expect("=>", "after the parameters")
    body = cursor.expression()
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


def _lambda(cursor: Cursor) -> Node:
    start = cursor.advance()
    params = [parameter(cursor)]
    while cursor.take(","):
        params.append(parameter(cursor))
    cursor.expect(":", "after the parameters")
    body = cursor.expression()
    return ast.Lambda(tuple(params), body, span=cursor.since(start))


def _let(cursor: Cursor) -> Node:
    start = cursor.advance()
    bindings: list[ast.Binding] = [_binding(cursor)]
    while cursor.take(","):
        bindings.append(_binding(cursor))
    cursor.expect_word("in", "after the names of let")
    body = cursor.expression()
    return ast.Let(tuple(bindings), body, span=cursor.since(start))


def definition(cursor: Cursor) -> Node:
    """Parse ``def f(x) = … in …``, which is ``let f = x => … in …``."""
    start = cursor.advance()
    named = cursor.token
    name = cursor.name("a name after def")
    target = ast.Variable(name, span=cursor.since(named))
    if not cursor.at("("):
        raise cursor.unexpected("expected the parameters in parentheses", _DEF_HINT)
    params = _parameters(cursor)
    if not cursor.take("="):
        raise cursor.unexpected("expected = after the parameters", _DEF_HINT)
    context = replace(cursor.context, let_value=True)
    body = cursor.enclosed(context=context)
    function = ast.Lambda(params, body, span=cursor.since(named))
    binding = ast.Binding(target, function, span=cursor.since(named))
    if not cursor.take_word("in"):
        raise cursor.unexpected("expected in after the definition", _DEF_HINT)
    rest = cursor.expression()
    return ast.Let((binding,), rest, span=cursor.since(start))


_DEF_HINT = "write: def f(x, y) = x + y in f(1, 2)"


def _binding(cursor: Cursor) -> ast.Binding:
    start = cursor.token
    target: ast.Variable | ast.Items
    if cursor.at("("):
        found, _ = names(cursor, may_rest=False)
        target = ast.Items(found, span=cursor.since(start))
    else:
        name = cursor.name("a name to give a value to")
        target = ast.Variable(name, span=cursor.since(start))
    cursor.expect("=", "after the name")
    context = replace(cursor.context, let_value=True)
    value = cursor.enclosed(context=context)
    return ast.Binding(target, value, span=cursor.since(start))


def _match(cursor: Cursor) -> Node:
    start = cursor.advance()
    subject = cursor.enclosed()
    if not cursor.at_word("with"):
        raise cursor.unexpected("expected with after the value to match", MATCH_HINT)
    cursor.advance()
    if not cursor.at("{"):
        raise cursor.unexpected("expected { after with")
    found = arms(cursor)
    return ast.Match(subject, found, span=cursor.since(start))


CONSTRUCTS: dict[str, Callable[[Cursor], Node]] = {
    "lambda": _lambda,
    "let": _let,
    "match": _match,
    "patch": _patch,
}
"""Constructs that begin with a keyword."""
