"""The path where an index is written, and whether it is already there."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError, KeyIndexError, UnwritableError
from headrace.store.files.opened import OpenedFile
from headrace.store.index import stored_index
from headrace.store.index.set import stored
from headrace.store.index.stored_index import Where, refuse_unless_seekable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from headrace.engines.index.kinds import AnyBuild
    from headrace.store.files.source import Source
    from headrace.store.index.catalog import Catalog, Fields


def place_of(source: Source, build: AnyBuild, where: Where, *, force: bool) -> Path:
    """Return the first path where an index can be written."""
    refuse_unless_seekable(source)
    return _place(build.INDEXES, source.location, where, build.fields, force=force)


def place_of_set(location: str, fields: Sequence[str], where: Where) -> Path:
    """Return the first path where the index of a set can be written."""
    return _place(stored.INDEXES, location, where, fields)


def _place(
    catalog: Catalog[Any],
    location: str,
    where: Where,
    fields: Fields,
    *,
    force: bool = False,
) -> Path:
    refused: HeadraceError | None = None
    for path in catalog.destinations(location, where, fields, force=force):
        if _writable(path):
            return path
        reason, left = os.strerror(errno.EACCES), "no index was written"
        refused = refused or UnwritableError(str(path), reason, left)
    raise refused or catalog.taken(location, where, fields)


def _writable(path: Path) -> bool:
    """Whether this process may write a file, or into a directory, at a path."""
    directory = path if path.is_dir() else path.parent
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(directory, os.W_OK | os.X_OK)


def is_there(source: Source, build: AnyBuild) -> bool:
    """Whether a source has such an index that is up to date."""
    known: stored_index.AnyStored | stored_index.Unreadable | None
    known = build.INDEXES.find(source.location, Where(), build.fields)
    if not isinstance(known, stored_index.Stored) or not build.made(known):
        return False
    try:
        _stored, fresh = stored_index.fitting(known, source, OpenedFile(source))
    except KeyIndexError:
        return False
    return fresh.state == "fresh"
