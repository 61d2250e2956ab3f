"""Check of a log: every file is compared with the manifest, the entries and the checksums."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError, LogFileMissingError, SourceNotFoundError
from headrace.kernel.checksum import digest
from headrace.kernel.log import LogClock, Place, verify
from headrace.kernel.rows import reading
from headrace.store.log import files
from headrace.store.log import manifest as manifests
from headrace.store.log.entries import (
    Header,
    committed_now,
    decode_header,
    rows_in,
)
from headrace.store.log.manifest import Active, Manifest, Sealed
from headrace.store.log.names import LogNames

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator
    from pathlib import Path

_ROWS_AT_ONCE = 1 << 16


@dataclass(slots=True)
class Checked:
    """A segment: the number of its verified lines, and its faults.

    `notes` are traces of a crash, which recovery handles. With `remade`, the only fault is
    a missing index, which recovery rebuilds.
    """

    path: str
    rows: int = 0
    bytes: int = 0
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    remade: bool = False


def check_log(
    directory: str | os.PathLike[str],
    *,
    deep: bool = False,
    progress: Callable[[int], object] = lambda _bytes: None,
) -> Iterator[Checked]:
    """Check the segments of a log one by one; with `deep` every line as well."""
    names = LogNames(directory)
    names.refuse_unless_log()
    manifest = _manifest(names)
    done = 0
    for segment in manifest.all_segments:
        look: Sealed | Active | None = segment
        while look is not None:
            checked = Checked(look.name)
            before = done
            try:
                for place in _check(names, manifest, look, checked, deep=deep):
                    progress(done := before + place.end)
            except (HeadraceError, OSError) as error:
                if (newer := _changed(names, look, error)) is not look:
                    look = newer
                    continue
                index = str(names.index(look.base))
                if isinstance(error, SourceNotFoundError) and error.path == index:
                    checked.remade = not checked.faults
                    checked.faults.append(
                        str(LogFileMissingError(index, 0, "it is gone"))
                    )
                else:
                    checked.faults.append(str(error))
            yield checked
            break
    yield from _strays(names, manifest)


def _manifest(names: LogNames) -> Manifest:
    manifest = manifests.load(names)
    if manifest is None:
        raise LogFileMissingError(str(names.manifest), 0, "it is gone")
    return manifest


def _changed(
    names: LogNames, segment: Sealed | Active, error: Exception
) -> Sealed | Active | None:
    """Check a segment again whose file is gone: None if its lines were removed."""
    if not isinstance(error, FileNotFoundError):
        return segment
    for each in _manifest(names).all_segments:
        if each.base == segment.base:
            return segment if each.name == segment.name else each
    return None


def _check(
    names: LogNames,
    manifest: Manifest,
    segment: Sealed | Active,
    checked: Checked,
    *,
    deep: bool,
) -> Iterator[Place]:
    if isinstance(segment, Sealed) and segment.damaged:
        lost = segment.last_line - segment.base - segment.rows
        checked.notes.append(f"{lost} lines at its end were given up")
        if segment.rows == 0:
            return
    path, index_path = names.file_of(segment), names.index(segment.base)
    _check_stored(path, segment, checked, deep=deep)
    data = files.open_data(path)
    with reading(str(path)):
        size = data.stat()[0]
    with reading(str(index_path)):
        index = files.open_file(index_path)
        index_size = index.stat()[0]
        header = Header(segment.file_number, segment.base, manifest.salt)
        if decode_header(index.read_at(0, 256)) != header:
            checked.faults.append("the first line of the index is not good")
    _check_sizes(segment, size, index_size, checked)
    rows = segment.rows if isinstance(segment, Sealed) else rows_in(index_size)
    place, clock = header.place, LogClock(0)
    while place.rows < rows:
        until = min(rows, place.rows + _ROWS_AT_ONCE)
        with files.reading_lines(str(path)):
            place, fault = verify(
                index, data if deep else None, size, place, until, clock
            )
        yield place
        if fault is not None:
            durable = isinstance(segment, Sealed) or place.rows < segment.rows
            fault_text = f"line {place.last_line + 1}: {fault.reason}"
            (checked.faults if durable else checked.notes).append(fault_text)
            break
    checked.rows, checked.bytes = place.rows, place.end
    if isinstance(segment, Active) and rows < segment.rows:
        checked.remade = not checked.faults
        checked.faults.append(
            f"its index ends behind line {place.last_line}, but line "
            f"{segment.base + segment.rows} was durable"
        )
    if isinstance(segment, Active) and size > place.end:
        checked.notes.append(f"{size - place.end} bytes behind the last line")


def _check_stored(
    path: Path, segment: Sealed | Active, checked: Checked, *, deep: bool
) -> None:
    """Compare a compressed file with the manifest."""
    packed = segment.packed if isinstance(segment, Sealed) else None
    if packed is None:
        return
    with reading(str(path)):
        file = files.open_file(path)
        size = file.stat()[0]
        if size != packed.bytes:
            checked.faults.append(
                f"it has {size} bytes, but should have {packed.bytes}"
            )
        elif deep and (found := digest(file, size)) != packed.digest:
            checked.faults.append(f"its digest is {found}, but was {packed.digest}")


def _check_sizes(
    segment: Sealed | Active, size: int, index_size: int, checked: Checked
) -> None:
    if isinstance(segment, Sealed):
        expected = Place(0, 0, 0, segment.rows).index_end
        if size != segment.bytes:
            checked.faults.append(
                f"its lines have {size} bytes, but should have {segment.bytes}"
                if segment.packed is not None
                else f"it has {size} bytes, but should have {segment.bytes}"
            )
        if index_size != expected:
            checked.faults.append(
                f"its index has {index_size} bytes, but should have {expected}"
            )
    elif size < segment.bytes:
        checked.faults.append(f"it has {size} bytes, but {segment.bytes} were durable")


def _strays(names: LogNames, manifest: Manifest) -> Iterator[Checked]:
    there = names.segments()
    # A segment that was begun since then is newer than this manifest, or empty.
    newer = _manifest(names)
    known = {each.name for one in (manifest, newer) for each in one.all_segments}
    for base, path in there:
        if path.name in known:
            continue
        found = Checked(path.name)
        if base > newer.active.base and _has_bytes(path) and base != _end(names, newer):
            found.faults.append(
                f"it begins behind line {base}, where the log does not end, so no writer "
                "opens the log; move it to another directory"
            )
        elif base <= manifest.active.base:
            found.notes.append("the manifest does not name it")
        else:
            continue
        yield found


def _end(names: LogNames, manifest: Manifest) -> int | None:
    """Return the last committed line, None if the index does not tell."""
    try:
        return committed_now(names, manifest.mark).last_line
    except (HeadraceError, OSError):
        return None


def _has_bytes(path: Path) -> bool:
    try:
        return path.lstat().st_size > 0
    except FileNotFoundError:
        return False
