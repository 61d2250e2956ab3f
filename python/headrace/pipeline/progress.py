"""How far a run is, for whoever wants to show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable


class Progress(NamedTuple):
    """Tasks that are done of the `number`-th of `passes` passes.

    Before the first of a pass there are none: then it begins.
    """

    number: int
    passes: int
    title: str
    done: int
    tasks: int


if TYPE_CHECKING:
    Tell: TypeAlias = Callable[[Progress], object]
