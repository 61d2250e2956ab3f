"""The arguments of a call: each method reads them as values, functions or names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headrace.language import ast
from tests.reference.language.names import is_builtin
from tests.reference.language.scope import Closure, bound
from tests.reference.language.values import (
    NotInSubset,
    QueryError,
    truthy,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.reference.language.scope import Scope


@dataclass(frozen=True)
class Arguments:
    """The unevaluated arguments between the parentheses.

    `of_rows`: the elements are rows of a source, each its own ``$``.
    """

    args: tuple[ast.Arg, ...]
    scope: Scope
    evaluate: Callable[[ast.Node, Scope], Any]
    of_rows: bool = False

    def __len__(self):
        return len(self.args)

    def check(self, least, most=None):
        """Raise if the number of arguments is wrong, or an argument has a name."""
        if any(arg.name is not None for arg in self.args):
            raise NotInSubset("an argument by name")
        if not least <= len(self.args) <= (least if most is None else most):
            raise QueryError(f"{len(self.args)} arguments")

    def value(self, place):
        """Evaluate an argument in the scope of the call."""
        node = self.args[place].value
        if isinstance(node, ast.Lambda | ast.Delete):
            raise NotInSubset(type(node).__name__)
        return self.evaluate(node, self.scope)

    def whole(self, place):
        """Evaluate an argument that is a whole number."""
        number = whole(self.value(place))
        if number is None:
            raise QueryError("a count must be a whole number")
        return number

    def count(self, place):
        """Evaluate an argument that counts something."""
        number = self.whole(place)
        if number < 0:
            raise QueryError("a count must be 0 or more")
        return number

    def text(self, place):
        """Evaluate an argument that must be a text."""
        text = self.value(place)
        if not isinstance(text, str):
            raise QueryError("the argument must be a text")
        return text

    def each(self, place):
        """Return an argument as a function of an element."""
        function, scope = self._function(place)
        if not isinstance(function, ast.Lambda):
            return lambda element: self.evaluate(function, self._about(scope, element))
        if len(function.params) != 1:
            raise NotInSubset("a lambda of several values")

        def apply(element):
            # A lambda with a parameter does not change ``@``; a row of a source is ``$`` as well.
            inner = self._about(scope, element) if self.of_rows else scope
            return self.evaluate(
                function.body, inner.knowing(bound(function.params[0], element))
            )

        return apply

    def condition(self):
        """Return the conjunction of all arguments, as a function of an element."""
        tests = [self.each(place) for place in range(len(self.args))]
        return lambda element: all(truthy(test(element)) for test in tests)

    def of_two(self, place):
        """Return a lambda of two values as a function, or None."""
        function, scope = self._function(place)
        if not isinstance(function, ast.Lambda) or len(function.params) != 2:
            return None
        first, second = function.params

        def apply(one, other):
            names = {**bound(first, one), **bound(second, other)}
            return self.evaluate(function.body, scope.knowing(names))

        return apply

    def names(self):
        """Return arguments that name keys: a bare name is a key."""
        return [self.name(arg.value) for arg in self.args]

    def name(self, node):
        value = node.name if isinstance(node, ast.Name) else None
        if value is None:
            value = self.evaluate(node, self.scope)
        return value

    def _function(self, place):
        node = self.args[place].value
        if isinstance(node, ast.Name):
            value = self.scope.variables.get(node.name)
            if isinstance(value, Closure):
                return value.function, value.scope
            if node.name not in self.scope.variables and is_builtin(node.name):
                raise NotInSubset("a method as an argument")
        return node, self.scope

    def _about(self, scope, element):
        inner = scope.at(element)
        return replace(inner, root=element, in_stage=True) if self.of_rows else inner
