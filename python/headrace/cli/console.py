"""Standard output and standard error: the only module that writes to them.

Data goes to standard output, everything else to standard error. A *live* source is one
whose rows arrive while the command runs (standard input, a followed file): each batch of
its rows is flushed, so that the next program of a pipe sees a row when it arrives.

Progress of long work is a bar for people, events for programs. Short work shows none: a bar that
only flashes up has no use.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO, TypeAlias

from headrace.errors import HeadraceError, HeadraceWarning
from headrace.store.files.units import format_size, format_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.store.log.read.replay import Player

    Progress: TypeAlias = Callable[[int, int | None], None]
    Draw: TypeAlias = Callable[[int, int | None, float, int], str]
    Facts: TypeAlias = Callable[[], dict[str, object]]

ERASE_LINE = "\r\x1b[K"
CLOSED = "standard output is closed"


PATIENCE = 0.5
"""Seconds of work before anything is shown."""

BAR_EVERY = 0.1
EVENT_EVERY = 0.5


def bar(done: int, total: int | None, seconds: float, columns: int) -> str:
    """Draw one line of at most `columns` characters.

    >>> bar(1 << 20, 4 << 20, 2.0, 80)
    '[######                  ]  25%  1 MiB of 4 MiB  512 KiB/s  6 s left'
    >>> bar(1 << 20, None, 2.0, 80)
    '1 MiB  512 KiB/s'
    """
    rate = done / seconds if seconds > 0 else 0.0
    speed = f"{format_size(int(rate))}/s"
    if not total:
        return f"{format_size(done)}  {speed}"[:columns]
    share = min(done / total, 1.0)
    left = f"  {(total - done) / rate:.0f} s left" if 0 < done <= total else ""
    text = f"{share:4.0%}  {format_size(done)} of {format_size(total)}  {speed}{left}"
    width = min(24, columns - len(text) - 4)
    blocks = f"[{'#' * int(share * width):{width}}] " if width >= 4 else ""
    return f"{blocks}{text}"[:columns]


class Replaying:
    """Progress of a replay of logs."""

    def __init__(self, player: Player) -> None:
        self._player = player

    def draw(self, done: int, _total: int | None, seconds: float, columns: int) -> str:
        """Draw one line: the time of the last record, records, their rate and delay."""
        reached = self._player.position
        when = "" if reached is None else f"{format_time(reached)}  "
        rate = done / seconds if seconds > 0 else 0.0
        lag = self._player.lag
        late = f"  {lag:.1f} s late" if self._player.schedule.speed else ""
        return f"{when}{done} records  {rate:.0f}/s{late}"[:columns]

    def facts(self) -> dict[str, object]:
        """Return the time of the last record and the delay, for an event."""
        return {
            "time": self._player.position,
            "lag_ms": round(self._player.lag * 1000),
        }


class OutputClosedError(Exception):
    """The reader of standard output has gone, as with ``| head -1``."""


class Console:
    """Standard output and standard error of a command.

    `shows_progress` is None to show progress on a terminal only.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.json = False
        self.quiet = False
        self.shows_progress: bool | None = None
        self.live = False
        self._clock = clock
        self._bar_shown = False
        self._data_begun = False
        # Another thread than that of the work shows progress.
        self._lock = threading.RLock()

    def text(self, text: str) -> None:
        """Write text as data. A path in it keeps the bytes that it has on disk."""
        self.write(os.fsencode(text))

    def write(self, data: bytes) -> None:
        """Write data, and flush it if its source is live."""
        self._hide_bar()
        self._data_begun = True
        with _standard_output():
            # Without a buffer (PYTHONUNBUFFERED), a write may take a part of the data.
            rest = memoryview(data)
            while rest:
                rest = rest[sys.stdout.buffer.write(rest) :]
        if self.live:
            self.flush()

    @property
    def width(self) -> int | None:
        """The columns of the terminal on standard output, None if it is no terminal."""
        if sys.stdout is None or not sys.stdout.isatty():
            return None
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80

    def flush(self) -> None:
        """Flush standard output."""
        with _standard_output():
            sys.stdout.buffer.flush()

    def emit(self, event: str, message: str, **fields: object) -> None:
        """Write an event to standard error, after the data written so far."""
        from headrace.cli.events import KINDS

        if self.quiet and KINDS[event].quiet:
            return
        self.flush()
        self._say(event, message, fields)

    def show_warning(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        """Write a warning of Python's `warnings`; a `HeadraceWarning` is an event."""
        if issubclass(category, HeadraceWarning):
            self.emit("warning", str(message))
        else:
            import warnings

            text = warnings.formatwarning(message, category, filename, lineno, line)
            (file or sys.stderr).write(text)

    def _say(self, event: str, message: str, fields: dict[str, object]) -> None:
        from headrace.cli.events import KINDS

        prefix = KINDS[event].prefix
        if self.json:
            import json

            text = json.dumps({"event": event, "message": message, **fields})
        else:
            from headrace.api.formats.printable import printable

            text = "\n".join(map(printable, message.split("\n")))
            text = f"{prefix}{text}"
        self._hide_bar()
        self._to_stderr(f"{text}\n")

    def fail(self, error: Exception) -> None:
        """Write why the command failed, after the data written so far."""
        try:
            self.flush()
        except OSError:
            # Data that cannot be written may be the very error to report.
            _abandon(sys.stdout)
        message = _SPELLINGS.sub(r"\1", _text_of(error))
        facts = {
            name: fact
            for name, fact in vars(error).items()
            if fact is None or isinstance(fact, str | int | float)
        }
        self._say("error", message, {"error": type(error).__name__, **facts})

    def abandon(self) -> None:
        """Discard output whose reader has gone."""
        _abandon(sys.stdout)
        _abandon(sys.stderr)

    @contextmanager
    def progress(
        self, draw: Draw = bar, unit: str = "bytes", facts: Facts = dict
    ) -> Iterator[Progress]:
        """Show progress of the work inside, if it lasts: events, or a bar that is erased.

        `facts` returns further fields of the event.
        """
        draws = not self.json and _is_terminal(sys.stderr)
        every = BAR_EVERY if draws else EVENT_EVERY
        started = self._clock()
        due = started + PATIENCE
        shows = self.shows_progress
        if shows is None:
            shows = _is_terminal(sys.stderr)

        def report(done: int, total: int | None) -> None:
            nonlocal due
            now = self._clock()
            if self.quiet or not shows or now < due:
                return
            due = now + every
            if not draws:
                fields: dict[str, object] = {"done": done, "total": total, **facts()}
                self._say("progress", f"{done} {unit}", fields)
            elif not (self._data_begun and _is_terminal(sys.stdout)):
                self._show_bar(draw(done, total, now - started, _columns()))

        try:
            yield report
        finally:
            self._hide_bar()

    def _show_bar(self, line: str) -> None:
        with self._lock:
            self._bar_shown = True
            self._to_stderr(f"{ERASE_LINE}{line}")

    def _hide_bar(self) -> None:
        with self._lock:
            if self._bar_shown:
                self._bar_shown = False
                self._to_stderr(ERASE_LINE)

    def _to_stderr(self, text: str) -> None:
        if sys.stderr is None:
            return
        try:
            with self._lock:
                sys.stderr.write(text)
                sys.stderr.flush()
        except BrokenPipeError as error:
            raise OutputClosedError from error


_SPELLINGS = re.compile(r"\w+(?:=(?:'[^']*'|\w+))? \((--[a-z][a-z-]*(?: \w+)?)\)")
"""A Python keyword and its flag, such as ``on_error='skip' (--on-error skip)``."""


def _text_of(error: Exception) -> str:
    if isinstance(error, OSError) and not isinstance(error, HeadraceError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    if isinstance(error, HeadraceError) and error.has_lines:
        return str(error)
    return " ".join(str(error).split("\n"))


def _abandon(stream: TextIO | None) -> None:
    """Make the interpreter's last flush of a stream harmless."""
    if stream is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextmanager
def _standard_output() -> Iterator[None]:
    if sys.stdout is None:
        raise OSError(CLOSED)
    try:
        yield
    except BrokenPipeError as error:
        raise OutputClosedError from error
    except OSError as error:
        error.filename = "standard output"
        raise


def _is_terminal(stream: TextIO | None) -> bool:
    terminal = stream is not None and stream.isatty()
    return terminal and os.environ.get("TERM") != "dumb"


def _columns() -> int:
    # A terminal that does not know its width says 0. The last column stays free:
    # some terminals begin a new line behind it.
    return (os.get_terminal_size(sys.stderr.fileno()).columns or 80) - 1


def counted(number: int, thing: str) -> str:
    """Return a number and a noun.

    >>> counted(1, "row"), counted(12345, "row")
    ('1 row', '12,345 rows')
    """
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


@contextmanager
def ending_cleanly() -> Iterator[None]:
    """On SIGTERM and SIGHUP, unwind as on Ctrl-C, so that no half-written file remains."""

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    ends = [signal.SIGTERM, signal.SIGHUP]
    before = [signal.signal(number, end) for number in ends]
    try:
        yield
    finally:
        for number, handler in zip(ends, before, strict=True):
            signal.signal(number, handler)
