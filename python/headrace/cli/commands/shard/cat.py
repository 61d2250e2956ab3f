"""``headrace shard cat``: print the rows of a set."""

from argparse import Namespace

from headrace.cli.argument import SET
from headrace.cli.console import Console
from headrace.cli.flags import flag

ABOUT = """\
Prints all rows in the order in which they were written. A part that is missing, of another size
or damaged is a failure; with --on-error skip, rows that cannot be read are left out, and an event
says so."""

EXAMPLES = """\
headrace shard cat shards  # all rows of the set in a directory
headrace shard cat shards/rows | wc -l  # of the set of that name
"""

ARGUMENTS = (
    SET,
    flag(
        "--on-error",
        "bad rows are damaged blocks here",
        default="abort",
        choices=("abort", "skip"),
    ),
)


def run(options: Namespace, console: Console) -> int:
    """Print the rows."""
    from headrace.api.shards.shard_set import shard_lines
    from headrace.store.shards.shard_set import ShardSet

    shards = ShardSet(options.set)
    total = shards.metadata.total_logical_bytes
    done = 0
    with console.progress() as report:
        for lines in shard_lines(shards, on_damage=options.on_error):
            console.write(lines)
            done += len(lines)
            report(done, total)
    return 0
