"""Where the index of a file goes, and whether it is there."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, assert_never

from headrace.engines.index_kinds import GraphBuild, KeyBuild
from headrace.errors import KeyIndexError
from headrace.store import graph_index, index_file, key_index
from headrace.store.index_file import Where, refuse_unless_seekable
from headrace.store.opened import OpenedFile

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.engines.index_kinds import AnyBuild
    from headrace.store.source import Source


def place_of(source: Source, asked: AnyBuild, where: Where, *, force: bool) -> Path:
    """Return the first place where an index can be written."""
    refuse_unless_seekable(source)
    match asked:
        case KeyBuild(fields=fields):
            places = key_index.destinations(source, fields, where, force=force)
            taken = key_index.taken
        case GraphBuild(fields=fields):
            places = graph_index.destinations(source, fields, where, force=force)
            taken = graph_index.taken
        case _:
            assert_never(asked)
    refused: OSError | None = None
    for path in places:
        if _writable(path):
            return path
        reason = os.strerror(errno.EACCES)
        refused = refused or PermissionError(errno.EACCES, reason, str(path))
    raise refused or taken(source, where)


def _writable(path: Path) -> bool:
    """Whether a file can be written there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(path.parent, os.W_OK | os.X_OK)


def is_there(source: Source, asked: AnyBuild) -> bool:
    """Whether a source has such an index, and it is that of the source as it is."""
    known: index_file.AnyStored | index_file.Unreadable | None
    match asked:
        case KeyBuild(fields=fields):
            known = key_index.find(source, list(fields), Where())
        case GraphBuild():
            known = graph_index.find(source, Where())
        case _:
            assert_never(asked)
    if not isinstance(known, index_file.Stored) or not asked.made(known):
        return False
    try:
        _stored, fresh = index_file.fitting(known, source, OpenedFile(source))
    except KeyIndexError:
        return False
    return fresh.state == "fresh"
