"""Whether indexes of any kind are whole, and those of their files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.kernel.rows import SidecarError, reading
from headrace.store import index_file as store

if TYPE_CHECKING:
    from headrace.store.source import Source

_SECOND = 1_000_000_000


def verified(found: store.AnyStored) -> store.Unreadable | None:
    """Read all of an index; returns what is wrong with it or its delta."""
    if found.unused is not None and found.unused.fault == "corrupt":
        return found.unused
    try:
        with reading(str(found.newest_path)):
            found.index.verify()
    except SidecarError as error:
        # Which of both it is, the base alone tells.
        of_base = found.delta and verified(found.without_delta())
        path, offset, reason = error.args
        wrong = store.Unreadable(Path(path), "corrupt", f"{reason} (byte {offset})")
        return of_base or wrong
    return None


def freshness(
    found: store.AnyStored, fresh: store.Freshness, source: Source
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


def invalid(wrong: store.Unreadable) -> dict[str, Any]:
    """Say that an index cannot be used."""
    return {
        "valid": False,
        "fresh": False,
        "reason": wrong.fault,
        "detail": wrong.reason,
        "index": str(wrong.path),
    }
