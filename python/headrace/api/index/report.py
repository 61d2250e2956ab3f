"""What can be said of indexes of any kind without asking them for rows.

What the kinds count is a function from their metadata to numbers with names.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.errors import GraphIndexError, KeyIndexError
from headrace.kernel.rows import SidecarError, reading
from headrace.store.files.opened import OpenedFile
from headrace.store.index import file as index_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.store.files.source import Source

S = TypeVar("S", bound="index_file.AnyStored")

_SECOND = 1_000_000_000


def check_index(
    found: S | index_file.Unreadable,
    source: Source,
    counts: Callable[[Any], dict[str, int | None]],
    deep: Callable[[S, OpenedFile], str | None] | None = None,
) -> dict[str, Any]:
    """Look at every byte of an index, and compare its file with what it was built from.

    `deep` compares it with the rows of the file, and says what is wrong.
    """
    if isinstance(found, index_file.Unreadable):
        return invalid(found)
    if (wrong := _verified(found)) is not None:
        return invalid(wrong)
    opened = OpenedFile(source)
    try:
        stored, fresh = index_file.fitting(found, source, opened)
    except KeyIndexError as error:
        return invalid(index_file.Unreadable(found.path, "corrupt", error.reason))
    if deep is not None and fresh.state == "fresh":
        reason = deep(stored, opened)
        if reason is not None:
            return invalid(index_file.Unreadable(found.path, "corrupt", reason))
    return {
        **_freshness(found, fresh, source),
        "index": str(found.path),
        **counts(stored.whole),
        "size_bytes": found.index.size,
        **_delta(found, counts),
    }


def file_index_stats(
    found: S | index_file.Unreadable,
    source: Source,
    kind: str,
    describe: Callable[[Any], dict[str, Any]],
    counts: Callable[[Any], dict[str, int | None]],
) -> dict[str, Any]:
    """Return what the index of a file is of, and how large it is; raises if nobody can say."""
    if isinstance(found, index_file.Unreadable):
        error = GraphIndexError if kind == "graph" else KeyIndexError
        raise error(source.location, str(found.path), found.fault, found.reason)
    size = found.index.size + (found.delta.size if found.delta else 0)
    return {
        **index_stats(found, source.location, kind, describe, size),
        "build_id": f"{found.index.build_id:016x}",
        **_delta(found, counts),
    }


def index_stats(
    found: index_file.AnyStored,
    location: str,
    kind: str,
    describe: Callable[[Any], dict[str, Any]],
    size: int,
) -> dict[str, Any]:
    """Return what an index of so many bytes is of, which is for `describe` to say."""
    whole = found.whole
    built = datetime.fromtimestamp(found.changed_ns(location) // _SECOND, UTC)
    return {
        "source": location,
        "index": str(found.path),
        "type": kind,
        "version": found.index.version,
        **describe(whole),
        "lines": whole.lines.lines,
        "skipped": whole.lines.skipped,
        "index_size_bytes": size,
        "source_size_bytes": whole.source.size,
        "compression_ratio": round(size / max(whole.source.size, 1), 2),
        "build_time": built.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _delta(
    stored: index_file.AnyStored, counts: Callable[[Any], dict[str, int | None]]
) -> dict[str, Any]:
    """Say what is in the delta, and what it is to the whole."""
    if stored.delta is None:
        return {}
    delta, all_ = stored.delta, stored.whole.lines.records
    return {
        "delta": {
            "index": str(delta.path),
            "version": delta.version,
            **counts(delta.meta),
            "size_bytes": delta.size,
            "share": round(delta.meta.lines.records / max(all_, 1), 2),
        }
    }


def _verified(found: index_file.AnyStored) -> index_file.Unreadable | None:
    """Read all of an index; returns what is wrong with it or its delta."""
    if found.unused is not None and found.unused.fault == "corrupt":
        return found.unused
    try:
        with reading(str(found.newest_path)):
            found.index.verify()
    except SidecarError as error:
        # Which of both it is, the base alone tells.
        of_base = found.delta and _verified(found.without_delta())
        wrong = index_file.Unreadable(Path(error.path), "corrupt", error.damage)
        return of_base or wrong
    return None


def _freshness(
    found: index_file.AnyStored, fresh: index_file.Freshness, source: Source
) -> dict[str, Any]:
    """Say that an index is whole, and whether it is that of its file."""
    if fresh.state == "fresh":
        return {"valid": True, "fresh": True}
    made = found.newest.source.mtime_ns
    return {
        "valid": True,
        "fresh": False,
        "reason": fresh.reason,
        "source_mtime": source.mtime_ns // _SECOND,
        "index_mtime": made // _SECOND,
        "source_mtime_ns": source.mtime_ns,
        "index_mtime_ns": made,
    }


def invalid(wrong: index_file.Unreadable) -> dict[str, Any]:
    """Say that an index cannot be used."""
    return {
        "valid": False,
        "fresh": False,
        "reason": wrong.fault,
        "detail": wrong.reason,
        "index": str(wrong.path),
    }
