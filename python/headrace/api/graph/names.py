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


def seeds_of(seeds: Names) -> list[str]:
    """Return the texts that name the nodes to begin with."""
    if isinstance(seeds, str | int):
        return [text_of(seeds)]
    if isinstance(seeds, bytes | bytearray) or not isinstance(seeds, Iterable):
        raise UsageError(f"{seeds!r}: a node is named by a text or a whole number")
    return [text_of(seed) for seed in seeds]


def at_most(name: str, bound: int | None) -> int | None:
    """Return the bound of a search; None if no graph can reach it."""
    if bound is not None and type(bound) is not int:
        raise UsageError(f"{name} must be a whole number, not {bound!r}")
    if bound is not None and bound < 0:
        raise UsageError(f"{name} {bound}: it cannot be below 0")
    return None if bound is None or bound >= _ENDLESS else bound


def texts_of(preds: Names | None) -> list[str] | None:
    """Return the texts that name predicates; None stands for all."""
    if preds is None:
        return None
    # A text is one predicate, not a list of letters.
    if isinstance(preds, str | int):
        preds = [preds]
    if isinstance(preds, bytes | bytearray) or not isinstance(preds, Iterable):
        raise UsageError(f"{preds!r}: a predicate is a text or a whole number")
    return [text_of(each, "a predicate") for each in preds]


def _encoded(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{text!r}: not a text in UTF-8") from None
    return text
