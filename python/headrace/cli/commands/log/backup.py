"""``headrace log backup``: copy a log to its backup."""

from argparse import Namespace

from headrace.cli.argument import BACKUP, LOG
from headrace.cli.console import Console, ending_cleanly
from headrace.cli.flags import flag

ABOUT = """\
Creates BACKUP, or updates it: only new lines are copied, up to the last committed one. A writer
may append meanwhile. Copies are read back, and their lines compared with their checksums. If the
command is killed, BACKUP is either the old one or the new one; run the command again to go on.
Segments that retention removed from the log are removed from the backup too. If the log lost
other lines, or has different ones, because it was repaired or is an older copy, BACKUP stays as it
is, except with --accept-loss. Prints the generation, the lines and the bytes of the backup."""

EXAMPLES = """\
headrace log backup trades trades.backup  # make or update a backup
"""

ARGUMENTS = (
    LOG,
    BACKUP._replace(help="the directory of the backup"),
    flag("--accept-loss"),
    flag("--json"),
)


def run(options: Namespace, console: Console) -> int:
    """Copy new lines, and print the totals of the backup."""
    from dataclasses import asdict

    from headrace.api.log.log import Log
    from headrace.cli.io.report import print_report

    with ending_cleanly(), console.progress() as report:
        made = Log(options.directory).backup(
            options.backup,
            progress=lambda done: report(done, None),
            accept_loss=options.accept_loss,
        )
    print_report(asdict(made), options, console)
    return 0
