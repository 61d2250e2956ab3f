"""Words of the query language: literals, kinds, casts, operators, patterns; precedence.

Every part of a tree has a position in the query text (`Located`), which is never compared.
"""

from __future__ import annotations

from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import TypeAlias

from headrace.record import field, record

Number: TypeAlias = int | float | Decimal
"""An int of any size; a Decimal where no finite double can hold the number."""

Scalar: TypeAlias = Number | str | bool | None


@record
class Span:
    """The characters from `start` up to `end` of the query text."""

    start: int
    end: int


NOWHERE = Span(0, 0)
"""The span of a part that is not in the query text."""


@record
class Located:
    """Base of all parts of a tree that have a position in the query text."""

    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


class Kind(StrEnum):
    """Kinds of values, as ``is`` and patterns name them; ints and floats are both numbers."""

    NUMBER = "number"
    STRING = "string"
    ARRAY = "array"
    OBJECT = "object"
    BOOL = "bool"
    NULL = "null"


class CastType(StrEnum):
    """Target types of ``as``."""

    INT = "int"
    FLOAT = "float"
    NUMBER = "number"
    STRING = "string"
    BOOL = "bool"
    ARRAY = "array"
    OBJECT = "object"
    NULL = "null"


class BinaryOperator(StrEnum):
    """Arithmetic, and concatenation of strings and arrays."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    REMAINDER = "%"


class CompareOperator(StrEnum):
    """Comparisons; `RESEMBLES` (``~=``) looks for the right side in the left one, ignoring case."""

    EQUAL = "=="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="
    RESEMBLES = "~="


@record
class Literal(Located):
    """A constant in the query text. Numbers are not negative: see `Negate`."""

    value: Scalar

    # Python's 1, 1.0 and True are equal; here they are three different literals.
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[type, Scalar]:
        return type(self.value), self.value


@record
class AnyValue(Located):
    """``_``: fits everything."""


@record
class Equals(Located):
    """Fits what equals the literal, which here may be a negative number."""

    literal: Literal


@record
class InRange(Located):
    """Fits numbers from `low` up to `high`, which itself fits if `inclusive`."""

    low: Number
    high: Number
    inclusive: bool = False


@record
class OfKind(Located):
    """Fits values of one kind, and names them if there is a name."""

    kind: Kind
    name: str | None = None


@record
class Capture(Located):
    """Fits everything, and names it."""

    name: str


@record
class Rest(Located):
    """The remaining fields or elements, under a name if there is one."""

    name: str | None = None


@record
class FieldPattern(Located):
    """A required key, with a pattern for its value."""

    key: str
    pattern: Pattern


@record
class ObjectPattern(Located):
    """Fits objects with these fields, and any others."""

    fields: tuple[FieldPattern, ...]
    rest: Rest | None = None


@record
class ArrayPattern(Located):
    """Fits arrays of these elements; longer ones only if there is a `rest`."""

    items: tuple[Pattern, ...]
    rest: Rest | None = None


@record
class OneOf(Located):
    """Fits if one of the alternatives does, the first one wins; all bind the same names."""

    alternatives: tuple[Pattern, ...]


Pattern: TypeAlias = (
    AnyValue
    | Equals
    | InRange
    | OfKind
    | Capture
    | ObjectPattern
    | ArrayPattern
    | OneOf
)


class Level(IntEnum):
    """From the loosest to the tightest."""

    EXPRESSION = 1
    PIPE = 2
    COALESCE = 3
    OR = 4
    AND = 5
    NOT = 6
    KIND = 7
    MEMBER = 8
    COMPARE = 9
    SUM = 10
    PRODUCT = 11
    CAST = 12
    NEGATE = 13
    POSTFIX = 14
    PRIMARY = 15

    @property
    def tighter(self) -> Level:
        """The next level."""
        return Level(self + 1)


WORD_OPERATORS = {
    "or": Level.OR,
    "and": Level.AND,
    "is": Level.KIND,
    "kind": Level.KIND,
    "has": Level.MEMBER,
    "in": Level.MEMBER,
    "as": Level.CAST,
}

SIGN_OPERATORS: dict[str, Level] = {
    "??": Level.COALESCE,
    "?|": Level.COALESCE,
    **{operator.value: Level.COMPARE for operator in CompareOperator},
    BinaryOperator.ADD: Level.SUM,
    BinaryOperator.SUBTRACT: Level.SUM,
    BinaryOperator.MULTIPLY: Level.PRODUCT,
    BinaryOperator.DIVIDE: Level.PRODUCT,
    BinaryOperator.REMAINDER: Level.PRODUCT,
}

ONE_ONLY = frozenset({Level.KIND, Level.MEMBER, Level.COMPARE})
"""Levels on which a second operator needs parentheses."""
