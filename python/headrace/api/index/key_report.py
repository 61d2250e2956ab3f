"""What is known of a key index without looking a key up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

from headrace.api.index import set as set_index
from headrace.api.index.key import as_it_was, fields_of, where_of
from headrace.api.index.report import check_index, file_index_stats
from headrace.engines.local.key_build import scan_keys
from headrace.kernel.rows import reading
from headrace.store.index import file as index_file
from headrace.store.index import key as key_files
from headrace.store.index.target import SetSubject, subject_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from headrace.kernel.key_index import Meta
    from headrace.store.files.opened import OpenedFile
    from headrace.store.files.source import Source
    from headrace.store.index.target import Indexed


def check_lookup_index(
    source: Indexed,
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
    subject, where = subject_of(source), where_of(index, index_dir)
    if isinstance(subject, SetSubject):
        fields = None if key is None else fields_of(key)
        return set_index.check(
            subject.shards, fields, where, deep=deep, progress=progress
        )

    def differs(stored: key_files.Stored, opened: OpenedFile) -> str | None:
        """Compare every row with the index, and the index with every row."""
        asked = replace(as_it_was(stored), progress=progress)
        keys = scan_keys(opened, asked, Path(gettempdir()))
        with reading(str(stored.path)):
            same = stored.index.is_of_all(keys.runs, opened.data)
        return None if same else "its rows are not those of the file"

    one = subject.source
    found = _found(one, key, where)
    return check_index(found, one, _counts, differs if deep else None)


def lookup_index_stats(
    source: Indexed,
    key: str | Sequence[str] | None = None,
    *,
    index: str | os.PathLike[str] | None = None,
    index_dir: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Return what an index is of, and how large it is.

    With a delta, ``unique_keys`` is None where nobody knows how many keys are in both.
    """
    subject, where = subject_of(source), where_of(index, index_dir)
    if isinstance(subject, SetSubject):
        fields = None if key is None else fields_of(key)
        return set_index.stats(subject.shards, fields, where, _described)
    one = subject.source
    found = _found(one, key, where)
    return file_index_stats(found, one, "lookup", _described, _counts)


def _counts(meta: Meta) -> dict[str, int | None]:
    return {"records": meta.records, "keys": meta.keys}


def _described(meta: Meta) -> dict[str, Any]:
    per_key = None if meta.keys is None else round(meta.records / max(meta.keys, 1), 2)
    return {
        "mode": meta.mode,
        "key": ",".join(meta.key),
        "records": meta.records,
        "unique_keys": meta.keys,
        "avg_records_per_key": per_key,
    }


def _found(
    source: Source, key: str | Sequence[str] | None, where: index_file.Where
) -> key_files.Stored | index_file.Unreadable:
    fields = None if key is None else list(fields_of(key))
    found = key_files.find(source, fields, where)
    if found is None:
        raise key_files.unusable(source, fields, where)
    return found
