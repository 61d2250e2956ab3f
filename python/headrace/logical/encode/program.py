"""Writer of programs for the core, expression by expression.

The core's ``query/program.rs``, which reads the format, describes it. Every method adds one
expression and returns its number; an expression can refer only to those added before it.
"""

from __future__ import annotations

import struct
from decimal import Decimal
from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from headrace.record import field, mutable_record, record, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headrace.language.ast import Lambda, Node, Scalar, Span

Id: TypeAlias = int
T = TypeVar("T")

VERSION = 2

_I64 = range(-(1 << 63), 1 << 63)


class Tag(IntEnum):
    """Kinds of expressions."""

    CONST = 0
    ROOT = 1
    CURRENT = 2
    VARIABLE = 3
    FIELD = 4
    INDEX = 5
    SLICE = 6
    DESCEND = 7
    NEGATE = 8
    NOT = 9
    BINARY = 10
    AND = 11
    OR = 12
    COALESCE = 13
    IS = 14
    CAST = 15
    CONDITIONAL = 16
    TRY = 17
    LET = 18
    WITH = 19
    ARRAY = 20
    OBJECT = 21
    TEXT = 22
    ONE = 23
    CALL = 24
    MATCH = 25
    DEEP_MATCH = 26
    COMPREHENSION = 27
    PATCH = 28
    SOURCE = 29
    HELD = 30


OPERATORS = ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "~=")
KINDS = ("null", "bool", "number", "string", "array", "object")
TARGETS = ("int", "float", "string", "bool", "array", "object", "null")


def number(value: int) -> bytes:
    """Encode a number that is not negative."""
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def signed(value: int) -> bytes:
    r"""Encode a number of either sign.

    >>> signed(-1), signed(1)
    (b'\x01', b'\x02')
    """
    return number(value << 1 if value >= 0 else (-value << 1) - 1)


def text(value: str) -> bytes:
    """Encode a text."""
    encoded = value.encode()
    return number(len(encoded)) + encoded


def flag(value: object) -> bytes:
    """Encode a bool."""
    return b"\x01" if value else b"\x00"


def option(value: T | None, encode: Callable[[T], bytes]) -> bytes:
    """Encode an optional value."""
    return b"\x00" if value is None else b"\x01" + encode(value)


def many(encoded: Sequence[bytes]) -> bytes:
    """Encode a list of encoded values."""
    return number(len(encoded)) + b"".join(encoded)


def constant(value: Scalar) -> bytes:
    """Encode a literal."""
    match value:
        case None:
            return b"\x00"
        case bool():
            return b"\x02" if value else b"\x01"
        case int() if value in _I64:
            return b"\x03" + signed(value)
        case float():
            return b"\x04" + struct.pack("<d", value)
        case int() | Decimal():
            return b"\x05" + text(str(value))
        case str():
            return b"\x06" + text(value)


@mutable_record
class ProgramWriter:
    """A program under construction; `strict`: with strict types."""

    strict: bool = False
    _exprs: list[bytes] = field(default_factory=list)
    _variables: int = 0

    def variable(self) -> int:
        """Make a variable that nothing else uses."""
        self._variables += 1
        return self._variables - 1

    def add(self, tag: Tag, span: Span, *parts: bytes | Id) -> Id:
        """Add an expression of encoded parts and the numbers of other expressions."""
        encoded = (part if isinstance(part, bytes) else number(part) for part in parts)
        place = number(span.start) + number(span.end)
        self._exprs.append(bytes([tag]) + place + b"".join(encoded))
        return len(self._exprs) - 1

    def finish(self) -> bytes:
        """Return the program; its last expression is the query."""
        head = b"HRQP" + bytes([VERSION]) + flag(self.strict)
        counts = number(self._variables) + number(len(self._exprs))
        return head + counts + b"".join(self._exprs)


@record
class Macro:
    """A lambda under a name, with the scope it was made in."""

    name: str
    function: Lambda
    scope: Scope

    def inside(self) -> Scope:
        """Return what the lambda's body sees, without its parameters."""
        return replace(self.scope, defining=self.scope.defining | {self.name})


Meaning: TypeAlias = int | Macro
"""The number of a variable, or a named lambda."""


@record
class Written:
    """The document after writes, in a variable; `base` is how the query names it."""

    variable: int
    base: Node


@record
class Holder:
    """The object around a place that is changed; `variable` has it.

    `required`: where names stand in the query whose values are written as they are.
    Such a field must exist; otherwise the write would set a null by mistake.
    """

    variable: int
    required: frozenset[int]


@record
class Scope:
    """The names in sight.

    `row`: ``$`` means the current row, as inside the stages of ``$.rows()``. It is
    the variable for the row, and `in_row` says whether it is set: later steps of a stage do not
    change ``$``.

    `written`: the document after earlier writes, which further writes continue.

    `holder`: bare names are fields of this object, and not of ``@``, as in the value of
    a change.

    `defining`: the lambdas around this place; none can call itself.
    """

    names: Mapping[str, Meaning] = field(default_factory=dict)
    defining: frozenset[str] = frozenset()
    row: int | None = None
    in_row: bool = False
    written: Written | None = None
    holder: Holder | None = None

    def binding(self, **names: Meaning) -> Scope:
        """Return this scope with more names in sight."""
        return replace(self, names={**self.names, **names})

    def about_current(self) -> Scope:
        """Return this scope where bare names are fields of ``@``."""
        return self if self.holder is None else replace(self, holder=None)
