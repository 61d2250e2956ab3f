"""Logs as a stream: each committed line once, in order.

A position is the number of a line, so it stays valid when segments fill up, are
compressed, or are removed behind it. A batch of several logs takes lines from all of them.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, ClassVar

from headrace.engines.spark.stream.offset import LogPlace
from headrace.errors import (
    HeadraceWarning,
    LineOutOfRangeError,
    SourceNotFoundError,
    StreamLossError,
    StreamReplacedError,
)
from headrace.physical.fragment import Fragment
from headrace.store.log.read.find_partitions import find_partitions
from headrace.store.log.read.ranges import first_lines, first_of, pieces, stretches
from headrace.store.log.read.reader import LogReader
from headrace.store.log.read.sources import segment_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from headrace.engines.spark.stream.options import Budget, StreamOptions
    from headrace.store.log.read.ranges import Stretch

_TRIES = 100
"""Retries when segments are compressed or removed while a log is read."""


class LogStream:
    """The lines of logs, in and below some directories."""

    kind: ClassVar[str] = "logs"
    place: ClassVar[type[LogPlace]] = LogPlace

    def __init__(self, directories: Sequence[str], options: StreamOptions) -> None:
        self._directories = directories
        self._options = options
        self._logs: dict[str, _Log] = {}

    def _found(self) -> dict[str, _Log]:
        """Return the logs that exist now, by name."""
        for name, directory in find_partitions(self._directories):
            if name not in self._logs:
                self._logs[name] = _Log(directory, skip=self._options.skip_lost)
        return self._logs

    def earliest(self) -> dict[str, LogPlace]:
        """Return the position before the first line, for logs that retention has shortened."""
        found = {name: log.earliest() for name, log in self._found().items()}
        return {name: place for name, place in found.items() if place.line}

    def latest(self) -> dict[str, LogPlace]:
        """Return the last committed line of each log."""
        found = {name: log.latest() for name, log in self._found().items()}
        return {name: place for name, place in found.items() if place is not None}

    def within(
        self,
        start: Mapping[str, LogPlace],
        latest: Mapping[str, LogPlace],
        budget: Budget,
    ) -> dict[str, LogPlace]:
        """Return the end positions of the batch after `start`."""
        logs = self._found()
        ahead = {
            name: logs[name].between(start.get(name), place)
            for name, place in latest.items()
            if start.get(name) != place
        }
        rows = _shares(
            {name: sum(map(_lines, run)) for name, run in ahead.items()},
            budget.max_rows,
        )
        sizes = _shares(
            {name: sum(each.bytes for each in run) for name, run in ahead.items()},
            budget.max_bytes,
        )
        reached = dict(start)
        for name, run in ahead.items():
            line = logs[name].reached(run, sizes[name], rows[name])
            if not run:  # all lines are lost, which `between` has reported
                reached[name] = latest[name]
            elif line is not None:
                reached[name] = latest[name]._replace(line=line)
        return reached

    def fragments(
        self, start: Mapping[str, LogPlace], end: Mapping[str, LogPlace]
    ) -> list[list[Fragment]]:
        """Return the lines between two offsets, separately for each log."""
        logs = self._found()
        most = self._options.read.partition_bytes
        for name in end:
            if name not in logs:
                raise StreamReplacedError(name, "the log no longer exists")
        return [
            logs[name].fragments(start.get(name), place, most)
            for name, place in end.items()
            if start.get(name) != place
        ]


class _Log:
    """One log."""

    def __init__(self, directory: Path, *, skip: bool) -> None:
        # Tasks have other working directories.
        self._directory = directory.absolute()
        self._reader = LogReader(self._directory, most_open=2)
        self._skip = skip

    def earliest(self) -> LogPlace:
        """Return the position before the first line that still exists."""
        return LogPlace(self._reader.first_line - 1, self._salt)

    def latest(self) -> LogPlace | None:
        """Return the last committed line, or None."""
        line = self._reader.last_line
        return LogPlace(line, self._salt) if line else None

    @property
    def _salt(self) -> str:
        return f"{self._reader.manifest.salt:08x}"

    def between(self, start: LogPlace | None, end: LogPlace) -> list[Stretch]:
        """Return the lines between two positions."""
        for _ in range(_TRIES):
            last = self._reader.last_line
            self._refuse_another(start, end, last)
            first = 1 if start is None else start.line + 1
            try:
                found = list(stretches(self._reader, first, end.line))
            except (LineOutOfRangeError, SourceNotFoundError):
                continue  # retention removed lines meanwhile; the next try sees it
            self._account_for(first, end.line, found)
            return found
        raise StreamReplacedError(
            self._reader.path, "it keeps changing while it is read"
        )

    def _refuse_another(self, start: LogPlace | None, end: LogPlace, last: int) -> None:
        places = [end] if start is None else [start, end]
        if any(place.salt != self._salt for place in places):
            raise StreamReplacedError(
                self._reader.path, "it was replaced by another log"
            )
        line = max(place.line for place in places)
        if line > last:
            reason = f"it had line {line}, but now ends with line {last}"
            raise StreamReplacedError(self._reader.path, reason)

    def _account_for(self, first: int, last: int, found: Sequence[Stretch]) -> None:
        """Raise, or warn, if lines are lost."""
        for stretch in found:
            self._gone(first, stretch.first - 1)
            first = stretch.last + 1
        self._gone(first, last)

    def _gone(self, first: int, last: int) -> None:
        if first > last:
            return
        reason = (
            f"lines {first} to {last} were lost before they were read, "
            f"{last - first + 1} lines: retention or a repair removed them"
        )
        error = StreamLossError(self._reader.path, reason)
        if not self._skip:
            raise error
        warnings.warn(error.what, HeadraceWarning, stacklevel=2)

    def reached(
        self, run: Sequence[Stretch], most_bytes: int, most_rows: int
    ) -> int | None:
        """Return the last line within the limits of a batch; None if `most_rows` is 0.

        The first line is always taken, even if it has more than `most_bytes`.
        """
        line = None
        for stretch in run:
            if most_rows <= 0:
                break
            taken = first_of(self._reader, stretch, most_bytes)
            if line is not None and taken.bytes > most_bytes:
                break
            taken = first_lines(self._reader, taken, most_rows)
            line = taken.last
            if line < stretch.last:
                break
            most_bytes, most_rows = most_bytes - taken.bytes, most_rows - _lines(taken)
        return line

    def fragments(
        self, start: LogPlace | None, end: LogPlace, most_bytes: int
    ) -> list[Fragment]:
        """Return the lines between two positions as fragments."""
        for _ in range(_TRIES):
            try:
                found = [
                    fragment
                    for stretch in self.between(start, end)
                    for fragment in self._cut(stretch, most_bytes)
                ]
            except (LineOutOfRangeError, SourceNotFoundError):
                continue  # a segment was compressed or removed in between
            return found
        raise StreamReplacedError(
            self._reader.path, "it keeps changing while it is read"
        )

    def _cut(self, stretch: Stretch, most_bytes: int) -> Iterator[Fragment]:
        path = self._directory / stretch.segment.name
        source = segment_source(path)
        if source is None:
            raise SourceNotFoundError(str(path))
        for piece in pieces(self._reader, stretch, most_bytes):
            yield Fragment(
                source, piece.start, piece.end, piece.first_row, logical=True
            )


def _lines(stretch: Stretch) -> int:
    return stretch.last - stretch.first + 1


def _shares(wanted: Mapping[str, int], most: int | None) -> dict[str, int]:
    """Divide `most` fairly: a small request gets all it wants, large ones share the rest.

    >>> _shares({"a": 100, "b": 2, "c": 100}, 20)
    {'b': 2, 'a': 9, 'c': 9}
    """
    if most is None:
        return dict(wanted)
    shares = {}
    for number, name in enumerate(sorted(wanted, key=lambda each: wanted[each])):
        shares[name] = min(wanted[name], most // (len(wanted) - number))
        most -= shares[name]
    return shares
