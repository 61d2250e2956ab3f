"""``headrace log retain``: remove old segments."""

from argparse import Namespace

from headrace.cli.argument import LOG
from headrace.cli.console import Console, counted
from headrace.cli.flags import flag
from headrace.store.files.units import format_size

ABOUT = """\
Removes the oldest segments of a log, until it is within all limits: whole segments, and never
the last one. All other lines keep their numbers, and no number is used again. Prints the lines
that were removed, their bytes and their times. While a writer has the log open, only the writer
can remove segments (`headrace log append --retain-age --retain-bytes`); --dry-run works
nevertheless."""

EXAMPLES = """\
headrace log retain trades --retain-age 7d  # keep a week
headrace log retain trades --retain-bytes 10GiB --dry-run
    # lines that would be removed to keep 10 GiB
"""

ARGUMENTS = (
    LOG,
    flag("--retain-age"),
    flag("--retain-bytes"),
    flag("--before-line"),
    flag("--dry-run"),
    flag("--json"),
)


def run(options: Namespace, console: Console) -> int:
    """Remove segments, and print their lines and bytes."""
    from headrace.api.log.log import Log
    from headrace.cli.io.report import print_report

    removed = Log(options.directory).retain(
        retain_age=options.retain_age,
        retain_bytes=options.retain_bytes,
        before_line=options.before_line,
        dry_run=options.dry_run,
    )
    fields = {**removed.as_fields(), "dry_run": options.dry_run}
    would = "would be removed" if options.dry_run else "removed"
    what = (
        f"{counted(removed.lines, 'line')} ({fields['first_line']} to {fields['last_line']}), "
        f"{format_size(removed.bytes)}, {would}"
        if removed.segments
        else f"nothing {would}"
    )
    console.emit("removed", what, **fields)
    print_report(fields, options, console)
    return 0
