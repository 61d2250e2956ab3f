"""The generations of a set on a file system, and the newest of them.

A generation is committed when its metadata is complete. Truncated metadata was never committed,
and is skipped; complete but damaged metadata is an error, because the generation before it has rows
that were replaced.
"""

from __future__ import annotations

import errno
import os
import stat
from functools import partial
from typing import TYPE_CHECKING

from headrace.errors import BadSetError, UnreadableError
from headrace.kernel.rows import reading
from headrace.store.files import system
from headrace.store.files.checked_json import is_whole
from headrace.store.shards import names as naming
from headrace.store.shards.metadata import LONGEST, Metadata, decode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.store.shards.names import SetNames


def committed(names: SetNames) -> list[int]:
    """List the numbers of all generations with a metadata file, newest first."""
    with reading(str(names.directory)):
        found = [
            naming.meta_file(name)
            for name in system.calls.list_directory(names.directory)
        ]
    return sorted(
        (each[1] for each in found if each and each[0] == names.name), reverse=True
    )


def load(names: SetNames, generation: int) -> Metadata | None:
    """Return the metadata of a generation; None if it was never committed, or was removed."""
    path = names.meta(generation)
    content = _content(path)
    if content is None or not is_whole(content):
        return None
    return decode(content, str(path), names.name, generation)


def newest(names: SetNames) -> Metadata | None:
    """Return the metadata of the present generation; None if none was committed."""
    return newest_of(partial(committed, names), partial(load, names))


def newest_of(
    committed: Callable[[], list[int]], load: Callable[[int], Metadata | None]
) -> Metadata | None:
    """Return the metadata of the present generation, wherever the set is.

    A generation that vanishes meanwhile was superseded, so the next attempt finds a newer one.
    """
    seen = -1
    while True:
        generations = committed()
        for generation in generations:
            if (metadata := load(generation)) is not None:
                return metadata
        if not generations or generations[0] <= seen:
            return None
        seen = generations[0]


def is_committed(names: SetNames, generation: int) -> bool:
    """Whether a generation is committed: its metadata exists and is complete."""
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
