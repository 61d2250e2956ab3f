"""Where the index of a file goes, and whether it is there."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, assert_never

from headrace.engines.index.kinds import GraphBuild, KeyBuild
from headrace.errors import KeyIndexError
from headrace.store.files.opened import OpenedFile
from headrace.store.index import file, graph, key
from headrace.store.index.file import Where, refuse_unless_seekable
from headrace.store.index.set import stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from headrace.engines.index.kinds import AnyBuild
    from headrace.store.files.source import Source


def place_of(source: Source, asked: AnyBuild, where: Where, *, force: bool) -> Path:
    """Return the first place where an index can be written."""
    refuse_unless_seekable(source)
    match asked:
        case KeyBuild(fields=fields):
            places = key.destinations(source, fields, where, force=force)
            taken = key.taken
        case GraphBuild(fields=fields):
            places = graph.destinations(source, fields, where, force=force)
            taken = graph.taken
        case _:
            assert_never(asked)
    return _first_writable(places, lambda: taken(source, where))


def place_of_set(location: str, fields: Sequence[str], where: Where) -> Path:
    """Return the first place where the index of a set can be written."""
    places = stored.destinations(location, fields, where)
    return _first_writable(places, lambda: stored.taken(location, fields, where))


def _first_writable(places: Iterable[Path], taken: Callable[[], KeyIndexError]) -> Path:
    """Return the first of some places that can be written; `taken` says that there are none."""
    refused: OSError | None = None
    for path in places:
        if _writable(path):
            return path
        reason = os.strerror(errno.EACCES)
        refused = refused or PermissionError(errno.EACCES, reason, str(path))
    raise refused or taken()


def _writable(path: Path) -> bool:
    """Whether a file, or what is in a directory, can be written there."""
    place = path if path.is_dir() else path.parent
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(place, os.W_OK | os.X_OK)


def is_there(source: Source, asked: AnyBuild) -> bool:
    """Whether a source has such an index, and it is that of the source as it is."""
    known: file.AnyStored | file.Unreadable | None
    match asked:
        case KeyBuild(fields=fields):
            known = key.find(source, list(fields), Where())
        case GraphBuild():
            known = graph.find(source, Where())
        case _:
            assert_never(asked)
    if not isinstance(known, file.Stored) or not asked.made(known):
        return False
    try:
        _stored, fresh = file.fitting(known, source, OpenedFile(source))
    except KeyIndexError:
        return False
    return fresh.state == "fresh"
