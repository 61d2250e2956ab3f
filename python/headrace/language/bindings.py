"""Bindings: the values of ``$name`` and ``env("NAME")`` in a query.

The parser puts them in place as literals, so every rule for literals holds for them: a filter on one can use a key index, and a constant key is refused.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING

from headrace.errors import UsageError
from headrace.kernel import values
from headrace.language import ast
from headrace.language.tokens import TokenKind, tokenize
from headrace.record import record

if TYPE_CHECKING:
    from collections.abc import Mapping


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
