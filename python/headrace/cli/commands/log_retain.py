"""``headrace log retain``: old segments, removed."""

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
Removes the oldest segments of a log, those that any of the limits asks for: whole segments,
and never the last one. The numbers of all other lines stay, and none is ever used again.
Prints one JSON object: the lines that were removed, how much room they took, and their times.
A log that is being written is left to its writer, which can do the same (`headrace log
append --retain-age --retain-bytes`); --dry-run looks at it all the same."""

EXAMPLES = (
    Example("headrace log retain trades --max-age 7d", "keep a week"),
    Example(
        "headrace log retain trades --max-bytes 10GiB --dry-run",
        "what would go if 10 GiB were kept",
    ),
)

ARGUMENTS = (
    LOG,
    Argument(
        "max_age",
        "duration",
        "remove segments whose last record is older, such as 7d",
        ("--max-age",),
        metavar="AGE",
    ),
    Argument(
        "max_bytes",
        "size",
        "remove segments until the log, with its indexes, is no larger",
        ("--max-bytes",),
        metavar="SIZE",
    ),
    Argument(
        "before_line",
        "number",
        "remove segments all of whose lines are before this one",
        ("--before-line",),
        metavar="LINE",
    ),
    Argument(
        "dry_run", "switch", "remove nothing, only say what would be", ("--dry-run",)
    ),
    *OUTPUT_OPTIONS,
)


def run(options: Namespace, console: Console) -> int:
    """Remove, and print what was."""
    import json

    from headrace.api.log.log import Log
    from headrace.cli.console import counted
    from headrace.cli.options.log import age_of
    from headrace.store.files.units import format_size

    removed = Log(options.directory).retain(
        retain_age=age_of(options.max_age),
        retain_bytes=options.max_bytes,
        before_line=options.before_line,
        dry_run=options.dry_run,
    )
    told = {**removed.as_fields(), "dry_run": options.dry_run}
    would = "would be removed" if options.dry_run else "removed"
    what = (
        f"{counted(removed.lines, 'line')} ({told['first_line']} to {told['last_line']}), "
        f"{format_size(removed.bytes)}, {would}"
        if removed.segments
        else f"nothing {would}"
    )
    console.emit("removed", what, **told)
    console.text(json.dumps(told) + "\n")
    return 0
