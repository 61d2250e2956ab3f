"""``headrace index stats``: what an index is of, and how large it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.options.index import EVENTS, GRAPH, KEY, PLACES, SOURCE
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console

ABOUT = """\
Prints one JSON object. Whether the index fits is not looked at; that is
`headrace index check`."""

EXAMPLES = (
    Example("headrace index stats app.jsonl", "of the only index of a file"),
    Example("headrace index stats app.jsonl --pretty", "on several lines"),
)

ARGUMENTS = (
    SOURCE,
    KEY,
    GRAPH,
    Argument("pretty", "switch", "on several lines, for people", ("--pretty",)),
    *PLACES,
    *EVENTS,
)


def run(options: Namespace, console: Console) -> int:
    """Print the numbers."""
    if options.graph:
        from headrace.cli.io.index_events import stats

        return stats(options, console)
    return _stats(options, console)


def _stats(options: Namespace, console: Console) -> int:
    import json

    from headrace.api.index.key import KeyIndex
    from headrace.cli.options.index import key_of

    stats = KeyIndex.stats(
        options.file,
        key_of(options),
        index=options.index,
        index_dir=options.index_dir,
    )
    console.text(json.dumps(stats, indent=2 if options.pretty else None) + "\n")
    return 0
