"""Checks of options that have a few choices: a misspelt one must not be ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


def refuse_other(name: str, value: object, choices: Sequence[object]) -> None:
    """Raise if the value of an option is none of its choices.

    >>> refuse_other("how", "outer", ("inner", "left"))
    Traceback (most recent call last):
    headrace.errors.UsageError: how is one of 'inner', 'left', not 'outer'
    """
    if value not in choices:
        known = ", ".join(repr(choice) for choice in choices)
        raise UsageError(f"{name} is one of {known}, not {value!r}")
