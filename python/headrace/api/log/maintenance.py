"""The life of old segments of a log: they are compressed, and at last removed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.api.log.log import recovery_options
from headrace.errors import SourceNotFoundError, UsageError
from headrace.store.files.units import parse_duration
from headrace.store.log import manifest as manifests
from headrace.store.log.names import LogNames
from headrace.store.log.write.compaction import packing_options
from headrace.store.log.write.offline import alone, last_bytes, pack_all, remove_expired
from headrace.store.log.write.retention import Removed, retention

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from datetime import timedelta

    from headrace.store.log.write.offline import Packing


def seal_log(
    directory: str | os.PathLike[str],
    *,
    codec: str = "zstd",
    level: int | None = None,
    older_than: str | timedelta | None = None,
    keep_plain: int = 0,
    threads: int = 1,
    progress: Callable[[int, int], object] = lambda _done, _total: None,
) -> Packing:
    """Compress the full segments of a log that nobody writes, and return what was done.

    Lines and their numbers stay, and any line is read as before. Only segments whose last
    line is `older_than` that, such as ``"7d"``, and none of the last `keep_plain`. If it is
    ended, the next time goes on with the segment it had come to.
    """
    if type(keep_plain) is not int or keep_plain < 0:
        raise UsageError(f"keep_plain {keep_plain!r}: it is a whole number from 0 on")
    before = None if older_than is None else _now() - parse_duration(older_than)
    options = packing_options(codec, level, threads)
    names = LogNames(directory)
    with alone(names, recovery_options("auto")) as manifest:
        return pack_all(
            names,
            manifest,
            options,
            before=before,
            keep_plain=keep_plain,
            progress=progress,
        )


def retain_log(
    directory: str | os.PathLike[str],
    *,
    max_age: str | timedelta | None = None,
    max_bytes: int | str | None = None,
    before_line: int | None = None,
    dry_run: bool = False,
) -> Removed:
    """Remove the oldest segments of a log that nobody writes, and return what they were.

    Those whose last line is older than `max_age`; those that make the log larger than
    `max_bytes`, with its indexes; those whose lines are all before `before_line`. Whole
    segments, never the last one; the numbers of all other lines stay. With `dry_run`
    nothing is removed.
    """
    chosen = retention(max_age, max_bytes, before_line)
    names = LogNames(directory)
    if dry_run:
        names.refuse_unless_log()
        manifest = manifests.load(names)
        if manifest is None:
            raise SourceNotFoundError(str(names.manifest))
        return Removed(chosen.expired(manifest, last_bytes(names, manifest), _now()))
    with alone(names, recovery_options("auto")) as manifest:
        return remove_expired(names, manifest, chosen, _now())


def _now() -> int:
    return time.time_ns() // 1_000_000
