"""The scope of an expression: ``$``, ``@`` and named values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from headrace.language import ast
from tests.reference.language.values import NotInSubset, QueryError


@dataclass(frozen=True)
class Closure:
    """A named lambda with the scope of its definition."""

    function: ast.Lambda
    scope: Scope


@dataclass(frozen=True)
class Later:
    """A named value that is computed where it is used."""

    node: ast.Node
    scope: Scope


NO_HOLDER = object()
"""The value of `Scope.holder` outside of a change."""


class RowsOnly(list):
    """All rows, which only ``$.rows()`` reaches: ``$`` by itself is not a row."""


NO_ROW = object()
"""The value of ``@`` outside of rows."""


@dataclass(frozen=True)
class Scope:
    """All visible names; a name that is not a variable is a field of `current`.

    In a change it is a field of `holder`, and a name in `needed` must exist.

    `manner`: ``eager`` also computes the branches that are not chosen, ``lazy`` computes a
    named value only where it is used; an engine may do either. `in_stage`: of ``$.rows()``.
    """

    root: Any
    current: Any
    variables: dict[str, Any] = field(default_factory=dict)
    manner: str = "plain"
    in_stage: bool = False
    holder: Any = NO_HOLDER
    needed: frozenset[int] = frozenset()

    def at(self, value):
        """Return the same scope with another `@`."""
        return replace(self, current=value, holder=NO_HOLDER)

    def changing(self, old, holder, needed):
        """Return the same scope inside a change of the old value in an object."""
        return replace(self, current=old, holder=holder, needed=needed)

    def knowing(self, names):
        """Return the same scope with more names."""
        return replace(self, variables={**self.variables, **names})

    def value_of(self, node):
        """Return the value of a name, written by itself or as a shorthand."""
        name = node.name
        if name in self.variables:
            value = self.variables[name]
            if isinstance(value, Closure):
                raise NotInSubset("a lambda as a value")
            return value
        if self.holder is not NO_HOLDER:
            if not isinstance(self.holder, dict):
                raise QueryError("a name where no object holds the place")
            if id(node) in self.needed and name not in self.holder:
                raise QueryError("a field that is not there, to be written")
            return self.holder.get(name)
        if self.current is NO_ROW:
            raise QueryError("a field of no row")
        return self.current.get(name) if isinstance(self.current, dict) else None


def bound(target, value):
    """Return the names that a target binds to a value and its parts."""
    match target:
        case ast.Variable(name):
            return {name: value}
        case ast.Items(names, rest):
            elements = value if isinstance(value, list | str) else []
            found = {
                name: elements[place] if place < len(elements) else None
                for place, name in enumerate(names)
            }
            return found if rest is None else {**found, rest: elements[len(names) :]}
        case ast.Fields(names, rest):
            source = value if isinstance(value, dict) else {}
            found = {name: source.get(name) for name in names}
            if rest is None:
                return found
            return {**found, rest: {k: v for k, v in source.items() if k not in names}}
    raise NotInSubset(type(target).__name__)
