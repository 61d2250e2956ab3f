"""Patterns of ``match``: what a value must be, and the names that its parts get."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from headrace.language.literals import Located

if TYPE_CHECKING:
    from headrace.language.literals import Kind, Literal, Number


@dataclass(frozen=True, slots=True)
class AnyValue(Located):
    """``_``: fits everything."""


@dataclass(frozen=True, slots=True)
class Equals(Located):
    """Fits what equals the literal, which here may be a negative number."""

    literal: Literal


@dataclass(frozen=True, slots=True)
class InRange(Located):
    """Fits numbers from `low` up to `high`, which itself fits if `inclusive`."""

    low: Number
    high: Number
    inclusive: bool = False


@dataclass(frozen=True, slots=True)
class OfKind(Located):
    """Fits values of one kind, and names them if there is a name."""

    kind: Kind
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Capture(Located):
    """Fits everything, and names it."""

    name: str


@dataclass(frozen=True, slots=True)
class Rest(Located):
    """The remaining fields or elements, under a name if there is one."""

    name: str | None = None


@dataclass(frozen=True, slots=True)
class FieldPattern(Located):
    """A required key, with a pattern for its value."""

    key: str
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class ObjectPattern(Located):
    """Fits objects with these fields, and any others."""

    fields: tuple[FieldPattern, ...]
    rest: Rest | None = None


@dataclass(frozen=True, slots=True)
class ArrayPattern(Located):
    """Fits arrays of these elements; longer ones only if there is a `rest`."""

    items: tuple[Pattern, ...]
    rest: Rest | None = None


@dataclass(frozen=True, slots=True)
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
