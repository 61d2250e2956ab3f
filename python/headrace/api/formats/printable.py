"""Text without control characters, for a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Escape control characters: a file name may have any.

    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
