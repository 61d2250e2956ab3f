"""``headrace log seal``: full segments, compressed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.options.common import OUTPUT_OPTIONS
from headrace.cli.options.log import LOG
from headrace.cli.options.write import LEVEL, THREADS
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console

ABOUT = """\
Compresses the segments of a log that are full, one after the other: every line is decoded
again and compared with its checksum before the plain file is removed. Lines keep their
numbers, and any line is read as before. If it is ended, what was compressed stays, and the
next time goes on. Prints one JSON object: how many segments and lines, and their bytes before
and after. A log that is being written is left to its writer, which can do the same
(`headrace log append --compress`). Exits with 1 if a segment could not be compressed."""

EXAMPLES = (
    Example("headrace log seal trades", "all segments that are full"),
    Example(
        "headrace log seal trades --codec gzip --older-than 1d --keep-plain 2",
        "those of before today, but for the last two",
    ),
)

ARGUMENTS = (
    LOG,
    Argument(
        "codec",
        "choice",
        "how they are compressed [default: zstd]",
        ("--codec",),
        choices=("zstd", "gzip"),
        default="zstd",
    ),
    LEVEL,
    Argument(
        "older_than",
        "duration",
        "only segments whose last record is older, such as 7d",
        ("--older-than",),
        metavar="AGE",
    ),
    Argument(
        "keep_plain",
        "number",
        "leave so many of the last full segments as they are [default: 0]",
        ("--keep-plain",),
        metavar="N",
        default=0,
    ),
    THREADS,
    *OUTPUT_OPTIONS,
)


def run(options: Namespace, console: Console) -> int:
    """Compress, and print what was."""
    import json

    from headrace.api.log.log import Log
    from headrace.cli.console import counted, ending_cleanly
    from headrace.cli.options.log import age_of
    from headrace.cli.options.write import threads_of
    from headrace.store.files.units import format_size

    with console.progress() as report, ending_cleanly():
        done = Log(options.directory).seal(
            codec=options.codec,
            level=options.level,
            grace=age_of(options.older_than),
            keep_plain=options.keep_plain,
            threads=threads_of(options.threads),
            progress=report,
        )
    told = done.as_fields()
    console.emit(
        "sealed",
        f"{counted(len(done.segments), 'segment')}, {counted(done.lines, 'line')}: "
        f"{format_size(done.bytes_before)} before, {format_size(done.bytes_after)} now",
        **told,
    )
    console.text(json.dumps(told) + "\n")
    for failure in done.failures:
        console.emit("error", failure, error="LogDamagedError", path=options.directory)
    return 1 if done.failures else 0
