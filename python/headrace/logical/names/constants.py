"""Constant folding: parts of a query with the same value for every row."""

from __future__ import annotations

from itertools import islice

from headrace.errors import HeadraceError
from headrace.kernel.programs import Program
from headrace.kernel.values import parse
from headrace.language import ast, traversal
from headrace.logical.encode.compiler import compile_query
from headrace.record import record, replace

_CHANGING = frozenset({"env", "now"})
"""Functions whose value may differ when the query runs."""

_LARGEST = 100
"""Nodes of a constant expression that may take the place of its name."""

_DEEPEST = 256

_PLAIN = (
    ast.Literal, ast.Negate, ast.Binary, ast.ArrayLiteral, ast.ObjectLiteral, ast.Cast,
)  # fmt: skip


@record
class Constants:
    """Constants of a query; `given` are the names of its values and functions."""

    given: frozenset[str]

    def value(self, node: ast.Node) -> ast.Literal | None:
        """Return the value of a constant as a literal; None if it has none.

        Arrays, objects and computed decimals have none.

        >>> from headrace.language.parser import parse
        >>> Constants(frozenset()).value(parse("'a'.upper() == 'A'"))
        Literal(value=True)
        """
        match node:
            case ast.Literal():
                return node
            case _:
                text = self._computed(node)
        match text:
            case None:
                return None
            case b"null":
                return ast.Literal(None, span=node.span)
            case b"true" | b"false":
                return ast.Literal(text == b"true", span=node.span)
            case _ if text.startswith(b'"'):
                return ast.Literal(str(parse(text)), span=node.span)
            case _ if text.removeprefix(b"-").isdigit() and text != b"-0":
                return ast.Literal(int(text), span=node.span)
            case _:
                return None

    def inlined(self, node: ast.Node) -> ast.Node | None:
        """Return a constant in the form that takes the place of its name; None if it cannot."""
        match self.value(node):
            case ast.Literal(int(number)) as value if number < 0:
                return ast.Negate(replace(value, value=-number), span=value.span)
            case ast.Literal() as value:
                return value
            case None:
                parts = list(islice(traversal.walk(node), _LARGEST + 1))
                small = len(parts) <= _LARGEST
                plain = small and all(isinstance(part, _PLAIN) for part in parts)
                return node if plain and self._computed(node) is not None else None

    def _computed(self, node: ast.Node) -> bytes | None:
        """Return the value of an expression that uses nothing around it; None if it fails."""
        if not all(map(self._is_constant, traversal.walk(node))):
            return None
        try:
            program = Program("", compile_query("", node))
            return program.evaluate(b"null", _DEEPEST)
        except HeadraceError:
            # It fails when the query runs, if it is needed then.
            return None

    def _is_constant(self, part: ast.Node) -> bool:
        match part:
            case ast.Root() | ast.Current() | ast.Source() | ast.Name() | ast.Lambda():
                return False
            case ast.Call(name, args):
                return bool(args) and name not in self.given | _CHANGING
            case ast.Path(_, steps):
                return not any(
                    isinstance(step, ast.Method) and step.name in _CHANGING
                    for step in steps
                )
            case ast.ObjectLiteral(entries):
                return not any(isinstance(entry, ast.Shorthand) for entry in entries)
            case _:
                return not isinstance(part, ast.Delete)
