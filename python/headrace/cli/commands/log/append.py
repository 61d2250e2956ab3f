"""``headrace log append``: records from standard input to the end of a log."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from headrace.cli.argument import LOG
from headrace.cli.console import Console, counted, ending_cleanly
from headrace.cli.flags import flag
from headrace.errors import RefusedRecordError, UnwritableError, UsageError

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.api.log.writer import LogWriter
    from headrace.cli.io.rejected import RefusedRecords
    from headrace.cli.io.stdin_lines import WaitingLines

ABOUT = """\
Each line of standard input is a record. DIR is created if it does not exist; a log in it is
recovered if its last writer crashed. Records are committed when no more are waiting, and
at the latest after 1,000 of them or 1 MiB. The first line that is not JSON ends the command with
a failure; the lines before it are in the log. With --on-error skip or collect, such lines are
left out and counted; with --errors FILE they are appended to a file, with the reason.

With --ack, the command prints `ACK n` after each commit: n records of this run are in the log as
--durability promises. They are on disk (data), their index entries too (always), or they are only
written, and on disk within a second (interval) or when the system writes them (os).

With --codec, full segments are compressed while others are written; lines keep their numbers,
and are read as before. At the end of the input, the command waits for the compression."""

EXAMPLES = """\
headrace log append trades --ack < app.jsonl
    # append rows, and print how many are on disk
headrace log append events --time '$.ms' --rotate-bytes 64MiB --ack < app.jsonl
    # with a time from each record, in segments of at most 64 MiB
headrace log append events --codec zstd --retain-age 7d --ack < app.jsonl
    # compress full segments, and remove those older than a week
"""

ARGUMENTS = (
    LOG,
    flag("--ack"),
    flag("--durability", default="data"),
    flag("--time", otherwise="the time of writing"),
    flag("--monotonic", default="strict"),
    flag("--rotate-bytes", default="256MiB"),
    flag("--rotate-rows"),
    flag("--rotate-seconds"),
    flag("--max-record", default="64MiB"),
    flag("--metrics"),
    flag("--codec", "full segments, in the background", default="none"),
    flag("--level", otherwise="gzip 6, zstd 3"),
    flag("--retain-bytes"),
    flag("--retain-age"),
    flag("--tail", default="auto"),
    flag("--on-error", "rows are lines that are not JSON here", otherwise="abort"),
    flag("--errors", "appended to it; implies --on-error collect"),
)


def run(options: Namespace, console: Console) -> int:
    """Append until the input ends."""
    from headrace.api.log.writer import LogWriter
    from headrace.cli.io.stdin_lines import WaitingLines

    compresses = options.codec != "none"
    if options.level is not None and not compresses:
        raise UsageError("--level is for compression; give --codec zstd or gzip")
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
            codec=options.codec if compresses else None,
            level=options.level,
            retain_bytes=options.retain_bytes,
            retain_age=options.retain_age,
        )
        for action in writer.recovered.actions:
            if action.action != "created":
                console.emit("recovered", str(action), **action.as_fields())
        with writer, _metrics(writer, options, console):
            _append(writer, lines, options, console)
            writer.wait_for_upkeep()
            for failure in writer.upkeep_failures:
                console.emit("warning", failure)
    return 0


def _metrics(
    writer: LogWriter, options: Namespace, console: Console
) -> AbstractContextManager[None]:
    """Keep the metrics in the file of --metrics, if there is one."""
    if options.metrics is None:
        return nullcontext()
    from headrace.cli.io.metrics_file import telling

    return telling(writer, options.directory, options.metrics, console)


def _append(
    writer: LogWriter, lines: WaitingLines, options: Namespace, console: Console
) -> None:
    from headrace.cli.io.rejected import refused_records

    before = writer.last_line
    console.live = True
    refused = refused_records(options, console)
    given = 0

    def acknowledge(done: int) -> None:
        if options.ack and writer.last_line - before >= done:
            console.text(f"ACK {writer.last_line - before}\n")

    ended = "ended early: "
    try:
        while data := lines.take():
            done = writer.last_line - before
            try:
                given = _append_some(writer, data, given, refused)
            except (RefusedRecordError, UnwritableError) as error:
                acknowledge(done + 1)
                raise _told(error, writer.last_line - before) from None
            acknowledge(done)
            if refused is not None:
                lines.pass_over_rest()
        ended = ""
    except (KeyboardInterrupt, SystemExit):
        _conclude(writer, before, refused, ended, console)
        raise
    _conclude(writer, before, refused, ended, console)


def _append_some(
    writer: LogWriter, data: bytes, given: int, refused: RefusedRecords | None
) -> int:
    """Append some lines of the input, of which `given` came before; return how many came now."""
    while data:
        try:
            writer.append_lines(data)
        except RefusedRecordError as error:
            number = given + error.record
            if refused is None:
                raise RefusedRecordError(
                    error.path, number, error.offset, error.reason
                ) from None
            *before, rest = data.split(b"\n", error.record)
            bad = before[-1] if len(before) == error.record else rest
            refused.note(number, error, bad)
            given, data = number, b"" if bad is rest else rest
        else:
            return given + data.count(b"\n") + (not data.endswith(b"\n"))
    return given


def _told(
    error: RefusedRecordError | UnwritableError, records: int
) -> RefusedRecordError | UnwritableError:
    """Add to a failure how many records of the input are in the log."""
    if isinstance(error, RefusedRecordError):
        return error
    are = "is" if records == 1 else "are"
    left = f"{counted(records, 'record')} of the input {are} in the log"
    return UnwritableError(error.path, error.reason, left)


def _conclude(
    writer: LogWriter,
    before: int,
    refused: RefusedRecords | None,
    ended: str,
    console: Console,
) -> None:
    appended = writer.last_line - before
    parts = [
        f"{ended}{counted(appended, 'record')}",
        f"the last is line {writer.last_line}",
    ]
    if writer.fallbacks:
        own = "its own" if writer.fallbacks == 1 else "their own"
        parts.append(f"{counted(writer.fallbacks, 'record')} without a time of {own}")
    left_out = 0 if refused is None else refused.count
    if left_out:
        parts.append(f"{counted(left_out, 'bad record')} left out")
    if refused is not None:
        refused.close()
    console.emit(
        "appended",
        ", ".join(parts),
        records=appended,
        last_line=writer.last_line,
        fallbacks=writer.fallbacks,
        refused=left_out,
    )
