"""Scope: the names in sight and their meanings."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from headrace.record import field, record, replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.language.ast import Lambda, Node


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
