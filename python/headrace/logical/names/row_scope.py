"""Scope check of stream queries: ``$``, ``@`` and names are refused where they have no meaning.

Beside ``$.rows()`` there is no row; with ``--stream`` the array of all rows has no fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import QueryMeaningError
from headrace.language import ast
from headrace.logical.names import visibility
from headrace.logical.names.visibility import Around
from headrace.logical.totality import GIVING_ARRAYS
from headrace.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.language.ast import Located

_WITHOUT_RECEIVER = frozenset({"env", "now"})


def checked(tree: ast.Node, *, whole: bool, query: str) -> ast.Node:
    """Return a stream query in which ``$`` replaces every ``@`` that is the array of all rows.

    `whole`: ``$`` is the array of all rows, and ``@`` is the same for the query as a whole.
    `query` is its text, for errors.
    """
    return _Check(whole, query).of(tree, Around())


@record
class _Check:
    whole: bool
    query: str

    def of(self, node: ast.Node, around: Around) -> ast.Node:  # noqa: C901, a table of kinds
        match node:
            case ast.Root() if around.stage == "beside":
                raise self._no_row(node, "$")
            case ast.Root() if not self.whole and around.stage == "none":
                raise self._no_row(node, "$")
            case ast.Current() if around.is_top:
                if not self.whole:
                    raise self._no_row(node, "@")
                return ast.Root(span=node.span)
            case ast.Name(name) if around.is_top and name not in around.names:
                raise self._no_field(node, name)
            case ast.Call(name, ()) if (
                around.is_top and name not in around.names | _WITHOUT_RECEIVER
            ):
                if not self.whole:
                    raise self._no_row(node, f"{name}() of @")
                return ast.Call(
                    name, (ast.Arg(ast.Root(span=node.span)),), span=node.span
                )
            case ast.ObjectLiteral(entries) if around.is_top:
                for entry in entries:
                    if (
                        isinstance(entry, ast.Shorthand)
                        and entry.name not in around.names
                    ):
                        raise self._no_field(entry, entry.name)
            case ast.Path(ast.Root(), (ast.Field(name) as field, *_)) if (
                self.whole and around.stage == "none"
            ):
                raise self._no_field(field, name)
            case ast.Path(ast.Root(), (ast.Method("rows", ()), *steps)):
                self._refuse_field_of_rows(steps)
            case _:
                pass
        return visibility.rebuilt(node, around, self.of)

    def _refuse_field_of_rows(self, steps: Sequence[ast.Step]) -> None:
        """Refuse ``$.rows().total``: it would be null, and its sum 0."""
        for step in steps:
            match step:
                case ast.Field(name):
                    raise self._error(
                        step,
                        f"{name} is a field of all rows here: the array of all rows has no fields",
                        f"write $.rows().map({name}), $.rows().sum({name}), or $.rows()[0].{name}",
                    )
                case ast.Method(name) if name in GIVING_ARRAYS:
                    pass
                case _:
                    return

    def _no_row(self, node: Located, what: str) -> QueryMeaningError:
        return self._error(
            node,
            f"{what} is no row here: $ and @ are rows only inside the stages of $.rows()",
            "name the value of all rows first: "
            "$.rows().count() -> n | $.rows().map([$, n])",
        )

    def _no_field(self, node: Located, name: str) -> QueryMeaningError:
        if self.whole:
            return self._error(
                node,
                f"{name} is a field of all rows here: the array of all rows has no fields",
                f"write $.map({name}) for that of each row, $[0].{name} for one, "
                f"or @{name} for a source of this name",
            )
        return self._error(
            node,
            f"{name} is a field of no row: beside $.rows() there is none",
            f"write $.rows().map({name}), or name the value of all rows first: "
            f"$.rows().count() -> n | $.rows().map([{name}, n])",
        )

    def _error(self, node: Located, reason: str, hint: str) -> QueryMeaningError:
        return QueryMeaningError(self.query, node.span.start, reason, hint)
