"""``headrace log backup``: a second place for a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.options.common import OUTPUT_OPTIONS
from headrace.cli.options.log import LOG
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console

ABOUT = """\
BACKUP is made if it is not there, and brought up to date if it is: only what is new is
copied, up to the last line that is committed. The log may be written meanwhile. What is
copied is read back, and its lines are compared with their checksums. BACKUP is the old one
until all is there, and then the new one, whenever this is killed; run again, it goes on.
Segments that retention removed from the log, the backup does not have either; but if other
lines of it are lost, or are other ones, because the log was repaired, or is an older copy,
then BACKUP stays as it is, unless there is --accept-loss. Prints what is in it, as JSON."""

EXAMPLES = (
    Example("headrace log backup trades trades.backup", "make or update a backup"),
)

ARGUMENTS = (
    LOG,
    Argument("backup", "directory", "the directory of the backup", metavar="BACKUP"),
    Argument(
        "accept_loss",
        "switch",
        "also if the backup has lines that the log has lost: they are gone then",
        ("--accept-loss",),
    ),
    *OUTPUT_OPTIONS,
)


def run(options: Namespace, console: Console) -> int:
    """Copy what is new, and print what the backup has."""
    import json
    from dataclasses import asdict

    from headrace.api.log.log import Log
    from headrace.cli.console import ending_cleanly

    with ending_cleanly(), console.progress() as report:
        made = Log(options.directory).backup(
            options.backup,
            accept_loss=options.accept_loss,
            progress=lambda done: report(done, None),
        )
    console.text(json.dumps(asdict(made)) + "\n")
    return 0
