"""Words of the query language: numbers and other literals, kinds, casts and operators.

Every part of a tree has a position in the query text (`Located`), which is never compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias

Number: TypeAlias = int | float | Decimal
"""An int of any size; a Decimal where no finite double can hold the number."""

Scalar: TypeAlias = Number | str | bool | None


@dataclass(frozen=True, slots=True)
class Span:
    """The characters from `start` up to `end` of the query text."""

    start: int
    end: int


NOWHERE = Span(0, 0)
"""The span of a part that is not in the query text."""


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True, eq=False)
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
