"""``{value:spec}`` in an f-string, by Python's own formats."""

from __future__ import annotations

import math
import re

from tests.reference.language.values import (
    GREATEST,
    LEAST,
    NotInSubset,
    QueryError,
    Written,
    exact,
    is_number,
    text_of,
)

SPEC = re.compile(
    r"(?:(?P<fill>.)?(?P<align>[<>^=]))?(?P<sign>[-+ ])?(?P<alternate>#)?(?P<zero>0)?"
    r"(?P<width>[0-9]+)?(?P<grouping>[,_])?(?P<precision>\.[0-9]+)?(?P<kind>[a-zA-Z%])?",
    re.DOTALL,
)


def formatted(value, spec):
    """Return a value as text."""
    if spec is None:
        return text_of(value)
    parts = SPEC.fullmatch(spec)
    if parts is None:
        raise QueryError("no format")
    try:
        return format(_as_python(value, parts), _for_python(value, parts))
    except (ValueError, OverflowError) as error:
        raise QueryError(str(error)) from None


def _as_python(value, parts):
    """Return the Python value to format in place of a value."""
    kind = parts["kind"]
    if not is_number(value):
        if kind not in {None, "s"} or _is_about_digits(parts):
            raise QueryError("the format needs a number")
        return text_of(value)
    if kind == "s":
        return text_of(value)
    if kind == "d":
        return _without_fraction(value)
    if kind is not None and kind in "bcoxX":
        number = exact(value)
        if number != math.trunc(number) or not LEAST <= number <= GREATEST:
            raise QueryError("no integer")
        return int(number)
    if kind is None and parts["precision"] is None:
        if parts["alternate"] or (parts["zero"] and parts["align"]):
            raise NotInSubset("a format of the text of a number")
        if parts["sign"] or parts["grouping"]:
            return _as_written(value)
        zeros = int(parts["width"] or 0) if parts["zero"] else 0
        return text_of(value).zfill(zeros)
    return float(value)


def _as_written(number):
    """Return a number whose text in Python is that of the language, but for exponents."""
    text = text_of(number)
    if isinstance(number, int) or (isinstance(number, Written) and number.is_whole):
        return int(text)
    if "." in text or "e" in float.__repr__(number):
        return float(number)
    if number == 0:
        raise NotInSubset("the sign of zero")
    return int(text)


def _for_python(value, parts):
    """Return the format, translated where Python differs."""
    spec = parts.string
    if is_number(value) and parts["kind"] is None:
        if parts["precision"] is not None:
            return spec + "g"
        if parts["sign"] or parts["grouping"]:
            return spec
        if parts["zero"]:
            return ""
        if parts["align"] is None and parts["width"]:
            return ">" + spec
    return spec


def _is_about_digits(parts):
    signs = ("sign", "alternate", "zero", "grouping")
    return any(parts[sign] for sign in signs) or parts["align"] == "="


def _without_fraction(number):
    text = text_of(number)
    if text.lstrip("-").isdigit():
        return int(text)
    raise QueryError("no whole number")
