"""What the functions of the grammar share while they parse one query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.language.ast import Node
    from headrace.language.grammar.cursor import Cursor
    from headrace.language.precedence import Level
    from headrace.language.routine import Routine


@dataclass(frozen=True, slots=True)
class Context:
    """Which words and signs end an expression that could else go on.

    It does not hold where something else marks the end: inside brackets, and between
    ``try`` or ``if`` and ``else``, ``match`` and ``with``.
    """

    let_value: bool = False
    """``in`` ends the value of a ``let``."""

    guard: bool = False
    """``->`` ends the guard of an arm."""

    patch_target: bool = False
    """``{`` ends the target of a patch, if writes follow."""

    loop: bool = False
    """An ``if`` without ``else`` is a condition of the comprehension."""


OPEN = Context()


class Parser(ABC):
    """A cursor, the context it is in, and the way back up to the operators."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.context = OPEN
        self.piped_call = -1
        """Where a call stands that directly follows a pipe."""

    @abstractmethod
    def expression(self) -> Routine[Node]:
        """Parse the widest thing there is: all that belongs to one value."""

    @abstractmethod
    def operand(self, minimum: Level) -> Routine[Node]:
        """Parse what binds at least as tightly as `minimum`."""

    def enclosed(
        self, routine: Routine[Node] | None = None, context: Context = OPEN
    ) -> Routine[Node]:
        """Parse an expression, or what `routine` parses, in another context."""
        outer, self.context = self.context, context
        found: Node = yield routine or self.expression()
        self.context = outer
        return found

    def at_call(self) -> bool:
        """Tell whether a name and a parenthesis come next."""
        # `has` is an operator elsewhere, but never where a value begins.
        token = self.cursor.token
        may_be_called = token.is_name or token.is_word("has")
        return may_be_called and self.cursor.ahead(1).is_sign("(")
