"""``headrace shard vacuum``: remove replaced generations of a set."""

from argparse import Namespace

from headrace.cli.argument import SET
from headrace.cli.console import Console
from headrace.cli.flags import flag

ABOUT = """\
Removes generations of a set that were replaced longer than --grace ago, and files of writers and
Spark jobs that were killed: files of jobs after a day, in an object store after a week. Writers
on a file system do the same before they write; in an object store only this command does: run it
from a timer. On a file system, only jobs of Spark may write the set meanwhile. Prints the numbers
of the removed generations."""

EXAMPLES = """\
headrace shard vacuum shards  # the set in a directory
headrace shard vacuum shards --grace 1h
    # keep generations that were replaced within the last hour
"""

ARGUMENTS = (
    SET,
    flag("--grace", "for readers of generations that were replaced", otherwise="10m"),
)


def run(options: Namespace, console: Console) -> int:
    """Remove generations, and print their numbers."""
    from headrace.store.shards.shard_set import ShardSet
    from headrace.store.shards.vacuum.local import GRACE

    grace = GRACE if options.grace is None else options.grace.total_seconds()
    gone = ShardSet(options.set).vacuum(grace)
    console.text("".join(f"{number}\n" for number in gone))
    return 0
