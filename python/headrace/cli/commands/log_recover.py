"""``headrace log recover``: bring a log to the state in which a writer can go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.options.common import OUTPUT_OPTIONS
from headrace.cli.options.log import LOG, TAIL
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console

ABOUT = """\
Recovers a log after a crash, as every writer does that opens it. Prints one JSON object: the
lines that are there, and what was done, file by file, and why. Done twice, the second time finds
nothing to do. No byte of data is destroyed: what is no record is moved to quarantine/. Damage
that no crash leaves, such as a missing file, is a failure; --repair gives up the lines that are
lost, keeps what is left of them in quarantine/, and lets the numbers of all others stay. It also
goes through every entry and line: entries that are not good are made again from their lines, and
damaged lines are named and left where they are."""

EXAMPLES = (
    Example("headrace log recover trades", "after a crash"),
    Example(
        "headrace log recover trades --tail strict", "fail if the last record is torn"
    ),
)

ARGUMENTS = (
    LOG,
    TAIL,
    Argument(
        "repair", "switch", "give up lines that are lost or damaged", ("--repair",)
    ),
    *OUTPUT_OPTIONS,
)


def run(options: Namespace, console: Console) -> int:
    """Recover the log and print what was done."""
    import json

    from headrace.api.log.log import Log

    log = Log(options.directory)
    report = log.recover(tail=options.tail, repair=options.repair)
    told = {
        "first_line": log.first_line,
        "last_line": log.last_line,
        "actions": [action.as_fields() for action in report.actions],
    }
    console.text(json.dumps(told) + "\n")
    return 0
