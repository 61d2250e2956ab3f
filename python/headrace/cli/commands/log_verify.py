"""``headrace log verify``: every byte of a backup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.options.common import OUTPUT_OPTIONS
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console

ABOUT = """\
Prints each file of the backup with its lines (nothing for an index), its bytes and "ok", or what
is wrong with it: every byte against the checksum it was copied with, and every line against
its own. Exits with 1 if anything is wrong."""

EXAMPLES = (
    Example("headrace log verify trades.backup", "whether it could be restored"),
)

BACKUP = Argument("backup", "directory", "the directory of a backup", metavar="BACKUP")

ARGUMENTS = (BACKUP, *OUTPUT_OPTIONS)


def run(options: Namespace, console: Console) -> int:
    """Print what is wrong, file by file."""
    from headrace.api.log.log import Log
    from headrace.cli.console import counted

    wrong = 0
    with console.progress() as report:
        for file in Log.verify(
            options.backup, progress=lambda done: report(done, None)
        ):
            said = "; ".join(file.faults) or "ok"
            lines = "" if file.rows is None else counted(file.rows, "line")
            console.text(f"{file.path}\t{lines}\t{file.bytes} bytes\t{said}\n")
            wrong += bool(file.faults)
    if not wrong:
        return 0
    message = (
        f"{options.backup}: {counted(wrong, 'file')} cannot be restored; "
        "while the log is there, `headrace log backup` to another directory"
    )
    console.emit("error", message, error="BackupError", path=options.backup)
    return 1
