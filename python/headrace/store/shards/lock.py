"""One writer of a set at a time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from headrace.errors import SetLockedError
from headrace.store.files.lock import FileLock

if TYPE_CHECKING:
    from headrace.store.shards.names import SetNames


def lock_set(names: SetNames) -> FileLock:
    """Take the right to write a set."""
    return FileLock(names.lock, partial(SetLockedError, names.text))
