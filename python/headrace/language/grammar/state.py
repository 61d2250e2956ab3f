"""Parser state that the functions of the grammar share."""

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
    """Words and signs that end an expression which could otherwise continue.

    Does not apply where another token marks the end: inside brackets, and between
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
    """A cursor, its context, and the parser of whole expressions."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.context = OPEN
        self.piped_call = -1
        """Position of a call that directly follows a pipe."""

    @abstractmethod
    def expression(self) -> Routine[Node]:
        """Parse a whole expression, with every operator."""

    @abstractmethod
    def operand(self, minimum: Level) -> Routine[Node]:
        """Parse an expression that binds at least as tightly as `minimum`."""

    def enclosed(
        self, routine: Routine[Node] | None = None, context: Context = OPEN
    ) -> Routine[Node]:
        """Parse an expression, or run `routine`, in another context."""
        outer, self.context = self.context, context
        found: Node = yield routine or self.expression()
        self.context = outer
        return found

    def at_call(self) -> bool:
        """Whether a name and a parenthesis come next."""
        # `has` is an operator elsewhere, but never where a value begins.
        token = self.cursor.token
        may_be_called = token.is_name or token.is_word("has")
        return may_be_called and self.cursor.ahead(1).is_sign("(")
