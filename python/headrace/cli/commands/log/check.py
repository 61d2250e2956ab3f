"""``headrace log check``: compare every file of a log with its manifest and checksums."""

from argparse import Namespace

from headrace.cli.argument import LOG
from headrace.cli.console import Console, counted
from headrace.cli.flags import flag

ABOUT = """\
Prints each segment with its lines, its bytes and "ok", or its faults. Compares sizes with the
manifest, the first line of the index, and every entry with its checksum and the entry before
it; with --deep also every line, and the digest of a compressed file. Changes nothing. Traces of
a crash that recovery will remove are named, but are not faults. Exits with 1 if there is a
fault."""

EXAMPLES = """\
headrace log check trades  # sizes and indexes
headrace log check trades --deep  # every line too
"""

ARGUMENTS = (
    LOG,
    flag("--deep"),
    flag("--json", "an object for each segment"),
)

_REMADE = "`headrace log recover`, or opening the log, builds the missing files again"
_LOST = (
    "restore it from a backup, or run `headrace log recover --repair`, which writes entries again "
    "and gives up lines that were cut off; `headrace log cat --on-error skip` reads past "
    "damaged lines"
)


def run(options: Namespace, console: Console) -> int:
    """Print the faults of each segment."""
    from dataclasses import asdict

    from headrace.api.log.log import Log
    from headrace.cli.io.report import print_json

    wrong = remade = 0
    with console.progress() as report:
        checked = Log(options.directory).check(
            deep=options.deep,
            progress=lambda done: report(done, None),
        )
        for segment in checked:
            if options.json:
                print_json(asdict(segment), console)
            else:
                verdict = "; ".join((*segment.faults, *segment.notes)) or "ok"
                counts = f"{counted(segment.rows, 'line')}\t{segment.bytes} bytes"
                console.text(f"{segment.path}\t{counts}\t{verdict}\n")
            wrong += bool(segment.faults)
            remade += segment.remade
    if not wrong:
        return 0
    message = (
        f"{options.directory}: {counted(wrong, 'segment')} not as written; "
        f"{_REMADE if remade == wrong else _LOST}"
    )
    console.emit(
        "error",
        message,
        error="LogDamagedError",
        path=options.directory,
        segments=wrong,
    )
    return 1
