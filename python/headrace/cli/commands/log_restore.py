"""``headrace log restore``: a log from its backup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.commands.log_verify import BACKUP
from headrace.cli.options.common import OUTPUT_OPTIONS
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console

ABOUT = """\
DIR must be empty or not be there. Every file is compared with its checksum while it is
restored; the log is there whole or not at all. A writer goes on behind its last line, with
the same numbers. Prints which lines it has, as JSON."""

EXAMPLES = (
    Example(
        "headrace log restore trades.backup restored", "and write on where it ended"
    ),
)

ARGUMENTS = (
    BACKUP,
    Argument("directory", "directory", "where the log is made", metavar="DIR"),
    *OUTPUT_OPTIONS,
)


def run(options: Namespace, console: Console) -> int:
    """Restore the log, and print which lines it has."""
    import json

    from headrace.api.log.log import Log
    from headrace.cli.console import ending_cleanly

    with ending_cleanly(), console.progress() as report:
        log = Log.restore(
            options.backup,
            options.directory,
            progress=lambda done: report(done, None),
        )
    told = {"first_line": log.first_line, "last_line": log.last_line}
    console.text(json.dumps(told) + "\n")
    return 0
