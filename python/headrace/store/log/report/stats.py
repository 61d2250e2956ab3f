"""Statistics of a log: size and state, without reading its lines."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.errors import (
    CheckpointDamagedError,
    LogReplacedError,
)
from headrace.kernel.log import Place, verify
from headrace.kernel.rows import reading
from headrace.kernel.values import InvalidJsonError, parse
from headrace.store.log import files
from headrace.store.log import manifest as manifests
from headrace.store.log.entries import committed_now
from headrace.store.log.lock import is_locked
from headrace.store.log.manifest import Active, Manifest, Times
from headrace.store.log.names import LogNames
from headrace.store.log.read.consumers import Checkpoints

if TYPE_CHECKING:
    import os
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class ConsumerLag:
    """Lag of a consumer: its last finished line, and the number of lines after it.

    None if its checkpoint is damaged, or belongs to another log.
    """

    consumer: str
    line: int | None
    lag_lines: int | None


@dataclass(frozen=True, slots=True)
class LogStats:
    """Statistics of a log. Times are milliseconds since 1970.

    `lines` can be read, `given_up` lines were lost. `data_bytes` are those of lines,
    `disk_bytes` those of their files. `uncommitted_bytes` come after the last line that has
    an entry: a writer is writing them, or a crash left them. The `salt` distinguishes the
    log from others. `recovery` is the report of the last recovery that changed something.
    """

    directory: str
    first_line: int
    last_line: int
    lines: int
    given_up: int
    segments: int
    data_bytes: int
    disk_bytes: int
    index_bytes: int
    uncommitted_bytes: int
    first_time: int | None
    last_time: int | None
    quarantine_files: int
    quarantine_bytes: int
    changed: float
    durability: str
    time: str | None
    epoch: int
    writing: bool
    salt: str
    recovery: dict[str, object] | None
    consumers: tuple[ConsumerLag, ...]


def log_stats(directory: str | os.PathLike[str]) -> LogStats:
    """Return the statistics of a log, also while it is written."""
    names = LogNames(directory)
    names.refuse_unless_log()
    manifest = manifests.existing(names)
    active, place = _reached(names, manifest)
    data = [names.file_of(each) for each in manifest.all_segments]
    indexes = [names.index(each.base) for each in manifest.all_segments]
    aside = list(names.quarantine.iterdir()) if names.quarantine.is_dir() else []
    times = Times.known([*(each.times for each in manifest.segments), active.times])
    sealed = manifest.segments
    with reading(str(data[-1])):
        last = data[-1].stat()
    return LogStats(
        directory=names.text,
        first_line=manifest.all_segments[0].base + 1,
        last_line=place.last_line,
        lines=sum(each.rows for each in sealed) + place.rows,
        given_up=sum(each.last_line - each.base - each.rows for each in sealed),
        segments=len(data),
        data_bytes=sum(each.bytes for each in sealed) + place.end,
        disk_bytes=_bytes(data),
        index_bytes=_bytes(indexes),
        uncommitted_bytes=max(last.st_size - place.end, 0),
        first_time=times.earliest,
        last_time=times.latest,
        quarantine_files=len(aside),
        quarantine_bytes=_bytes(aside),
        changed=last.st_mtime,
        durability=manifest.durability,
        time=manifest.timing.expression,
        epoch=manifest.epoch,
        writing=is_locked(names),
        salt=f"{manifest.salt:08x}",
        recovery=_recovery(names),
        consumers=_consumers(Checkpoints(names, manifest.salt), place.last_line),
    )


def _reached(names: LogNames, manifest: Manifest) -> tuple[Active, Place]:
    """Return the last segment with all its committed lines."""
    active, mark = manifest.active, manifest.mark
    clock = active.clock(manifest.timing.late)
    place = committed_now(names, mark)
    path = names.index(active.base)
    with reading(str(path)):
        verify(
            files.open_file(path), None, place.end, mark, place.rows, clock
        )  # for the times
    return active.reached(place, clock), place


def _bytes(paths: list[Path]) -> int:
    total = 0
    for path in paths:
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue  # it was lost, or was removed just now
    return total


def _consumers(checkpoints: Checkpoints, last: int) -> tuple[ConsumerLag, ...]:
    found = []
    for name in checkpoints.consumers():
        line = None
        with suppress(CheckpointDamagedError, LogReplacedError):
            checkpoint = checkpoints.load(name)
            if checkpoint is None:
                continue  # it was removed just now
            line = checkpoint.line
        found.append(
            ConsumerLag(name, line, None if line is None else max(last - line, 0))
        )
    return tuple(found)


def _recovery(names: LogNames) -> dict[str, object] | None:
    try:
        fields = parse(files.read_content(names.report))
    except (FileNotFoundError, InvalidJsonError):
        return None
    return fields if isinstance(fields, dict) else None
