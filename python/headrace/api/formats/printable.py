"""Text that does nothing to a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Spell out what would move the cursor: a file may be called anything.

    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
