"""``headrace log restore``: create a log from its backup."""

from argparse import Namespace

from headrace.cli.argument import BACKUP, Argument
from headrace.cli.console import Console, ending_cleanly
from headrace.cli.flags import flag

ABOUT = """\
DIR must be empty or not exist. Every file is compared with its checksum while it is
restored; the log appears when it is complete. A writer goes on after its last line, with the
same numbers. Prints the first and the last line."""

EXAMPLES = """\
headrace log restore trades.backup restored  # a writer can go on where the backup ends
"""

ARGUMENTS = (
    BACKUP,
    Argument("directory", "directory", "where to create the log", metavar="DIR"),
    flag("--json"),
)


def run(options: Namespace, console: Console) -> int:
    """Restore the log, and print its first and last line."""
    from headrace.api.log.log import Log
    from headrace.cli.io.report import print_report

    with ending_cleanly(), console.progress() as report:
        log = Log.restore(
            options.backup, options.directory, progress=lambda done: report(done, None)
        )
    fields = {"first_line": log.first_line, "last_line": log.last_line}
    print_report(fields, options, console)
    return 0
