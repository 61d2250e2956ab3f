"""Commit of a set index: the segments first, then the manifest that names them.

Readers see the segments when the manifest is renamed, which is atomic. One writer at a time holds
the lock, and removes the leftovers of killed writers. Segments that no manifest names any more are
removed: a reader that was about to open them finds another manifest.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from headrace.errors import KeyIndexLockedError
from headrace.store.files import system
from headrace.store.files.atomic import naming, temporary_name, write_atomically
from headrace.store.files.directories import use_directory
from headrace.store.files.lock import FileLock
from headrace.store.index.set.manifest import (
    FILE_NAME,
    BadManifestError,
    Manifest,
    decode,
    encode,
    is_segment_name,
    segment_name,
)

_TEMPORARY = re.compile(r"\..+\.tmp-[0-9]+-[0-9a-f]{8}")


@contextmanager
def writing(directory: Path) -> Iterator[int]:
    """Hold the lock of an index, or raise `KeyIndexLockedError`; yields its next edition."""
    lock = _locked(directory)
    try:
        _remove_leftovers(directory)
        yield _next_edition(directory)
    finally:
        with suppress(OSError):  # the next writer removes them
            _remove_leftovers(directory)
        lock.release()
        with suppress(OSError):
            # Only succeeds if no index was written.
            system.calls.remove_directory(directory)


def _locked(directory: Path) -> FileLock:
    refused = partial(KeyIndexLockedError, str(directory))
    lock = partial(FileLock, directory / "lock", refused)
    return use_directory(directory, [], lock)


def new_segment(directory: Path) -> Path:
    """Create an empty file for a segment, with a unique name."""
    path = temporary_name(directory / "segment")
    os.close(system.calls.create(path))
    return path


def finish_segment(path: Path) -> None:
    """Make a written segment durable."""
    with (
        naming(path),
        system.closing(system.calls.open(path, os.O_RDONLY)) as descriptor,
    ):
        system.calls.sync(descriptor)


def named(
    directory: Path, edition: int, segments: Sequence[str], *, delta: bool
) -> list[str]:
    """Rename segments, in the order of their numbers, and return their names."""
    names = []
    for number, temporary in enumerate(segments):
        name = segment_name(edition, number, delta=delta)
        system.calls.rename(directory / temporary, directory / name)
        names.append(name)
    return names


def publish(directory: Path, manifest: Manifest) -> None:
    """Write the manifest of an index whose segments are complete."""
    system.calls.sync_directory(directory)
    write_atomically(directory / FILE_NAME, [encode(manifest)])
    system.calls.sync_directory(directory.parent)
    _remove_leftovers(directory)


def _current(directory: Path) -> Manifest | None:
    try:
        return decode((directory / FILE_NAME).read_bytes())
    except (FileNotFoundError, BadManifestError):
        return None


def _next_edition(directory: Path) -> int:
    """Return an edition that no file has."""
    current = _current(directory)
    used = [0 if current is None else current.edition]
    used += [
        int(name.partition("-")[0])
        for name in system.calls.list_directory(directory)
        if is_segment_name(name)
    ]
    return max(used) + 1


def _remove_leftovers(directory: Path) -> None:
    """Remove the files of killed writers, and segments that the manifest does not name."""
    current = _current(directory)
    needed = set() if current is None else {each.name for each in current.segments}
    for name in system.calls.list_directory(directory):
        unneeded = is_segment_name(name) and name not in needed
        if unneeded or _TEMPORARY.fullmatch(name):
            system.unlink_if_exists(directory / name)
