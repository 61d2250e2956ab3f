"""Traversal of the tree of a query: children, walks, names, rebuilding, and deep recursion.

Functions over the tree are recursive. The nesting of a query is limited by
`headrace.language.parser`, and never by the interpreter: what begins a recursion is inside `deep`,
which raises Python's limit.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.language import ast
from headrace.record import field_names, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def children(part: ast.Located) -> Iterator[ast.Node]:
    """Yield the expressions directly inside an expression, a step or another part.

    >>> list(
    ...     children(
    ...         ast.Path(
    ...             ast.Root(),
    ...             (ast.Field("a"), ast.Method("len", (ast.Arg(ast.Name("b")),))),
    ...         )
    ...     )
    ... )
    [Root(), Name(name='b')]
    """
    waiting: list[object] = [part]
    while waiting:
        thing = waiting.pop()
        if ast.is_node(thing) and thing is not part:
            yield thing
        elif isinstance(thing, tuple):
            waiting.extend(reversed(thing))
        elif isinstance(thing, ast.Located):
            values = [getattr(thing, name) for name in field_names(thing)]
            waiting.extend(reversed(values))


def names_given(node: ast.Located) -> Iterator[str]:
    """Yield the names that an expression, or a part of one, itself gives to values.

    >>> list(names_given(ast.Lambda((ast.Variable("x"),), ast.Name("y"))))
    ['x']
    """
    waiting: list[object] = [node]
    while waiting:
        thing = waiting.pop()
        match thing:
            case ast.Variable(name) | ast.Capture(name) | ast.OfKind(_, str(name)):
                yield name
            case ast.Items(names, rest) | ast.Fields(names, rest):
                yield from names
                if rest is not None:
                    yield rest
            case ast.Rest(str(name)):
                yield name
            case ast.For(names):
                yield from names
            case tuple():
                waiting.extend(thing)
            case ast.Located() if thing is node or not ast.is_node(thing):
                waiting.extend(getattr(thing, name) for name in field_names(thing))
            case _:
                pass


P = TypeVar("P", bound=ast.Located)


def rebuilt(part: P, change: Callable[[ast.Node], ast.Node]) -> P:
    """Return a part with every expression directly inside it changed.

    >>> rebuilt(ast.Not(ast.Name("a")), lambda node: ast.Root())
    Not(operand=Root())
    """

    def of(thing: object) -> object:
        if ast.is_node(thing):
            return change(thing)
        if isinstance(thing, tuple):
            return tuple(of(each) for each in thing)
        return rebuilt(thing, change) if isinstance(thing, ast.Located) else thing

    changed: dict[str, Any] = {
        name: of(getattr(part, name)) for name in field_names(part)
    }
    return replace(part, **changed)


def walk(part: ast.Located) -> Iterator[ast.Node]:
    """Yield all expressions inside `part` and `part` itself, outer before inner.

    >>> [
    ...     type(node).__name__
    ...     for node in walk(ast.Not(ast.And((ast.Name("a"), ast.Root()))))
    ... ]
    ['Not', 'And', 'Name', 'Root']
    """
    waiting = [part] if ast.is_node(part) else [*children(part)][::-1]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend([*children(node)][::-1])


def names_in(part: ast.Located) -> frozenset[str]:
    """Return the names that an expression mentions, be they values or fields.

    >>> sorted(
    ...     names_in(
    ...         ast.ObjectLiteral((ast.Shorthand("a"), ast.Entry("b", ast.Name("c"))))
    ...     )
    ... )
    ['a', 'c']
    """
    found = set()
    for node in walk(part):
        match node:
            case ast.Name(name):
                found.add(name)
            case ast.ObjectLiteral(entries):
                found.update(
                    entry.name for entry in entries if isinstance(entry, ast.Shorthand)
                )
            case _:
                pass
    return frozenset(found)


def names_used(part: ast.Located) -> frozenset[str]:
    """Return the names that an expression mentions, also those of functions it calls.

    >>> sorted(names_used(ast.Call("f", (ast.Arg(ast.Name("a")),))))
    ['a', 'f']
    """
    calls = {node.name for node in walk(part) if isinstance(node, ast.Call)}
    return names_in(part) | calls


_FRAMES = 50_000
"""Python frames that suffice to parse a query of the greatest depth, and for any walk through it."""


class _Deep:
    """Number of users of the raised recursion limit, and the limit before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if self._inside == 0:
                self._before = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self._before, _FRAMES))
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    sys.setrecursionlimit(self._before)


deep = _Deep()
"""Raise the recursion limit in a ``with`` block, or as a decorator in a function."""
