"""``headrace log append``: records from standard input to the end of a log."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from headrace.cli.arguments import Argument
from headrace.cli.log_options import LOG, TAIL
from headrace.cli.options import OUTPUT_OPTIONS
from headrace.cli.table import Example
from headrace.cli.write_options import LEVEL

if TYPE_CHECKING:
    from argparse import Namespace
    from contextlib import AbstractContextManager

    from headrace.api.log import LogWriter
    from headrace.cli.output import Console
    from headrace.cli.waiting_lines import WaitingLines

ABOUT = """\
Each line of standard input is a record. DIR is made if it is not there; a log in it is
recovered if its last writer crashed. Records are committed when no more are waiting, and
at the latest after 1,000 of them or 1 MiB. The first line that is no JSON ends it with a
failure; those before it are in the log.

With --ack, `ACK n` on standard output says after each commit that the first n records are
in the log as --durability promises: on disk (data), their index as well (always), or only
written, and on disk within a second (interval) or when the system sees fit (os).

With --compress, files that are full are compressed while others are written; lines keep
their numbers, and are read as before. At the end of the input, that is waited for."""

EXAMPLES = (
    Example(
        "headrace log append trades --ack < app.jsonl",
        "append rows, and say how many are on disk",
    ),
    Example(
        "headrace log append events --time '$.ms' --rotate-bytes 64MiB --ack < app.jsonl",
        "with a time from each record, in files of at most 64 MiB",
    ),
    Example(
        "headrace log append events --compress zstd --retain-age 7d --ack < app.jsonl",
        "compress full files, and remove those older than a week",
    ),
)

ARGUMENTS = (
    LOG,
    Argument("ack", "switch", "print ACK n when n records are in the log", ("--ack",)),
    Argument(
        "durability",
        "choice",
        "what is promised of a record that is in the log (data unless told)",
        ("--durability",),
        choices=("always", "data", "interval", "os"),
        default="data",
    ),
    Argument(
        "time",
        "text",
        "an expression for the time of a record in milliseconds, such as $.E; the time of "
        "writing without it",
        ("--time",),
        metavar="EXPR",
    ),
    Argument(
        "monotonic",
        "text",
        "how such times are ordered, or not believed: strict (unless told), off, or by how "
        "many milliseconds they may go back",
        ("--monotonic",),
        metavar="strict|off|N",
        default="strict",
    ),
    Argument(
        "rotate_bytes",
        "size",
        "how large a file may be (256MiB unless told)",
        ("--rotate-bytes",),
        metavar="SIZE",
        default=256 << 20,
    ),
    Argument(
        "rotate_rows",
        "number",
        "how many records may be in a file",
        ("--rotate-rows",),
        metavar="N",
    ),
    Argument(
        "rotate_seconds",
        "seconds",
        "how long a file is written to",
        ("--rotate-seconds",),
        metavar="S",
    ),
    Argument(
        "max_record",
        "size",
        "refuse records longer than this (64MiB unless told)",
        ("--max-record",),
        metavar="SIZE",
        default=64 << 20,
    ),
    Argument(
        "metrics",
        "file",
        "keep counters and latencies in this file, for Prometheus; replaced every 5 seconds",
        ("--metrics",),
        metavar="FILE",
    ),
    Argument(
        "compress",
        "choice",
        "compress full files, in the background",
        ("--compress",),
        choices=("zstd", "gzip"),
    ),
    LEVEL,
    Argument(
        "retain_bytes",
        "size",
        "remove the oldest full files when the log has more bytes, with its indexes",
        ("--retain-bytes",),
        metavar="SIZE",
    ),
    Argument(
        "retain_age",
        "duration",
        "remove full files whose last record is older, such as 7d",
        ("--retain-age",),
        metavar="AGE",
    ),
    TAIL,
    *OUTPUT_OPTIONS,
)


def run(options: Namespace, console: Console) -> int:
    """Append until there is no more."""
    from headrace.api.log import LogWriter
    from headrace.cli.ending import ending_cleanly
    from headrace.cli.log_options import age_of
    from headrace.cli.waiting_lines import WaitingLines

    lines = WaitingLines(options.max_record)
    monotonic = options.monotonic
    with ending_cleanly():
        writer = LogWriter(
            options.directory,
            durability=options.durability,
            rotate_bytes=options.rotate_bytes,
            rotate_rows=options.rotate_rows,
            rotate_seconds=options.rotate_seconds,
            time=options.time,
            monotonic=int(monotonic) if monotonic.isdecimal() else monotonic,
            tail=options.tail,
            max_record=options.max_record,
            compress=options.compress,
            compress_level=options.level,
            retain_bytes=options.retain_bytes,
            retain_age=age_of(options.retain_age),
        )
        for action in writer.recovered.actions:
            if action.action != "created":
                console.emit("recovered", str(action), **action.told())
        with writer, _metrics(writer, options, console):
            _append(writer, lines, options, console)
            writer.wait_for_upkeep()
            for failure in writer.upkeep_failures:
                console.emit("warning", failure)
    return 0


def _metrics(
    writer: LogWriter, options: Namespace, console: Console
) -> AbstractContextManager[None]:
    """Keep the metrics in a file, if that was asked for."""
    if options.metrics is None:
        return nullcontext()
    from headrace.cli.metrics_file import telling

    return telling(writer, options.directory, options.metrics, console)


def _append(
    writer: LogWriter, lines: WaitingLines, options: Namespace, console: Console
) -> None:
    from headrace.cli.wording import counted
    from headrace.errors import RefusedRecordError, UnwritableError

    before = writer.last_line
    console.live = True

    def acknowledge() -> None:
        if options.ack:
            console.text(f"ACK {writer.last_line - before}\n")

    while data := lines.take():
        done = writer.last_line - before
        try:
            writer.append_lines(data)
        except RefusedRecordError as error:
            if writer.last_line - before > done:
                acknowledge()
            number = done + error.record
            raise RefusedRecordError(
                error.path, number, error.offset, error.reason
            ) from None
        except UnwritableError:
            if writer.last_line - before > done:
                acknowledge()
            raise
        acknowledge()
    appended = writer.last_line - before
    without = counted(writer.fallbacks, "record")
    late = f", {without} without a time of their own" if writer.fallbacks else ""
    console.emit(
        "appended",
        f"{counted(appended, 'record')}, the last is line {writer.last_line}{late}",
        records=appended,
        last_line=writer.last_line,
        fallbacks=writer.fallbacks,
    )
