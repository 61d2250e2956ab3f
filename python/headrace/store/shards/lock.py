"""The lock of a set: one writer at a time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from headrace.errors import SetLockedError
from headrace.store.files.lock import FileLock

if TYPE_CHECKING:
    from headrace.store.shards.names import SetNames


def lock_set(names: SetNames) -> FileLock:
    """Take the lock of a set, or raise `SetLockedError`."""
    return FileLock(names.lock, partial(SetLockedError, names.text))
