"""``headrace shard vacuum``: what no reader of a set needs any more, removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.options.common import OUTPUT_OPTIONS
from headrace.cli.options.write import SET
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console

ABOUT = """\
Removes generations of a set that were superseded some time ago, and what writers and jobs of
Spark left that were killed: of jobs, what is a day old, in an object store a week. Writers
of sets on a file system do the same before they write, an object store is left to this
command: run it from a timer. On a file system, nobody but jobs of Spark may be writing
the set. Prints the numbers of the generations that are gone."""

EXAMPLES = (
    Example("headrace shard vacuum shards", "the set in a directory"),
    Example(
        "headrace shard vacuum shards --grace 1h",
        "readers may still read what was superseded within the hour",
    ),
)

ARGUMENTS = (
    SET,
    Argument(
        "grace",
        "duration",
        "leave generations that were superseded later than that ago; 10m unless told",
        ("--grace",),
        metavar="AGE",
    ),
    *OUTPUT_OPTIONS,
)


def run(options: Namespace, console: Console) -> int:
    """Remove, and print what was."""
    from headrace.store.shards.shard_set import ShardSet
    from headrace.store.shards.vacuum.local import GRACE

    grace = GRACE if options.grace is None else options.grace / 1000
    gone = ShardSet(options.set).vacuum(grace)
    console.text("".join(f"{number}\n" for number in gone))
    return 0
