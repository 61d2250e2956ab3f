"""``headrace log verify``: check every byte of a backup."""

from argparse import Namespace

from headrace.cli.argument import BACKUP
from headrace.cli.console import Console, counted
from headrace.cli.flags import flag

ABOUT = """\
Prints each file of the backup with its lines (none for an index), its bytes and "ok", or its
faults: compares every byte with the checksum of the copy, and every line with its own. Exits
with 1 if there is a fault."""

EXAMPLES = """\
headrace log verify trades.backup  # check whether it can be restored
"""

ARGUMENTS = (
    BACKUP,
    flag("--json", "an object for each file"),
)


def run(options: Namespace, console: Console) -> int:
    """Print the faults of each file."""
    from dataclasses import asdict

    from headrace.api.log.log import Log
    from headrace.cli.io.report import print_json

    wrong = 0
    with console.progress() as report:
        for file in Log.verify(
            options.backup, progress=lambda done: report(done, None)
        ):
            if options.json:
                print_json(asdict(file), console)
            else:
                verdict = "; ".join(file.faults) or "ok"
                lines = "" if file.rows is None else counted(file.rows, "line")
                console.text(f"{file.path}\t{lines}\t{file.bytes} bytes\t{verdict}\n")
            wrong += bool(file.faults)
    if not wrong:
        return 0
    message = (
        f"{options.backup}: {counted(wrong, 'file')} cannot be restored; "
        "while the log is there, `headrace log backup` to another directory"
    )
    console.emit("error", message, error="BackupError", path=options.backup)
    return 1
