"""Checkpoint sidecars: the kept row index of a file, and whether it fits.

A sidecar is derived and may vanish at any time. It is used only if size, times and both ends of
the data are unchanged since it was written; if the same file has only grown, it is extended;
otherwise the file is scanned again. A block table, written with the data, fits wherever it was
copied with it: size and ends must be equal, it must not be older than the data, and each block has
a checksum. A file that headrace did not write is never touched. Format:
docs/formats/checkpoints.md.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.kernel.rows import BlockTable, File, RowIndex, SidecarSource, reading
from headrace.record import record
from headrace.store.files.atomic import write_atomically
from headrace.store.files.directories import make_directories
from headrace.store.files.sidecars import sidecar_places
from headrace.store.shards.names import is_part_of_set

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from headrace.store.files.opened import Keeping, OpenedFile
    from headrace.store.files.source import Source

SUFFIX = ".ckpt"
SMALLEST_KEPT = 8 << 20
"""Smaller files are scanned again: that is as fast as looking for a sidecar."""

_OURS = b'"magic":"NDCK"'


@record
class Found:
    """A sidecar's index, whether it covers all of the file, and the file to read from."""

    index: RowIndex
    whole: bool
    file: File


def load(source: Source, opened: OpenedFile, keeping: Keeping) -> Found | None:
    """Return the kept row index of a file, if it fits."""
    for path in _places_to_look(source, keeping):
        with suppress(HeadraceError), reading(str(path)):
            if found := _fitting(path, source, opened):
                return found
    return None


def load_blocks(
    source: Source, opened: OpenedFile, keeping: Keeping
) -> BlockTable | None:
    """Return the kept block table of a file, if it fits."""
    places: Iterable[Path | str] = _places_to_look(source, keeping)
    if keeping.enabled and source.kind == "remote":
        places = [source.location + SUFFIX]
    for place in places:
        with suppress(HeadraceError), reading(str(place)):
            if isinstance(place, str):
                loaded = _fetched(place)
            elif _is_older(place, source):
                continue
            else:
                loaded = RowIndex.load(place)
            if table := _fitting_blocks(*loaded, source):
                # It must cover all of the file, or the next place is better.
                table.decoded(opened.file, source.size)
                return table
    return None


def _is_older(path: Path, source: Source) -> bool:
    """Whether a table may belong to an older file of the same name.

    Only gzip members contain the number of rows before them. A part of a set is written once, so
    copies may have any times.
    """
    if source.codec == "gzip" or is_part(source):
        return False
    return path.stat().st_mtime_ns < source.mtime_ns


def is_part(source: Source) -> bool:
    """Whether a file is a part of a set, by its name: a part never changes."""
    return is_part_of_set(source.path)


def _fetched(url: str) -> tuple[RowIndex, SidecarSource]:
    from headrace.store.files import remote

    file = remote.open_file(url)
    size, _mtime_ns, _ctime_ns = file.stat()
    return RowIndex.from_bytes(file.read_at(0, size))


def save(
    source: Source, opened: OpenedFile, index: RowIndex, keeping: Keeping
) -> Path | None:
    """Keep a finished index; None if it should not or cannot be kept."""
    if not worth_keeping(source, keeping):
        return None
    _size, mtime_ns, ctime_ns = opened.stat()
    if mtime_ns != source.mtime_ns:
        # The file has grown meanwhile. An impossible time makes the next reader check the content.
        ctime_ns = 0
    stat = (source.size, source.mtime_ns, ctime_ns)
    with reading(source.location):
        content = index.encode(opened.file, stat, source.codec)
    for path in sidecar_places(source.path, SUFFIX, keeping.directory):
        if source.codec != "none" and _has_fitting_blocks(path, source):
            # The writer of the file wrote this sidecar, and it has more in it.
            return None
        if is_foreign(path):
            continue
        with suppress(OSError):
            make_directories(path.parent, [])
            write_atomically(path, [content])
            return path
    return None


def worth_keeping(source: Source, keeping: Keeping) -> bool:
    """Whether the index of a file is kept."""
    if source.kind != "file" or source.segment is not None:
        return False  # a log has its own indexes, and only its writer writes there
    return keeping.enabled and source.size > SMALLEST_KEPT


def _places_to_look(source: Source, keeping: Keeping) -> Iterator[Path]:
    """List the paths of a sidecar; for a small file, only where writers put it."""
    if not keeping.enabled or source.kind != "file":
        return
    places = sidecar_places(source.path, SUFFIX, keeping.directory)
    yield next(places)
    if source.size > SMALLEST_KEPT:
        yield from places


def _fitting(path: Path, source: Source, opened: OpenedFile) -> Found | None:
    index, made = RowIndex.load(path)
    size, ends = made.size, (made.head_hash, made.tail_hash)
    if made.codec != source.codec or size > source.size:
        return None
    if index.blocks is not None:
        # A compressed file without blocks is read in order.
        table = _fitting_blocks(index, made, source) if made.codec == "none" else None
        if table is None or _is_older(path, source):
            return None
        file_of_blocks = table.decoded(opened.file, size, strict=is_part(source))
        return Found(index, whole=True, file=file_of_blocks)
    if size == source.size:
        then = size, made.mtime_ns, made.ctime_ns
        same = opened.stat() == then and source.ends == ends
        return Found(index, whole=True, file=opened.data) if same else None
    if made.file != opened.file.identity():
        return None  # another file has the name now, and does not continue this one
    if made.codec == "none" and opened.file.fingerprint(size) == ends:
        return Found(index.resume(), whole=False, file=opened.data)
    return None


def _fitting_blocks(
    index: RowIndex, made: SidecarSource, source: Source
) -> BlockTable | None:
    """Return the block table if it belongs to the file.

    One end of a compressed file may differ: then that end is damaged, which shows when the block
    is read, and the offsets of the other blocks hold.
    """
    head, tail = source.ends
    equal = [made.head_hash == head, made.tail_hash == tail]
    enough = all(equal) if made.codec == "none" else any(equal)
    same = enough and (made.codec, made.size) == (source.codec, source.size)
    return index.blocks if same else None


def _has_fitting_blocks(path: Path, source: Source) -> bool:
    with suppress(HeadraceError), reading(str(path)):
        fits = _fitting_blocks(*RowIndex.load(path), source) is not None
        return fits and not _is_older(path, source)
    return False


def is_foreign(path: Path) -> bool:
    """Whether a path has a file that is not a sidecar of headrace."""
    try:
        with path.open("rb") as file:
            return _OURS not in file.read(512)
    except FileNotFoundError:
        return False
    except OSError:
        return True
