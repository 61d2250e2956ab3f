"""JSON text as Python values, and the table of the builtins over them.

Integers are exact, a decimal that no finite double can hold is a `Decimal`, of
equal keys the last one wins. `parse` is the one JSON parser of headrace.

>>> parse(b'{"id": 12345678901234567890, "id": 1}')
{'id': 1}
>>> parse(b"[1e400, 1.50]")
[Decimal('1E+400'), 1.5]
>>> format_problem(",.2f"), format_problem("5q") is None
(None, False)
>>> unknown_group("(a)(b)", "$2_$1")
'2_'
"""

from __future__ import annotations

from functools import cache
from typing import Literal, TypeAlias, cast

from headrace import _native
from headrace._native import ValueSplitter, format_problem, parse, unknown_group
from headrace.errors import HeadraceError
from headrace.record import record

__all__ = [
    "DEEPEST",
    "MAX_DEPTH",
    "Builtin",
    "Example",
    "InvalidJsonError",
    "Parameter",
    "ParameterKind",
    "ValueSplitter",
    "builtins",
    "format_problem",
    "parse",
    "unknown_group",
    "wrong_literal",
]

MAX_DEPTH = 256
"""The deepest nesting of a value, if the caller gives no limit."""

DEEPEST = 1000
"""The largest limit of nesting."""


class InvalidJsonError(HeadraceError, ValueError):
    """A text is not one JSON value."""

    WHAT = "byte {offset}: {reason}"

    offset: int
    reason: str


ParameterKind: TypeAlias = Literal["value", "each", "either", "name"]


@record
class Parameter:
    """One parameter; `repeated`: it takes all arguments that are left."""

    kind: ParameterKind
    name: str
    repeated: bool


@record
class Example:
    """A query, its document, and its answer, or ``error``."""

    query: str
    document: str
    answer: str


@record
class Builtin:
    """A function or method of the language."""

    name: str
    aliases: tuple[str, ...]
    group: str
    parameters: tuple[Parameter, ...]
    required: int
    doc: str
    examples: tuple[Example, ...]

    def parameter(self, position: int) -> Parameter | None:
        """Return what the argument at `position` is; None if there may be none."""
        if position < len(self.parameters):
            return self.parameters[position]
        last = self.parameters[-1] if self.parameters else None
        return last if last is not None and last.repeated else None


_CHECKED = frozenset({"Patterns", "Times"})


def wrong_literal(builtin: Builtin, parameter: str, text: str) -> str | None:
    """Return what is wrong with a text as an argument, if no row can make it right."""
    if builtin.group not in _CHECKED:
        return None
    return _native.wrong_literal(parameter, text)


@cache
def builtins() -> dict[str, Builtin]:
    """Return every builtin under its name and its aliases."""
    table: dict[str, Builtin] = {}
    for name, aliases, group, parameters, required, doc, examples in _native.builtins():
        builtin = Builtin(
            name,
            tuple(aliases),
            group,
            tuple(
                Parameter(cast("ParameterKind", kind), parameter, repeated)
                for kind, parameter, repeated in parameters
            ),
            required,
            doc,
            tuple(Example(*example) for example in examples),
        )
        table.update(dict.fromkeys([name, *aliases], builtin))
    return table
