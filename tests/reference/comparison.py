"""Exact comparison of the engine's answer with that of the reference."""

from __future__ import annotations

from tests.reference.language.values import Written, kind_of


def alike(given, wanted) -> bool:
    """Whether an answer that was read equals a value of the reference.

    Keys are in the same order, a number that was only passed on is written as before,
    and one that was computed is an integer or a decimal as the reference says.
    """
    if kind_of(given) != kind_of(wanted):
        return False
    if isinstance(wanted, list):
        return len(given) == len(wanted) and all(map(alike, given, wanted))
    if isinstance(wanted, dict):
        return list(given) == list(wanted) and all(
            alike(given[key], wanted[key]) for key in wanted
        )
    if isinstance(wanted, Written):
        return isinstance(given, Written) and given.text == wanted.text
    if isinstance(wanted, float):
        return isinstance(given, Written) and not given.is_whole and given == wanted
    return given == wanted
