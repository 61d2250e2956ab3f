"""The consumers of a log, as whoever looks after it sees them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from headrace.errors import UsageError
from headrace.store.log.consumers import Checkpoints
from headrace.store.log.names import LogNames
from headrace.store.log.reader import LogReader

if TYPE_CHECKING:
    import os


@dataclass(frozen=True, slots=True)
class ConsumerState:
    """How far a consumer is: `line` is the last it is done with, 0 for none.

    It is `lag_lines` behind, of which `gone_lines` are no longer there, and `lag_ms` from
    the time of that line to that of the last. `updated` is when its checkpoint was written.
    """

    consumer: str
    line: int
    lag_lines: int
    lag_ms: int
    gone_lines: int
    updated: int

    def told(self) -> dict[str, object]:
        """Return it as JSON has it."""
        return asdict(self)


def consumer_states(directory: str | os.PathLike[str]) -> list[ConsumerState]:
    """Return how far each consumer of a log is."""
    reader = LogReader(directory)
    checkpoints = _checkpoints(reader)
    found = [checkpoints.load(name) for name in checkpoints.consumers()]
    last, first = reader.last_line, reader.first_line
    return [
        ConsumerState(
            each.consumer,
            each.line,
            max(last - each.line, 0),
            _lag(reader, max(each.line, first), last),
            max(first - 1 - each.line, 0),
            each.updated,
        )
        for each in found
        if each is not None
    ]


def _lag(reader: LogReader, line: int, last: int) -> int:
    return (
        max(reader.entry(last).time - reader.entry(line).time, 0) if line < last else 0
    )


def set_consumer(directory: str | os.PathLike[str], name: str, line: int) -> None:
    """Have a consumer be done with all lines up to one, 0 for none; it may be a new one."""
    reader = LogReader(directory)
    if line > reader.last_line:
        raise UsageError(
            f"{reader.path}: no line {line}; the last is line {reader.last_line}"
        )
    checkpoints = _checkpoints(reader)
    lock = checkpoints.lock(name)
    try:
        checkpoints.save(name, line)
    finally:
        lock.release()


def remove_consumer(directory: str | os.PathLike[str], name: str) -> None:
    """Forget a consumer."""
    reader = LogReader(directory)
    checkpoints = _checkpoints(reader)
    if name not in checkpoints.consumers():
        raise UsageError(f"{reader.path}: there is no consumer {name!r}")
    lock = checkpoints.lock(name)
    try:
        checkpoints.remove(name)
    finally:
        lock.release()


def _checkpoints(reader: LogReader) -> Checkpoints:
    return Checkpoints(LogNames(reader.path), reader.manifest.salt)
