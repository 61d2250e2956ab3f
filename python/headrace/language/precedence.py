"""Precedence of operators and constructs: the one table for parsing and writing."""

from __future__ import annotations

from enum import IntEnum

from headrace.language.ast import BinaryOperator, CompareOperator


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
