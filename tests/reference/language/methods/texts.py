"""Methods of texts."""

from __future__ import annotations

import re

from tests.reference.language.values import QueryError, text_of

WHITE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)


def _changed(least, change):
    """Make a method of texts; other values stay unchanged."""

    def method(receiver, arguments):
        arguments.check(least)
        if not isinstance(receiver, str):
            return receiver
        return change(receiver, *(arguments.text(place) for place in range(least)))

    return method


def _tested(test, otherwise):
    """Make a test of one text with another; null stays null, other values give `otherwise`."""

    def method(receiver, arguments):
        arguments.check(1)
        if not isinstance(receiver, str):
            return None if receiver is None else otherwise
        return test(receiver, arguments.text(0))

    return method


def _split(text, separator):
    return text.split(separator) if separator else ["", *text, ""]


def _slice(receiver, arguments):
    arguments.check(1, 2)
    start = arguments.whole(0)
    end = arguments.whole(1) if len(arguments) == 2 else None
    return receiver[start:end] if isinstance(receiver, str | list) else receiver


def _join(receiver, arguments):
    arguments.check(0, 1)
    separator = arguments.text(0) if arguments else ""
    if receiver is None:
        return None
    if not isinstance(receiver, list):
        raise QueryError("join of what is no array")
    return separator.join(map(text_of, receiver))


def _found(text, pattern):
    try:
        return re.search(pattern, text)
    except re.error:
        raise QueryError("no pattern") from None


def _match_first(text, pattern):
    found = _found(text, pattern)
    return None if found is None else found[0]


def _captures(text, pattern):
    found = _found(text, pattern)
    return None if found is None else [found[0], *found.groups()]


TEXTS = {
    "upper": _changed(0, str.upper),
    "lower": _changed(0, str.lower),
    "trim": _changed(0, lambda text: text.strip(WHITE)),
    "replace": _changed(2, lambda text, part, other: text.replace(part, other, 1)),
    "replace_all": _changed(2, lambda text, part, other: text.replace(part, other)),
    "split": _changed(1, _split),
    "slice": _slice,
    "join": _join,
    "starts_with": _tested(str.startswith, otherwise=False),
    "ends_with": _tested(str.endswith, otherwise=False),
    "re_match": _tested(
        lambda text, pattern: bool(_found(text, pattern)), otherwise=False
    ),
    "match_first": _tested(_match_first, otherwise=None),
    "captures": _tested(_captures, otherwise=None),
}
