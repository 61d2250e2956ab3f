"""What can be said of a key index without looking a key up."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from headrace.api.key_index import fields_of, one_source, where_of
from headrace.errors import KeyIndexError
from headrace.kernel.rows import SidecarError, reading
from headrace.store import key_index as store
from headrace.store.opened import OpenedFile

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from headrace.store.source import Source

_SECOND = 1_000_000_000


def check_lookup_index(
    source: str | os.PathLike[str],
    key: str | Sequence[str] | None = None,
    *,
    index: str | os.PathLike[str] | None = None,
    index_dir: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Look at every byte of an index, and compare the file with what it was built from.

    ``valid``: it is whole. ``fresh``: it is that of the file as it is. If not both,
    ``reason`` says why.
    """
    one = one_source(source)
    found = _found(one, key, where_of(index, index_dir))
    if isinstance(found, store.Unreadable):
        return _invalid(str(found.path), found.fault, found.reason)
    try:
        with reading(str(found.path)):
            found.index.verify()
    except SidecarError as error:
        _path, offset, reason = error.args
        return _invalid(str(found.path), "corrupt", f"{reason} (byte {offset})")
    fresh = store.freshness(found, one, OpenedFile(one))
    said: dict[str, Any] = {"valid": True, "fresh": fresh.state == "fresh"}
    if fresh.state != "fresh":
        made = found.meta.source.mtime_ns
        said |= {
            "reason": fresh.reason,
            "source_mtime": one.mtime_ns // _SECOND,
            "index_mtime": made // _SECOND,
            "source_mtime_ns": one.mtime_ns,
            "index_mtime_ns": made,
        }
    return said | {
        "index": str(found.path),
        "records": found.meta.records,
        "keys": found.meta.keys,
        "size_bytes": found.index.size,
    }


def lookup_index_stats(
    source: str | os.PathLike[str],
    key: str | Sequence[str] | None = None,
    *,
    index: str | os.PathLike[str] | None = None,
    index_dir: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Return what an index is of, and how large it is."""
    one = one_source(source)
    found = _found(one, key, where_of(index, index_dir))
    if isinstance(found, store.Unreadable):
        raise KeyIndexError(one.location, str(found.path), found.fault, found.reason)
    meta, size = found.meta, found.index.size
    built = datetime.fromtimestamp(found.changed_ns() // _SECOND, UTC)
    return {
        "source": one.location,
        "index": str(found.path),
        "type": "lookup",
        "version": found.index.version,
        "mode": meta.mode,
        "key": ",".join(meta.key),
        "records": meta.records,
        "unique_keys": meta.keys,
        "avg_records_per_key": round(meta.records / max(meta.keys, 1), 2),
        "lines": meta.lines.lines,
        "skipped": meta.lines.skipped,
        "index_size_bytes": size,
        "source_size_bytes": meta.source.size,
        "compression_ratio": round(size / max(meta.source.size, 1), 2),
        "build_time": built.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "build_id": f"{found.index.build_id:016x}",
    }


def _found(
    source: Source, key: str | Sequence[str] | None, where: store.Where
) -> store.Stored | store.Unreadable:
    fields = None if key is None else list(fields_of(key))
    found = store.find(source, fields, where)
    if found is None:
        raise store.unusable(source, fields)
    return found


def _invalid(path: str, fault: str, reason: str) -> dict[str, Any]:
    return {
        "valid": False,
        "fresh": False,
        "reason": fault,
        "detail": reason,
        "index": path,
    }
