"""What ``{value:spec}`` in an f-string gives."""

from __future__ import annotations

import math
import re

from tests.reference.language.values import Written, integer, is_number, text_of

DECIMALS = re.compile(r"\.([0-9]+)f")
PADDING = re.compile(r"([<>^])([0-9]+)")
ZEROS = re.compile(r"0([0-9]+)")


def formatted(value, spec):
    """Return a value as text; a spec that does not fit it is passed over."""
    text = text_of(value)
    if spec is None:
        return text
    if padding := PADDING.fullmatch(spec):
        side, width = padding.groups()
        return f"{text:{side}{width}}"
    if not is_number(value):
        return text
    if decimals := DECIMALS.fullmatch(spec):
        return f"{float(value):.{decimals[1]}f}"
    if spec == "d":
        return _without_fraction(value)
    if (zeros := ZEROS.fullmatch(spec)) and isinstance(value, int):
        return f"{value:0{zeros[1]}}"
    return text


def _without_fraction(number):
    if isinstance(number, int) or (isinstance(number, Written) and number.is_whole):
        return text_of(number)
    return text_of(integer(math.trunc(number)))
