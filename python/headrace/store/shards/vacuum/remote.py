"""Vacuum in an object store: remove files that no reader needs, without a lock.

No file is removed that a job may still commit: jobs do not commit files as old as those that are
removed, and a blank file reserves the name of a removed generation for a day.
"""

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress

from headrace.errors import BadSetError
from headrace.store.files.object_store import BLANK
from headrace.store.shards import names as naming
from headrace.store.shards.job.object_store import DAY, ORPHAN_AGE
from headrace.store.shards.remote_set import RemoteSet
from headrace.store.shards.vacuum.local import superseded


def vacuum(shards: RemoteSet, grace: float) -> list[int]:
    """Remove generations that were superseded `grace` seconds ago; return their numbers.

    Uploads of dead jobs are removed as well.
    """
    store = shards.store
    files = store.sizes("")
    metas = _metas(shards, files)
    whole = sorted(number for number, size in metas.items() if size > len(BLANK))
    old = superseded(whole, lambda each: _is_older(shards, shards.meta(each), grace))
    needed = _named(shards, set(whole) - set(old))
    gone: set[str] = set()
    for number in old:
        with suppress(BadSetError):  # its files are removed when they are old
            gone |= _named(shards, [number]) - needed
        store.blank(shards.meta(number))  # first, so that no reader begins to read it
    others = {
        path for path in files if _is_part(shards, path) and path not in needed | gone
    }
    gone |= {path for path in others if _is_older(shards, path, ORPHAN_AGE)}
    newest = max(whole, default=0)
    blank = {shards.meta(each) for each in metas.keys() - whole if each < newest}
    gone |= {path for path in blank if _is_older(shards, path, DAY)}
    for path in sorted(gone):
        store.remove(path)
    return old


def _metas(shards: RemoteSet, files: Mapping[str, int]) -> dict[int, int]:
    """Return the sizes of metadata by the numbers of their generations."""
    return {
        found[1]: size
        for file, size in files.items()
        if (found := naming.meta_file(file)) and found[0] == shards.name
    }


def _named(shards: RemoteSet, numbers: Iterable[int]) -> set[str]:
    """Return the files that generations name; raises if one cannot be read."""
    found = (shards.load(number) for number in numbers)
    return {part.path for each in found if each is not None for part in each.parts}


def _is_part(shards: RemoteSet, path: str) -> bool:
    directory, _slash, inside = path.partition("/")
    found = naming.parts_directory(directory)
    file = inside.rpartition("/")[2]
    return (
        found is not None and found[0] == shards.name and naming.is_part_or_beside(file)
    )


def _is_older(shards: RemoteSet, path: str, age: float) -> bool:
    return time.time() - shards.store.modified(path) >= age
