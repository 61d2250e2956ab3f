"""``headrace log seal``: compress full segments."""

from argparse import Namespace

from headrace.cli.argument import LOG
from headrace.cli.console import Console, counted, ending_cleanly
from headrace.cli.flags import flag
from headrace.store.files.units import format_size

ABOUT = """\
Compresses the full segments of a log, one after the other: every line is decoded again and
compared with its checksum before the plain file is removed. Lines keep their numbers, and are
read as before. If the command is interrupted, compressed segments stay, and the next run goes
on. Prints the number of segments and lines, and their bytes before and after. While a writer has
the log open, only the writer can compress (`headrace log append --codec`). Exits with 1 if a
segment could not be compressed."""

EXAMPLES = """\
headrace log seal trades  # all full segments
headrace log seal trades --codec gzip --grace 1d --keep-plain 2
    # segments older than a day, except the last two
"""

ARGUMENTS = (
    LOG,
    flag("--codec", default="zstd", choices=("zstd", "gzip")),
    flag("--level", otherwise="gzip 6, zstd 3"),
    flag("--grace", "counted from the last record of a segment"),
    flag("--keep-plain", default="0"),
    flag("--threads", otherwise="one for each core"),
    flag("--json"),
)


def run(options: Namespace, console: Console) -> int:
    """Compress segments, and print their bytes before and after."""
    from headrace.api.log.log import Log
    from headrace.cli.io.inputs import threads_of
    from headrace.cli.io.report import print_report

    with console.progress() as report, ending_cleanly():
        done = Log(options.directory).seal(
            codec=options.codec,
            level=options.level,
            grace=options.grace,
            keep_plain=options.keep_plain,
            threads=threads_of(options.threads),
            progress=report,
        )
    fields = done.as_fields()
    console.emit(
        "sealed",
        f"{counted(len(done.segments), 'segment')}, {counted(done.lines, 'line')}: "
        f"{format_size(done.bytes_before)} before, {format_size(done.bytes_after)} now",
        **fields,
    )
    print_report(fields, options, console)
    for failure in done.failures:
        console.emit("error", failure, error="LogDamagedError", path=options.directory)
    return 1 if done.failures else 0
