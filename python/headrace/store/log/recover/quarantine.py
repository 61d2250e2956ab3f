"""Quarantine: bytes are durable in their new file before they leave the old one."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.kernel.rows import Decoded, reading
from headrace.store.files import system
from headrace.store.files.atomic import temporary_name
from headrace.store.log import files
from headrace.store.log.names import LogNames

_PIECE = 1 << 20


def move_aside(
    names: LogNames, path: Path, descriptor: int, start: int, end: int
) -> Path:
    """Move bytes `start` to `end` of a file to quarantine; return the new path.

    The file is cut there.

    A crash in between leaves the bytes in both files; the next call finds the copy.
    """
    _make(names)
    kept = _copied(names, path, descriptor, start, end)
    system.calls.truncate(descriptor, start)
    system.calls.sync_data(descriptor)
    return kept


def _copied(names: LogNames, path: Path, descriptor: int, start: int, end: int) -> Path:
    for target in _places(names, path, start):
        try:
            copy = system.calls.create(target)
        except FileExistsError:
            if _is_copy(target, descriptor, start, end):
                return target
            continue
        with system.closing(copy):
            for offset, length in files.pieces(start, end):
                data = files.read_at(descriptor, length, offset)
                files.write_at(copy, data, offset - start)
            system.calls.sync_data(copy)
        system.calls.sync_directory(names.quarantine)
        return target
    raise AssertionError  # there is always another number


def _is_copy(target: Path, descriptor: int, start: int, end: int) -> bool:
    """Whether a file has exactly these bytes; a shorter one was never finished."""
    if target.is_symlink() or target.stat().st_size != end - start:
        return False
    with system.closing(files.open_to_write(target)) as copy:
        same = all(
            files.read_at(copy, length, offset - start)
            == files.read_at(descriptor, length, offset)
            for offset, length in files.pieces(start, end)
        )
        if same:
            system.calls.sync_data(copy)
            system.calls.sync_directory(target.parent)
    return same


def _make(names: LogNames) -> None:
    if not names.quarantine.exists():
        system.calls.make_directory(names.quarantine)
        system.calls.sync_directory(names.directory)


def _places(names: LogNames, path: Path, start: int) -> Iterator[Path]:
    """Yield the names in quarantine that bytes of a file may have."""
    for number in count(1):
        suffix = "" if number == 1 else f"-{number}"
        yield names.quarantine / f"{path.name}@{start}{suffix}"


def unpack(names: LogNames, base: int, codec: str) -> Path:
    """Replace a damaged compressed file by a plain one with its decodable lines.

    The compressed file moves to quarantine.

    A crash in between leaves both files, and the next repair starts again.
    """
    packed, plain = names.packed(base, codec), names.data(base)
    temporary = temporary_name(plain)
    with system.closing(system.calls.create(temporary)) as descriptor:
        end = 0
        for piece in _decodable(packed, codec):
            files.write_at(descriptor, piece, end)
            end += len(piece)
        system.calls.sync_data(descriptor)
    system.calls.rename(temporary, plain)
    system.calls.sync_directory(names.directory)
    _make(names)
    target = next(each for each in _places(names, packed, 0) if not each.exists())
    system.calls.rename(packed, target)
    system.calls.sync_directory(names.quarantine)
    system.calls.sync_directory(names.directory)
    return plain


def _decodable(path: Path, codec: str) -> Iterator[bytes]:
    with reading(str(path)):
        file = files.open_file(path)
        size = file.stat()[0]
    try:
        with reading(str(path)):
            stream = Decoded(file, codec, size=size, decoding=files.UNLIMITED)
            while piece := stream.read(_PIECE):
                yield piece
    except HeadraceError:
        return  # the lines before it are all that can be decoded
