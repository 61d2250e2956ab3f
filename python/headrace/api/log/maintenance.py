"""Upkeep of old segments of a log: they are compressed, then removed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.api.log.writer import recovery_options
from headrace.errors import SourceNotFoundError, UsageError
from headrace.store.files.units import parse_duration
from headrace.store.log import manifest as manifests
from headrace.store.log.names import LogNames
from headrace.store.log.write.full_segments import remove
from headrace.store.log.write.offline import compress_all, last_bytes, offline
from headrace.store.log.write.retention import Removed

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from datetime import timedelta

    from headrace.store.log.write.full_segments import Compressed
    from headrace.store.log.write.retention import Retention
    from headrace.store.shards.options import PackOptions


def seal(
    directory: str | os.PathLike[str],
    options: PackOptions,
    *,
    grace: str | timedelta | None,
    keep_plain: int,
    progress: Callable[[int, int], object],
) -> Compressed:
    """Compress the full segments of a log without a writer."""
    if type(keep_plain) is not int or keep_plain < 0:
        raise UsageError(f"keep_plain {keep_plain!r}: must be 0 or a positive integer")
    before = None if grace is None else _now() - parse_duration(grace)
    names = LogNames(directory)
    with offline(names, recovery_options("auto")) as log:
        return compress_all(
            log,
            options,
            before=before,
            keep_plain=keep_plain,
            progress=progress,
        )


def retain(
    directory: str | os.PathLike[str], chosen: Retention, *, dry_run: bool
) -> Removed:
    """Remove the oldest segments of a log without a writer."""
    names = LogNames(directory)
    if dry_run:
        names.refuse_unless_log()
        manifest = manifests.load(names)
        if manifest is None:
            raise SourceNotFoundError(str(names.manifest))
        return Removed(chosen.expired(manifest, last_bytes(names, manifest), _now()))
    with offline(names, recovery_options("auto")) as log:
        return remove(log, chosen, _now())


def _now() -> int:
    return time.time_ns() // 1_000_000
