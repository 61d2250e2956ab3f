"""Reports of indexes of any kind: whether one is whole and fresh, and how large it is.

What a kind counts is a function from its metadata to named numbers.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from headrace.errors import GraphIndexError, KeyIndexError
from headrace.kernel.rows import SidecarError, reading
from headrace.store.files.opened import OpenedFile
from headrace.store.files.source import Source
from headrace.store.index import stored_index

S = TypeVar("S", bound="stored_index.AnyStored")

_SECOND = 1_000_000_000


def check_index(
    found: S | stored_index.Unreadable,
    source: Source,
    counts: Callable[[Any], dict[str, int | None]],
    deep: Callable[[S, OpenedFile], str | None] | None = None,
) -> dict[str, Any]:
    """Read all of an index, and compare its file with the one that it was built from.

    `deep` compares the index with the rows of the file and returns what is wrong.
    """
    if isinstance(found, stored_index.Unreadable):
        return invalid(found)
    if (wrong := _verified(found)) is not None:
        return invalid(wrong)
    opened = OpenedFile(source)
    try:
        stored, fresh = stored_index.fitting(found, source, opened)
    except KeyIndexError as error:
        return invalid(stored_index.Unreadable(found.path, "corrupt", error.reason))
    if deep is not None and fresh.state == "fresh":
        reason = deep(stored, opened)
        if reason is not None:
            return invalid(stored_index.Unreadable(found.path, "corrupt", reason))
    return {
        **_freshness(found, fresh, source),
        "index": str(found.path),
        **counts(stored.whole),
        "size_bytes": found.index.size,
        **_delta(found, counts),
    }


def file_index_stats(
    found: S | stored_index.Unreadable,
    source: Source,
    kind: str,
    describe: Callable[[Any], dict[str, Any]],
    counts: Callable[[Any], dict[str, int | None]],
) -> dict[str, Any]:
    """Return what the index of a file covers and how large it is; raise if it is unreadable."""
    if isinstance(found, stored_index.Unreadable):
        error = GraphIndexError if kind == "graph" else KeyIndexError
        raise error(source.location, str(found.path), found.fault, found.reason)
    size = found.index.size + (found.delta.size if found.delta else 0)
    return {
        **index_stats(found, source.location, kind, describe, size),
        "build_id": f"{found.index.build_id:016x}",
        **_delta(found, counts),
    }


def index_stats(
    found: stored_index.AnyStored,
    location: str,
    kind: str,
    describe: Callable[[Any], dict[str, Any]],
    size: int,
) -> dict[str, Any]:
    """Return what an index of `size` bytes covers; `describe` adds what its kind counts."""
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
    stored: stored_index.AnyStored, counts: Callable[[Any], dict[str, int | None]]
) -> dict[str, Any]:
    """Return what the delta has, and its share of the whole index."""
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


def _verified(found: stored_index.AnyStored) -> stored_index.Unreadable | None:
    """Read all of an index; return what is wrong with it or its delta."""
    if found.unused is not None and found.unused.fault == "corrupt":
        return found.unused
    try:
        with reading(str(found.newest_path)):
            found.index.verify()
    except SidecarError as error:
        # Only reading the base alone tells which of the two is damaged.
        of_base = found.delta and _verified(found.without_delta())
        wrong = stored_index.Unreadable(Path(error.path), "corrupt", error.damage)
        return of_base or wrong
    return None


def _freshness(
    found: stored_index.AnyStored, fresh: stored_index.Freshness, source: Source
) -> dict[str, Any]:
    """Return that an index is whole, and whether its file has changed since."""
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


def invalid(wrong: stored_index.Unreadable) -> dict[str, Any]:
    """Return that an index cannot be used, and why."""
    return {
        "valid": False,
        "fresh": False,
        "reason": wrong.fault,
        "detail": wrong.reason,
        "index": str(wrong.path),
    }
