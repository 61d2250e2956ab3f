"""Printing nodes and edges of a graph.

Imported when a command runs, not when its help is shown.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from headrace.api.graph.render import DRAWINGS, as_ndjson

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.cli.console import Console
    from headrace.kernel.graph import Followed, Reached

_LINES = 256
"""Lines in one write."""


def print_steps(
    console: Console,
    steps: Iterable[Reached | Followed],
    form: str,
    *,
    edges: bool,
    named: bool,
    seed: str | None = None,
) -> None:
    """Print nodes and edges in a format, as they are reached."""
    drawing = DRAWINGS.get(form)
    if drawing is None:
        lines = as_ndjson(steps, edges=edges, named=named, seed=seed)
    else:
        lines = drawing.write(steps)
    while some := "".join(islice(lines, _LINES)):
        console.write(some.encode())
