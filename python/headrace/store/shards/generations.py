"""The generations of a set: which there are, and which of them is the set.

A generation is there when its metadata is whole. Metadata that is cut off was never
committed, and is passed over; metadata that is whole but damaged is an error, for the
generation before it would be rows that were replaced.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

from headrace.errors import BadSetError, UnreadableError
from headrace.kernel.rows import reading
from headrace.store.files import system
from headrace.store.files.checked_json import is_whole
from headrace.store.shards import names as naming
from headrace.store.shards.metadata import LONGEST, Metadata, decode

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.store.shards.names import SetNames


def committed(names: SetNames) -> list[int]:
    """List the numbers of all generations that have a metadata file, newest first."""
    with reading(str(names.directory)):
        found = [
            naming.meta_file(name)
            for name in system.calls.list_directory(names.directory)
        ]
    return sorted(
        (each[1] for each in found if each and each[0] == names.name), reverse=True
    )


def load(names: SetNames, generation: int) -> Metadata | None:
    """Return a generation's metadata; None if it was never committed, or is gone."""
    path = names.meta(generation)
    content = _content(path)
    if content is None or not is_whole(content):
        return None
    return decode(content, str(path), names.name, generation)


def newest(names: SetNames) -> Metadata | None:
    """Return the metadata of the set as it is now, None if it was never committed.

    A generation that vanishes meanwhile was superseded, so the next look finds a
    newer one.
    """
    seen = -1
    while True:
        generations = committed(names)
        for generation in generations:
            metadata = load(names, generation)
            if metadata is not None:
                return metadata
        if not generations or generations[0] <= seen:
            return None
        seen = generations[0]


def is_committed(names: SetNames, generation: int) -> bool:
    """Whether a generation's metadata is there and whole."""
    content = _content(names.meta(generation))
    return content is not None and is_whole(content)


def _content(path: Path) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise BadSetError(str(path), "it is a link") from None
        raise UnreadableError(str(path), error.strerror or str(error)) from error
    with os.fdopen(descriptor, "rb", closefd=True) as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise BadSetError(str(path), "it is not a regular file")
        if found.st_size > LONGEST:
            raise BadSetError(str(path), f"it is longer than {LONGEST} bytes")
        return file.read()
