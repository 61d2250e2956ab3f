"""Listing of sets, by file names alone."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from headrace.errors import SourceNotFoundError
from headrace.kernel.rows import reading
from headrace.store.files import system
from headrace.store.shards.names import meta_file, part_of_set, parts_directory

if TYPE_CHECKING:
    from pathlib import Path


def sets_in(directory: Path) -> list[str]:
    """List the names of all sets in a directory, also of sets that were never committed."""
    with reading(str(directory)):
        found = {meta_file(name) for name in system.calls.list_directory(directory)}
    return sorted({each[0] for each in found if each is not None})


def is_superseded(part: str) -> bool:
    """Whether a part belongs to a generation with a newer one."""
    found = part_of_set(part)
    of = parts_directory(found[1].partition("/")[0]) if found else None
    if found is None or of is None:
        return False
    with suppress(OSError):
        committed = map(meta_file, system.calls.list_directory(found[0].directory))
        return any(each and each[0] == of[0] and each[1] > of[1] for each in committed)
    return False


def is_set(path: Path) -> bool:
    """Whether `path` names a set, or a directory with metadata of sets."""
    if path.is_dir():
        return bool(sets_in(path))
    if path.exists():
        return meta_file(path.name) is not None
    with suppress(OSError, SourceNotFoundError):
        return path.name in sets_in(path.parent)
    return False
