"""JSON text as Python values, and the table of the builtins over them.

Integers are exact, a decimal that no finite double can hold is a `Decimal`, of
equal keys the last one wins. This is the one JSON parser of headrace.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, TypeAlias, cast

from headrace import _native
from headrace.errors import HeadraceError
from headrace.record import record

MAX_DEPTH = 256
"""The deepest nesting of a value, if the caller gives no limit."""

DEEPEST = 1000
"""The largest limit of nesting."""

ValueSplitter = _native.ValueSplitter
"""Splits JSON text into values, one line each."""


class InvalidJsonError(HeadraceError, ValueError):
    """A text is not one JSON value."""

    WHAT = "byte {offset}: {reason}"

    offset: int
    reason: str


def parse(text: bytes, max_depth: int = MAX_DEPTH) -> object:
    """Return the value of `text`, None if it is blank.

    >>> parse(b'{"id": 12345678901234567890, "id": 1}')
    {'id': 1}
    >>> parse(b"[1e400, 1.50]")
    [Decimal('1E+400'), 1.5]
    """
    try:
        return _native.parse(text, max_depth)
    except _native.KernelError as error:
        _kind, offset, reason = error.args
        raise InvalidJsonError(offset, reason) from None


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


def format_problem(spec: str) -> str | None:
    """Return why a format of an f-string means nothing; None if it does.

    >>> format_problem(",.2f"), format_problem("5q") is None
    (None, False)
    """
    return _native.format_problem(spec)


def unknown_group(pattern: str, template: str) -> str | None:
    """Return the first group that a template names and its pattern has not.

    >>> unknown_group("(a)(b)", "$2_$1")
    '2_'
    """
    return _native.unknown_group(pattern, template)


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
