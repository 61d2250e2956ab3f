"""``headrace index update``: bring an index up to date with a file that has grown."""

from argparse import Namespace

from headrace.cli.console import Console
from headrace.cli.flag_groups import BUILDING, ONE_INDEX
from headrace.cli.flags import ENGINE, flag

ABOUT = """\
Reads only the rows that were appended to FILE, and writes them to a delta beside the index.
The delta is merged into the index when it has more than a quarter of its rows. Hashes prove
that the indexed part of FILE is unchanged. If FILE was changed otherwise, an event says why,
and the exit code is 1; --full builds the index again, with the options it was built with. If
FILE only looks different, as a copy does, the index records that. Of a set of shards, the rows
of new parts are read, with --engine spark by tasks of Spark."""

EXAMPLES = """\
headrace index update app.jsonl  # index the rows that were appended
headrace index update app.jsonl --full  # index all rows again
"""

ARGUMENTS = (
    *ONE_INDEX,
    flag("--full"),
    *BUILDING,
    *ENGINE,
)


def run(options: Namespace, console: Console) -> int:
    """Update the index."""
    from headrace.cli.io.index_events import update_index

    return update_index(options, console)
