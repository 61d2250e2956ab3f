"""``headrace shard cat``: the rows of a set."""

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
All rows in order, as they were written. A part that is missing, of another size or
damaged is a failure; with --on-error skip, what cannot be read is left out and said."""

EXAMPLES = (
    Example("headrace shard cat shards", "all rows of the set in a directory"),
    Example("headrace shard cat shards/rows | wc -l", "of the set of that name"),
)

ARGUMENTS = (
    SET,
    Argument(
        "on_error",
        "choice",
        "what a damaged block does (abort unless told)",
        ("--on-error",),
        choices=("abort", "skip"),
        default="abort",
    ),
    *OUTPUT_OPTIONS,
)


def run(options: Namespace, console: Console) -> int:
    """Print the rows."""
    from headrace.api.shards import shard_lines
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
