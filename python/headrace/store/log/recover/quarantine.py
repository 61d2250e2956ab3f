"""Quarantine: bytes are durable in their new file before they leave the old one."""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING

from headrace.store.files import system
from headrace.store.log import files

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.store.log.names import LogNames

_PIECE = 1 << 20


def move_aside(
    names: LogNames, path: Path, descriptor: int, start: int, end: int
) -> Path:
    """Move bytes `start` to `end` of a file to quarantine; return the new path.

    The file is cut there.

    A crash in between leaves the bytes in both files; the next call finds the copy.
    """
    if not names.quarantine.exists():
        system.calls.make_directory(names.quarantine)
        system.calls.sync_directory(names.directory)
    kept = _copied(names, path, descriptor, start, end)
    system.calls.truncate(descriptor, start)
    system.calls.sync_data(descriptor)
    return kept


def _copied(names: LogNames, path: Path, descriptor: int, start: int, end: int) -> Path:
    for number in count(1):
        suffix = "" if number == 1 else f"-{number}"
        target = names.quarantine / f"{path.name}@{start}{suffix}"
        try:
            copy = system.calls.create(target)
        except FileExistsError:
            if _is_copy(target, descriptor, start, end):
                return target
            continue
        try:
            for offset in range(start, end, _PIECE):
                length = min(_PIECE, end - offset)
                data = files.read_at(descriptor, length, offset)
                files.write_at(copy, data, offset - start)
            system.calls.sync_data(copy)
        finally:
            os.close(copy)
        system.calls.sync_directory(names.quarantine)
        return target
    raise AssertionError  # there is always another number


def _is_copy(target: Path, descriptor: int, start: int, end: int) -> bool:
    """Whether a file has exactly these bytes; a shorter one was never finished."""
    if target.is_symlink() or target.stat().st_size != end - start:
        return False
    with system.closing(files.open_to_write(target)) as copy:
        same = all(
            files.read_at(copy, _PIECE, offset - start)
            == files.read_at(descriptor, min(_PIECE, end - offset), offset)
            for offset in range(start, end, _PIECE)
        )
        if same:
            system.calls.sync_data(copy)
            system.calls.sync_directory(target.parent)
    return same
