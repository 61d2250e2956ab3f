"""Compression of one full segment, beside a writer and without one.

The compressed file is a file of blocks like any other shard. It replaces the plain file
only when it is durable and was read back: every line is compared with the checksum in its
entry, and all of them with the digest of the plain file. The manifest decides which file is
the segment; the plain file is removed after that, and a crash in between leaves a file that
the next recovery removes. The index does not change.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from headrace.errors import DamagedLineError, LogDamagedError, UsageError
from headrace.kernel.checksum import digest
from headrace.kernel.log import LogClock, verify
from headrace.kernel.rows import File, reading
from headrace.kernel.values import MAX_DEPTH
from headrace.store.files import system
from headrace.store.files.atomic import temporary_name
from headrace.store.log import files
from headrace.store.log.entries import Header
from headrace.store.log.manifest import Manifest, Packed, Sealed
from headrace.store.log.names import CODECS, LogNames
from headrace.store.shards.metadata import Limits
from headrace.store.shards.options import PackOptions, pack_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from headrace.kernel.blocks import Shard
    from headrace.store.log.write.appender import SegmentAppender
    from headrace.store.log.write.upkeep import OfflineLog

_PIECE = 4 << 20


def packing_options(codec: str, level: int | None, threads: int = 1) -> PackOptions:
    """Return the options of compression; raise if they are invalid."""
    if codec not in CODECS:
        raise UsageError(f"codec {codec!r}: segments become {' or '.join(CODECS)}")
    return pack_options(
        codec,
        level=level,
        options=None,
        block_bytes="256KiB",
        limits=Limits(),
        validate=False,  # the writer of the lines has validated them
        max_depth=MAX_DEPTH,
        threads=threads,
    )


def plain_segments(
    manifest: Manifest, *, before: int | None = None, keep_plain: int = 0
) -> list[Sealed]:
    """List the full segments to compress, the oldest first.

    With `before`, only those whose lines are all older; never the last `keep_plain` ones.
    """
    full = manifest.segments[: len(manifest.segments) - keep_plain]
    return [
        segment
        for segment in full
        if segment.packed is None
        and segment.rows
        and (before is None or (segment.times.latest or 0) < before)
    ]


FullSegments: TypeAlias = "SegmentAppender | OfflineLog"
"""The owner of the manifest of a log: its writer, or a command that holds the lock."""


@dataclass(slots=True)
class Compressed:
    """Segments that were compressed, and the reasons why others could not be."""

    segments: list[Sealed] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def lines(self) -> int:
        """The number of their lines."""
        return sum(segment.rows for segment in self.segments)

    @property
    def bytes_before(self) -> int:
        """The bytes of their lines."""
        return sum(segment.bytes for segment in self.segments)

    @property
    def bytes_after(self) -> int:
        """The bytes of their files now."""
        return sum(segment.bytes_on_disk for segment in self.segments)

    def as_fields(self) -> dict[str, object]:
        """Return the numbers as plain data."""
        return {
            "segments": len(self.segments),
            "lines": self.lines,
            "bytes_before": self.bytes_before,
            "bytes_after": self.bytes_after,
        }


def compress(
    log: FullSegments,
    segment: Sealed,
    options: PackOptions,
    progress: Callable[[int], object],
) -> Sealed | None:
    """Replace the plain file of a segment by a compressed one; None if it was removed.

    `progress` is called with the number of bytes done, and may raise to cancel.
    """
    names, codec = log.names, options.compression.codec
    path = names.packed(segment.base, codec)
    temporary = temporary_name(path)
    try:
        with system.closing(system.calls.create(temporary)) as descriptor:
            plain = names.data(segment.base)
            shard = _write(descriptor, plain, segment, options, progress)
            system.calls.sync_data(descriptor)
        packed = Packed(codec, shard.bytes, shard.digest)
        _refuse_other_lines(names, log.manifest.salt, segment, temporary, packed)
        made = replace(segment, packed=packed)
        with log.changing():
            if segment not in log.manifest.segments:
                return None
            system.calls.rename(temporary, path)
            system.calls.sync_directory(names.directory)
            manifest = log.manifest.with_packed(made)
            log.put(manifest, "a segment could not be compressed")
    finally:
        # Under its final name the file stays: the manifest may name it.
        if temporary.exists():
            with suppress(OSError):
                system.calls.unlink(temporary)
    system.calls.unlink(names.data(segment.base))
    return made


def _write(
    descriptor: int,
    plain: Path,
    segment: Sealed,
    options: PackOptions,
    progress: Callable[[int], object],
) -> Shard:
    packer, end = options.packer(), 0
    with reading(str(plain)):
        file = files.open_file(plain)
    for lines in _whole_lines(str(plain), file, segment.bytes):
        pieces, refusal = packer.add(lines)
        if refusal is not None:
            # A line is longer than a block can be.
            raise UsageError(f"{plain}: {refusal.reason}; it stays as it is")
        for data, _shard in pieces:
            files.write_at(descriptor, data, end)
            end += len(data)
        progress(packer.logical_bytes)
    pieces = packer.finish()
    for data, _shard in pieces:
        files.write_at(descriptor, data, end)
        end += len(data)
    shard = pieces[-1][1]
    assert shard is not None  # a segment has lines, and the shard has no limits
    return shard


def _whole_lines(path: str, file: File, size: int) -> Iterator[bytes]:
    offset, length = 0, _PIECE
    while offset < size:
        with reading(path):
            data = file.read_at(offset, min(length, size - offset))
        end = data.rfind(b"\n") + 1
        if end == 0 and len(data) == length:
            length *= 2
            continue
        if end == 0:
            raise LogDamagedError(path, offset, "the last line has no newline")
        yield data[:end]
        offset, length = offset + end, _PIECE


def _refuse_other_lines(
    names: LogNames,
    salt: int,
    segment: Sealed,
    written: Path,
    packed: Packed,
) -> None:
    """Raise unless a compressed file decodes to exactly the lines of its segment."""
    plain, index_path = names.data(segment.base), names.index(segment.base)
    with reading(str(index_path)):
        index = files.open_file(index_path)
    decoded = files.open_packed(written, packed.codec)
    with files.reading_lines(str(written)):
        size = decoded.stat()[0]
        same = digest(decoded, size) == digest(files.open_file(plain), size)
        stored = files.open_file(written)
        same = same and digest(stored, packed.bytes) == packed.digest
        header = Header(segment.file_number, segment.base, salt)
        place, fault = verify(
            index, decoded, size, header.place, segment.rows, LogClock(0)
        )
    if fault is not None:
        reason = f"line {place.last_line + 1}: {fault.reason}"
        raise DamagedLineError(str(plain), place.end, reason)
    if not same or size != segment.bytes or place.end != size:
        reason = "what it was compressed to does not decode to it"
        raise LogDamagedError(str(plain), 0, reason)
