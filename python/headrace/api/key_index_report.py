"""What can be said of a key index without looking a key up."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

from headrace.api.index_check import freshness, invalid, verified
from headrace.api.key_index import as_it_was, fields_of, one_source, where_of
from headrace.engines.local.key_build import scan_keys
from headrace.errors import KeyIndexError
from headrace.kernel.rows import reading
from headrace.store import index_file as files
from headrace.store import key_index as store
from headrace.store.opened import OpenedFile

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from headrace.store.source import Source

_SECOND = 1_000_000_000


def check_lookup_index(
    source: str | os.PathLike[str],
    key: str | Sequence[str] | None = None,
    *,
    deep: bool = False,
    index: str | os.PathLike[str] | None = None,
    index_dir: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] = lambda _bytes, _records: None,
) -> dict[str, Any]:
    """Look at every byte of an index, and compare the file with what it was built from.

    ``valid``: it is whole. ``fresh``: it is that of the file as it is. If not both,
    ``reason`` says why. With `deep`, every row of the file is looked for in an index that is
    fresh, and the index must have no others.
    """
    one = one_source(source)
    found = _found(one, key, where_of(index, index_dir))
    if isinstance(found, files.Unreadable):
        return invalid(found)
    if (wrong := verified(found)) is not None:
        return invalid(wrong)
    opened = OpenedFile(one)
    try:
        stored, fresh = files.fitting(found, one, opened)
    except KeyIndexError as error:
        return invalid(files.Unreadable(found.path, "corrupt", error.reason))
    if deep and fresh.state == "fresh" and not _has_all_rows(stored, opened, progress):
        reason = "its rows are not those of the file"
        return invalid(files.Unreadable(found.path, "corrupt", reason))
    return {
        **freshness(found, fresh, one),
        "index": str(found.path),
        "records": stored.whole.records,
        "keys": stored.whole.keys,
        "size_bytes": found.index.size,
        **_delta(found),
    }


def _has_all_rows(
    stored: store.Stored, opened: OpenedFile, progress: Callable[[int, int], None]
) -> bool:
    """Compare every row with the index, and the index with every row."""
    asked = as_it_was(stored)
    room = Path(gettempdir())
    keys = scan_keys(opened, replace(asked, progress=progress), room)
    with reading(str(stored.path)):
        return stored.index.is_of_all(keys.runs, opened.data)


def lookup_index_stats(
    source: str | os.PathLike[str],
    key: str | Sequence[str] | None = None,
    *,
    index: str | os.PathLike[str] | None = None,
    index_dir: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Return what an index is of, and how large it is.

    With a delta, ``unique_keys`` is None where nobody knows how many keys are in both.
    """
    one = one_source(source)
    found = _found(one, key, where_of(index, index_dir))
    if isinstance(found, files.Unreadable):
        raise KeyIndexError(one.location, str(found.path), found.fault, found.reason)
    meta, size = (
        found.whole,
        found.index.size + (found.delta.size if found.delta else 0),
    )
    built = datetime.fromtimestamp(found.changed_ns() // _SECOND, UTC)
    per_key = None if meta.keys is None else round(meta.records / max(meta.keys, 1), 2)
    return {
        "source": one.location,
        "index": str(found.path),
        "type": "lookup",
        "version": found.index.version,
        "mode": meta.mode,
        "key": ",".join(meta.key),
        "records": meta.records,
        "unique_keys": meta.keys,
        "avg_records_per_key": per_key,
        "lines": meta.lines.lines,
        "skipped": meta.lines.skipped,
        "index_size_bytes": size,
        "source_size_bytes": meta.source.size,
        "compression_ratio": round(size / max(meta.source.size, 1), 2),
        "build_time": built.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "build_id": f"{found.index.build_id:016x}",
        **_delta(found),
    }


def _delta(stored: store.Stored) -> dict[str, Any]:
    """Say what is in the delta, and what it is to the whole."""
    if stored.delta is None:
        return {}
    delta = stored.delta
    share = delta.meta.records / max(stored.whole.records, 1)
    return {
        "delta": {
            "index": str(delta.path),
            "version": delta.version,
            "records": delta.meta.records,
            "keys": delta.meta.keys,
            "size_bytes": delta.size,
            "share": round(share, 2),
        }
    }


def _found(
    source: Source, key: str | Sequence[str] | None, where: files.Where
) -> store.Stored | files.Unreadable:
    fields = None if key is None else list(fields_of(key))
    found = store.find(source, fields, where)
    if found is None:
        raise store.unusable(source, fields)
    return found
