"""Paths in a text, such as ``a.b[0]``: only names and positions."""

from __future__ import annotations

import re

from tests.reference.language.values import NotInSubset

PATH = re.compile(r"[A-Za-z_][\w-]*(\[[0-9]+\]|\.[A-Za-z_][\w-]*)*")
SEGMENT = re.compile(r"\[([0-9]+)\]|\.?([^.\[]+)")


def segments(path):
    """Return the keys and positions of a path."""
    if not PATH.fullmatch(path):
        raise NotInSubset(f"the path {path!r}")
    return [int(place) if place else name for place, name in SEGMENT.findall(path)]


def is_there(value, path):
    """Whether the value at a path exists; it may be null."""
    for segment in segments(path):
        if isinstance(segment, int):
            if not isinstance(value, list) or segment >= len(value):
                return False
        elif not isinstance(value, dict) or segment not in value:
            return False
        value = value[segment]
    return True


def reached(value, path):
    """Return the value at a path, or None."""
    if not is_there(value, path):
        return None
    for segment in segments(path):
        value = value[segment]
    return value
