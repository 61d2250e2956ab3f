"""``headrace index compact``: make one index of an index and its delta."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.options.index import EVENTS, GRAPH, KEY, MEMORY, PLACES, SOURCE
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console

ABOUT = """\
What `headrace index update` wrote beside the index goes into it, by merging both; the
result is what building it anew would give. FILE is not read for it, but for its hashes if it
looks different, and for rows of a compact index that only they can tell apart. A compact index
with four times the rows it was built with has to be built anew: an event says so, and the
exit code is 1."""

EXAMPLES = (Example("headrace index compact app.jsonl", "of the only index of a file"),)

ARGUMENTS = (
    SOURCE,
    KEY,
    GRAPH,
    MEMORY._replace(
        help="how much memory to use for a graph (256MiB unless told); changes no byte",
        default=None,
    ),
    *PLACES,
    *EVENTS,
)


def run(options: Namespace, console: Console) -> int:
    """Make one of both."""
    if options.graph:
        from headrace.cli.io.index_events import compact

        return compact(options, console)
    return _compact(options, console)


def _compact(options: Namespace, console: Console) -> int:
    from functools import partial

    from headrace.api.index.key import KeyIndex
    from headrace.cli.io.index_events import compact_as_asked
    from headrace.cli.options.index import key_of
    from headrace.errors import UsageError

    if options.memory is not None:
        raise UsageError("--memory is for --graph: merging keys takes next to none")
    compact = partial(KeyIndex.compact, options.file, key_of(options))
    return compact_as_asked(options, console, compact)
