"""Warning about lines that a crash left without entries, which readers do not return.

A power failure can destroy the entries of acknowledged lines, which recovery rebuilds.
Until then a reader of the unrecovered log misses them, so it warns; while a writer is
active, bytes without entries are its unfinished work.
"""

from __future__ import annotations

import fcntl
import os
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError, HeadraceWarning
from headrace.store.log import files
from headrace.store.log.entries import committed_now

if TYPE_CHECKING:
    from headrace.kernel.log import Place
    from headrace.store.log.names import LogNames


def warn_of_uncommitted(names: LogNames, mark: Place) -> None:
    """Warn about bytes after the last committed line, unless a writer is active.

    `mark` is the place up to which the last segment is durable according to the manifest.
    """
    if is_locked(names):
        return
    with suppress(HeadraceError, OSError):
        # A writer may just have committed them and closed the log.
        end = committed_now(names, mark).end
        length = files.size_of(names.data(mark.base)) - end
        if length > 0:
            warnings.warn(
                f"{names.text}: the last {length} bytes are not committed, and not read; "
                "`headrace log recover` brings back the lines in them, if there are any",
                HeadraceWarning,
                stacklevel=2,
            )


def is_locked(names: LogNames) -> bool:
    """Whether a process holds the lock of a log; false if that is unknown."""
    with suppress(OSError):
        descriptor = files.open_to_read(names.lock)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
    return False
