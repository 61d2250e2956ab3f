"""Grammar of the lists that several constructs share: names, arguments, arms, loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.language import ast
from headrace.language.grammar.cursor import Context
from headrace.language.grammar.patterns import pattern
from headrace.language.tokens import TokenKind

if TYPE_CHECKING:
    from headrace.language.ast import Node
    from headrace.language.grammar.cursor import Cursor


def names(cursor: Cursor, *, may_rest: bool) -> tuple[tuple[str, ...], str | None]:
    """Parse names in brackets of any kind, the last perhaps one for the rest."""
    opening = cursor.advance()
    found = [cursor.name("a name")]
    rest = None
    while rest is None and cursor.take(",") and not cursor.at(")", "]", "}"):
        if may_rest and cursor.take("..."):
            rest = cursor.name("a name for the rest")
        else:
            found.append(cursor.name("a name"))
    if rest is not None:
        cursor.take(",")
    cursor.close(opening, ",")
    return tuple(found), rest


def parameter(cursor: Cursor) -> ast.Variable | ast.Items:
    """Parse a parameter of a lambda."""
    start = cursor.token
    if cursor.at("["):
        found, rest = names(cursor, may_rest=True)
        return ast.Items(found, rest, span=cursor.since(start))
    name = cursor.name("a parameter: a name, or names in […]")
    return ast.Variable(name, span=cursor.since(start))


def arguments(cursor: Cursor) -> tuple[ast.Arg, ...]:
    """Parse the arguments of a call, with their parentheses."""
    opening = cursor.advance()
    given: list[ast.Arg] = []
    while not cursor.at(")") or given:
        given.append(_argument(cursor))
        if not cursor.take(","):
            break
    cursor.close(opening, ",")
    return tuple(given)


def _argument(cursor: Cursor) -> ast.Arg:
    start = cursor.token
    name = None
    if start.kind is TokenKind.WORD and cursor.ahead(1).is_sign(":"):
        name = cursor.advance().text
        cursor.advance()
    value = cursor.enclosed()
    if cursor.at("=") and isinstance(value, ast.Name):
        word = value.name
        hint = f"write {word}: … for an argument, {word} == … to compare"
        raise cursor.unexpected(hint=hint)
    if cursor.at_word("for"):
        reason = "a comprehension stands in brackets"
        raise cursor.error(cursor.token, reason, "write f([x for x in xs])")
    return ast.Arg(value, name, span=cursor.since(start))


def arms(cursor: Cursor) -> tuple[ast.Arm, ...]:
    """Parse the arms of a match, with their braces."""
    opening = cursor.advance()
    found: list[ast.Arm] = [_arm(cursor)]
    while cursor.take(",") and not cursor.at("}"):
        found.append(_arm(cursor))
    cursor.close(opening, ",")
    return tuple(found)


def _arm(cursor: Cursor) -> ast.Arm:
    start = cursor.token
    fits = pattern(cursor, [])
    guard: Node | None = None
    if cursor.take_word("when"):
        guard = cursor.enclosed(context=Context(guard=True))
    cursor.expect("->", "after the guard" if guard else "after the pattern")
    body = cursor.enclosed()
    return ast.Arm(fits, body, guard, span=cursor.since(start))


def loops(cursor: Cursor) -> tuple[ast.For, ...]:
    """Parse the loops of a comprehension, from its first ``for`` on."""
    found: list[ast.For] = []
    while cursor.at_word("for"):
        start = cursor.advance()
        variables = _loop_variables(cursor)
        cursor.expect_word("in", "after the names of for")
        source = cursor.enclosed(context=_LOOP)
        conditions: list[Node] = []
        while cursor.take_word("if"):
            conditions.append(cursor.enclosed(context=_LOOP))
        span = cursor.since(start)
        found.append(ast.For(variables, source, tuple(conditions), span=span))
    return tuple(found)


_LOOP = Context(loop=True)


def _loop_variables(cursor: Cursor) -> tuple[str, ...]:
    opening = cursor.token
    bracket = cursor.take("[")
    found = [cursor.name("a name after for")]
    if bracket:
        cursor.expect(",", "and a second name")
        found.append(cursor.name("a second name"))
        cursor.close(opening)
    elif cursor.take(","):
        found.append(cursor.name("a second name"))
    return tuple(found)


def condition(cursor: Cursor) -> Node | None:
    """Parse the ``when`` of an entry or a write, if there is one."""
    if not cursor.take_word("when"):
        return None
    return cursor.enclosed()
