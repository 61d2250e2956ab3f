"""``headrace index compact``: make one index of an index and its delta."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.key_index_options import EVENTS, GRAPH, KEY, PLACES, SOURCE
from headrace.cli.table import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.output import Console

ABOUT = """\
What `headrace index update` wrote beside the index goes into it, by merging both; the
result is what building it anew would give. FILE is not read for it, but for its hashes if it
looks different, and for rows of a compact index that only they can tell apart. A compact index
with four times the rows it was built with has to be built anew: an event says so, and the
exit code is 1."""

EXAMPLES = (Example("headrace index compact app.jsonl", "of the only index of a file"),)

ARGUMENTS = (SOURCE, KEY, GRAPH, *PLACES, *EVENTS)


def run(options: Namespace, console: Console) -> int:
    """Make one of both."""
    if options.graph:
        from headrace.cli.graph_indexes import compact

        return compact(options, console)
    return _compact(options, console)


def _compact(options: Namespace, console: Console) -> int:
    from headrace.api.key_index_update import compact_lookup_index
    from headrace.cli.commands.index_update import FULL_REQUIRED
    from headrace.cli.ending import ending_cleanly
    from headrace.cli.key_index_building import say_compacted, say_full_required
    from headrace.cli.key_index_options import fields, tell_as_asked
    from headrace.errors import KeyIndexError

    tell_as_asked(options, console)
    try:
        with ending_cleanly():
            built = compact_lookup_index(
                options.file,
                None if options.key is None else fields(options.key),
                index=options.index,
                index_dir=options.index_dir,
            )
    except KeyIndexError as error:
        if error.kind not in FULL_REQUIRED:
            raise
        reason = "index_corrupt" if error.kind == "corrupt" else error.reason
        say_full_required(console, options.file, reason)
        return 1
    if built is None:
        console.emit("update_mode", f"{options.file}: has no delta", mode="none")
    else:
        say_compacted(console, built)
    return 0
