"""``headrace log cat``: the records of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.arguments import Argument
from headrace.cli.log_options import LOG
from headrace.cli.options import OUTPUT_OPTIONS
from headrace.cli.table import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.output import Console

ABOUT = """\
All records in order, as they were appended. A log whose last writer crashed is recovered
first; one that is being written is read up to what is committed. Every line is compared
with its checksum. Lines count from 1. A directory that is empty or missing has no
records."""

EXAMPLES = (
    Example("headrace log cat trades", "all records"),
    Example("headrace log cat trades --from 10 -n 5", "lines 10 to 14"),
)

ARGUMENTS = (
    LOG,
    Argument("first", "number", "begin with this line", ("--from",), metavar="LINE"),
    Argument("last", "number", "end with this line", ("--to",), metavar="LINE"),
    Argument(
        "rows", "number", "print at most so many lines", ("-n", "--rows"), metavar="N"
    ),
    *OUTPUT_OPTIONS,
)


def run(options: Namespace, console: Console) -> int:
    """Print the records."""
    from headrace.api.log import open_recovered

    log, actions = open_recovered(options.directory)
    for action in actions:
        console.emit("recovered", str(action), **action.told())
    if log is None:
        return 0
    first = max(options.first or 1, log.first_line)
    lasts = [log.last_line]
    if options.last is not None:
        lasts.append(options.last)
    if options.rows is not None:
        lasts.append(first + options.rows - 1)
    for block in log.blocks(first, min(lasts)):
        console.write(block.data)
    return 0
