"""``headrace log append``: records from standard input to the end of a log."""

from __future__ import annotations

import os
import select
import sys
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
            except RefusedRecordError:
                acknowledge(done + 1)
                raise
            except UnwritableError as error:
                acknowledge(done + 1)
                records = writer.last_line - before
                are = "is" if records == 1 else "are"
                left = f"{counted(records, 'record')} of the input {are} in the log"
                raise UnwritableError(error.path, error.reason, left) from None
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


MOST_LINES = 1000
MOST_BYTES = 1 << 20

_READ = 1 << 18


class WaitingLines:
    """Takes what is there, and waits only while there is no whole line."""

    def __init__(self, max_line: int) -> None:
        if sys.stdin is None:
            raise UsageError("standard input is closed; give it records")
        self._input = sys.stdin.fileno()
        self._max_line = max_line
        self._held = bytearray()
        self._newlines = 0
        self._ended = False
        self._cut = False

    def pass_over_rest(self) -> None:
        """Go on behind a line of which only the beginning was taken, as it is too long."""
        if not self._cut:
            return
        self._ended = self._cut = False
        while not self._ended and self._newlines == 0:
            self._held.clear()
            self._read()
            if self._cut:  # what is left of it is too long as well
                self._ended = self._cut = False
        behind = self._held.find(b"\n") + 1
        self._newlines -= min(behind, 1)
        del self._held[: behind or len(self._held)]

    def take(self) -> bytes:
        """Return some whole lines, none at the end. A last one may have no newline."""
        while not self._ended and (self._newlines == 0 or self._more_wait()):
            self._read()
        end = self._end()
        data = bytes(self._held[:end])
        del self._held[:end]
        self._newlines -= data.count(b"\n")
        return data

    def _more_wait(self) -> bool:
        if self._newlines >= MOST_LINES or len(self._held) >= MOST_BYTES:
            return False
        return bool(select.select([self._input], [], [], 0)[0])

    def _read(self) -> None:
        try:
            data = os.read(self._input, _READ)
        except BlockingIOError:
            select.select([self._input], [], [])
            return
        self._ended = not data
        self._newlines += data.count(b"\n")
        self._held += data
        if self._newlines == 0 and len(self._held) > self._max_line:
            # It is refused as it is; there is no need to hold more of it.
            self._ended = self._cut = True

    def _end(self) -> int:
        """Return the end of the lines that the next batch takes."""
        if self._newlines == 0:
            return len(self._held)
        end = self._held.rfind(b"\n", 0, MOST_BYTES) + 1
        end = end or self._held.find(b"\n") + 1
        if self._held.count(b"\n", 0, end) > MOST_LINES:
            end -= len(self._held[:end].split(b"\n", MOST_LINES)[-1])
        return end
