"""Names of nodes and predicates: text, or a whole number that stands for its text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from headrace.errors import UsageError

if TYPE_CHECKING:
    from headrace.api.options import Name, Names

_ENDLESS = 2**32 - 1
"""No graph index has as many nodes, so no shortest path has as many edges."""


def text_of(node: Name, what: str = "a node") -> str:
    """Return the text that names a node or a predicate."""
    if type(node) is str:
        return _encoded(node)
    if isinstance(node, bool):
        return "true" if node else "false"
    if isinstance(node, str | int):
        return str(node)
    raise UsageError(f"{node!r}: {what} is named by a text or a whole number")


def texts_of(names: Names, what: str = "a node") -> list[str]:
    """Return the texts that name nodes or predicates."""
    # A text is one name, not a list of letters.
    if isinstance(names, str | int):
        names = [names]
    if isinstance(names, bytes | bytearray) or not isinstance(names, Iterable):
        raise UsageError(f"{names!r}: {what} is named by a text or a whole number")
    return [text_of(name, what) for name in names]


def predicates_of(preds: Names | None) -> list[str] | None:
    """Return the texts that name predicates; None stands for all."""
    return None if preds is None else texts_of(preds, "a predicate")


def at_most(name: str, bound: int | None) -> int | None:
    """Return the bound of a search; None if no graph can reach it."""
    if bound is not None and type(bound) is not int:
        raise UsageError(f"{name} must be a whole number, not {bound!r}")
    if bound is not None and bound < 0:
        raise UsageError(f"{name} {bound}: it cannot be below 0")
    return None if bound is None or bound >= _ENDLESS else bound


def _encoded(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{text!r}: not a text in UTF-8") from None
    return text
