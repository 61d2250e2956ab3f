"""What the names in sight stand for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.language.ast import Lambda


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Scope:
    """The names in sight.

    `row`: ``$`` means the current row, as inside the stages of ``$.rows()``. It is
    the variable that holds the row, and `in_row` whether it holds it already:
    what a stage does with parts of its row does not change ``$``.

    `written`: the variable that holds the document after earlier writes, which
    further writes to the document go on with.

    `defining`: the lambdas whose bodies this is inside of; none can call itself.
    """

    names: Mapping[str, Meaning] = field(default_factory=dict)
    defining: frozenset[str] = frozenset()
    row: int | None = None
    in_row: bool = False
    written: int | None = None

    def binding(self, **names: Meaning) -> Scope:
        """Return this scope with more names in sight."""
        return replace(self, names={**self.names, **names})
