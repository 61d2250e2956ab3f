"""Vacuum on a file system: remove files that no reader needs.

These are files of dead writers and jobs, and generations that were superseded some time ago. All
functions need the lock of the set, except those for the staging directory of a job. Only files
with the names of a set are removed; links are not followed, and a directory is removed only if it
is empty.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from itertools import pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import BadSetError, UsageError
from headrace.store.files import system
from headrace.store.shards import names as naming

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from headrace.store.shards.local_set import LocalSet
    from headrace.store.shards.metadata import Metadata

GRACE = 600.0
"""Seconds for which a superseded generation stays for its readers."""

ORPHAN_AGE = 86_400.0
"""Seconds after which a job that has staged nothing is assumed to be dead."""


def seconds_of_grace(grace: object) -> float:
    """Return a number of seconds, or raise."""
    if isinstance(grace, bool) or not isinstance(grace, (int, float)) or not grace >= 0:
        raise UsageError(f"grace {grace!r}: must be a number of seconds, 0 or more")
    return grace


def remove_dead(names: LocalSet) -> None:
    """Remove files of writers that did not commit.

    Truncated metadata can only be newer than the set: a writer that begins a generation removes
    the leftovers of the last one.
    """
    remove_temporary(names)
    with suppress(OSError):  # it does not exist, or is in use
        system.calls.remove_directory(names.superseded)
    numbers = names.committed()
    cut = takewhile(lambda each: not names.is_committed(each), numbers)
    dead = set(cut)
    whole = set(numbers) - dead
    dead |= _without_metadata(names, whole)
    if dead:
        _remove(names, dead, kept=whole)


def _without_metadata(names: LocalSet, whole: Collection[int]) -> set[int]:
    """Return the generations that have parts, but are not `whole`."""
    found = map(naming.parts_directory, _parts_directories(names))
    return {
        each[1]
        for each in found
        if each and each[0] == names.name and each[1] not in whole
    }


def _parts_directories(names: LocalSet) -> Iterator[str]:
    """Yield the names of directories of parts of the set, also of superseded ones."""
    yield from system.calls.list_directory(names.directory)
    if names.superseded.is_dir() and not names.superseded.is_symlink():
        yield from system.calls.list_directory(names.superseded)


def hide_superseded(names: LocalSet) -> None:
    """Move parts that the newest generation does not name to a hidden directory.

    A glob would list them as parts of the set. Readers of older generations find them there.
    """
    numbers = names.committed()
    newest = names.load(numbers[0]) if numbers else None
    if newest is None:
        return
    unused = {names.parts(each).name for each in numbers[1:]} - _directories(newest)
    for name in unused & set(system.calls.list_directory(names.directory)):
        with suppress(FileExistsError):
            system.calls.make_directory(names.superseded)
        # The name is taken: the directory stays where it is.
        with suppress(OSError):
            system.calls.rename(names.directory / name, names.superseded / name)


def _directories(metadata: Metadata) -> set[str]:
    """Return the directories of the parts of a generation."""
    return {part.path.partition("/")[0] for part in metadata.parts}


def remove_temporary(names: LocalSet) -> None:
    """Remove metadata that was never renamed."""
    for name in system.calls.list_directory(names.directory):
        if naming.meta_temporary(name) == names.name:
            _unlink(names.directory / name)


def remove_superseded(names: LocalSet, grace: float = GRACE) -> list[int]:
    """Remove generations that were superseded `grace` seconds ago; return their numbers.

    `remove_dead` must have run before: all present generations are assumed to be committed.
    """
    oldest_first = sorted(names.committed())
    now = time.time()
    old = superseded(
        oldest_first, lambda each: now - names.meta(each).stat().st_mtime >= grace
    )
    if old:
        kept = set(oldest_first) - set(old)
        # Also generations of which only parts are left, which an old one may have named.
        _remove(names, _without_metadata(names, kept) | set(old), kept)
    return old


def superseded(oldest_first: list[int], is_old: Callable[[int], bool]) -> list[int]:
    """Return the generations that were superseded long ago.

    The metadata of the next generation appeared when a generation was superseded.
    """
    pairs = takewhile(lambda pair: is_old(pair[1]), pairwise(oldest_first))
    return [older for older, _newer in pairs]


def _remove(names: LocalSet, gone: Collection[int], kept: Collection[int]) -> None:
    """Remove generations, but no file that a remaining generation names.

    If a remaining one cannot be read, its files are unknown, and all files stay.
    """
    needed: set[str] = set()
    left = {each for each in gone if any(path.is_dir() for path in names.places(each))}
    try:
        for newer in sorted(kept, reverse=True):
            # If rows were only appended, the newest generation names the parts of all.
            if left and (metadata := names.load(newer)) is not None:
                needed.update(part.path for part in metadata.parts)
                needed.update(part.ckpt for part in metadata.parts)
                used = _directories(metadata)
                left -= {each for each in left if names.parts(each).name in used}
    except BadSetError:
        return
    for generation in sorted(gone):
        if generation in left:
            remove_generation(names, generation, needed)
        else:
            _unlink(names.meta(generation))


def remove_generation(
    names: LocalSet, generation: int, needed: Collection[str] = ()
) -> None:
    """Remove the files of a generation, except those that are `needed`."""
    _unlink(names.meta(generation))  # first, so that no reader begins to read it
    for parts in names.places(generation):
        remove_parts(parts, parts.parent, needed)
    with suppress(OSError):
        system.calls.remove_directory(names.superseded)


def remove_parts(parts: Path, root: Path, needed: Collection[str] = ()) -> None:
    """Remove a directory of parts, except the `needed` paths relative to `root`."""
    if parts.is_symlink() or not parts.is_dir():
        return
    for directory in [*_partitions(parts), parts]:
        for path in map(directory.joinpath, system.calls.list_directory(directory)):
            part = path.with_name(naming.indexed_part(path.name) or path.name)
            inside = part.relative_to(root).as_posix()
            if naming.is_part_or_beside(path.name) and inside not in needed:
                _unlink(path)
        # Not empty: it has needed parts, or files of another program.
        with suppress(OSError):
            system.calls.remove_directory(directory)


def remove_staging(staging: Path) -> None:
    """Remove the staging directory of a job that is over or dead."""
    if staging.is_symlink() or not staging.is_dir():
        return
    for name in system.calls.list_directory(staging):
        if naming.is_attempt(name):
            remove_parts(staging / name, staging)
    with suppress(OSError):
        system.calls.remove_directory(staging)


def remove_orphans(names: LocalSet, age: float = ORPHAN_AGE) -> None:
    """Remove staging directories of jobs that did nothing for `age` seconds."""
    for name in system.calls.list_directory(names.directory):
        if naming.staging_directory(name) == names.name:
            staging = names.directory / name
            if time.time() - _changed(staging) >= age:
                remove_staging(staging)


def _changed(directory: Path) -> float:
    """Return the time of the latest change in a directory tree."""
    latest = directory.lstat().st_mtime
    for below, directories, files in os.walk(directory):
        for name in (*directories, *files):
            with suppress(FileNotFoundError):
                latest = max(latest, Path(below, name).lstat().st_mtime)
    return latest


def _partitions(parts: Path) -> Iterator[Path]:
    for name in filter(naming.is_partition, system.calls.list_directory(parts)):
        if (parts / name).is_dir() and not (parts / name).is_symlink():
            yield parts / name


def _unlink(path: Path) -> None:
    try:
        system.calls.unlink(path)
    except FileNotFoundError:
        pass
    except IsADirectoryError:
        # Leftovers of a killed index job; other files belong to other programs.
        if path.name.startswith("."):
            system.calls.remove_tree(path)
