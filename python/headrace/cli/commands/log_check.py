"""``headrace log check``: every file of a log against what was written."""

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
Prints each segment with its lines, its bytes and "ok", or what is wrong with it: the sizes
against the manifest, the first line of the index, and every entry against its checksum and
the one before it; with --deep every line as well, and the digest of a compressed file. Changes nothing. What a crash left for
recovery is said, but is nothing wrong. Exits with 1 if anything is."""

EXAMPLES = (
    Example("headrace log check trades", "sizes and indexes"),
    Example("headrace log check trades --deep", "every line as well"),
)

ARGUMENTS = (
    LOG,
    Argument("deep", "switch", "compare every line with its checksum", ("--deep",)),
    *OUTPUT_OPTIONS,
)

_REMADE = "`headrace log recover`, or opening the log, makes what is gone again"
_LOST = (
    "bring it back from a backup, or let `headrace log recover --repair` make entries again "
    "and give up what was cut off; `headrace log cat --on-error skip` reads past damaged lines"
)


def run(options: Namespace, console: Console) -> int:
    """Print what is wrong, segment by segment."""
    from headrace.api.log.log import Log
    from headrace.cli.console import counted

    wrong = remade = 0
    with console.progress() as report:
        checked = Log(options.directory).check(
            deep=options.deep,
            progress=lambda done: report(done, None),
        )
        for segment in checked:
            said = "; ".join((*segment.faults, *segment.notes)) or "ok"
            counts = f"{counted(segment.rows, 'line')}\t{segment.bytes} bytes"
            console.text(f"{segment.path}\t{counts}\t{said}\n")
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
