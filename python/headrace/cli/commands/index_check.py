"""``headrace index check``: whether an index is whole, and that of its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.options.index import EVENTS, GRAPH, KEY, PLACES, SOURCE
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console

ABOUT = """\
Reads every byte of the index, compares it with its checksums and its tables with each
other, and FILE with what the index was built from. Prints one JSON object; exits with 1
if the index is missing, damaged or not that of FILE. With --deep, the keys of all rows are
read again and compared with the index, which must have them all, and no others."""

EXAMPLES = (
    Example("headrace index check app.jsonl", "the only index of a file"),
    Example("headrace index check app.jsonl --deep", "row by row"),
)

ARGUMENTS = (
    SOURCE,
    KEY,
    GRAPH,
    Argument("deep", "switch", "compare every row of FILE with the index", ("--deep",)),
    *PLACES,
    *EVENTS,
)


def run(options: Namespace, console: Console) -> int:
    """Print whether it can be used."""
    if options.graph:
        from headrace.cli.io.index_events import check

        return check(options, console)
    return _check(options, console)


def _check(options: Namespace, console: Console) -> int:
    from functools import partial

    from headrace.api.index.key import KeyIndex
    from headrace.cli.io.index_events import check_as_asked
    from headrace.cli.options.index import key_of

    check = partial(KeyIndex.check, options.file, key_of(options))
    return check_as_asked(options, console, check)
