"""Dump of an index: its entries as JSON objects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import LogDamagedError
from headrace.kernel.log import ENTRY_BYTES, FLAGS, HEADER_BYTES, log_entry
from headrace.kernel.rows import reading
from headrace.store.log import files
from headrace.store.log import manifest as manifests
from headrace.store.log.entries import committed_now, decode_header, rows_in
from headrace.store.log.names import LogNames

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

_ROWS_AT_ONCE = 4096


def dumped_log(
    directory: str | os.PathLike[str],
) -> Iterator[tuple[Path, Iterator[dict[str, object]]]]:
    """Yield each index of a log with its header and the entries of committed lines."""
    names = LogNames(directory)
    manifest = manifests.existing(names)
    for segment in manifest.segments:
        if segment.rows:
            path = names.index(segment.base)
            yield path, dumped_index(path, segment.rows)
    path = names.index(manifest.active.base)
    yield path, dumped_index(path, committed_now(names, manifest.mark).rows)


def dumped_index(
    path: str | os.PathLike[str], rows: int | None = None
) -> Iterator[dict[str, object]]:
    """Yield the header of an index, then each entry, or the first `rows` of them."""
    name = str(path)
    with reading(name):
        file = files.open_file(Path(path))
        size, _mtime, _ctime = file.stat()
        header = decode_header(file.read_at(0, HEADER_BYTES))
    if header is None:
        raise LogDamagedError(name, 0, "it does not begin as the index of a log does")
    yield {
        "type": "header",
        "fileNumber": header.file_number,
        "globalLineOffset": header.base,
    }
    rows = rows_in(size) if rows is None else rows
    for first in range(0, rows, _ROWS_AT_ONCE):
        count = min(_ROWS_AT_ONCE, rows - first)
        offset = HEADER_BYTES + first * ENTRY_BYTES
        with reading(name):
            data = file.read_at(offset, count * ENTRY_BYTES)
        for at in range(0, count * ENTRY_BYTES, ENTRY_BYTES):
            yield _entry(name, offset + at, data[at : at + ENTRY_BYTES], header.salt)


def _entry(name: str, offset: int, data: bytes, salt: int) -> dict[str, object]:
    entry = log_entry(data, salt) if len(data) == ENTRY_BYTES else None
    if entry is None:
        raise LogDamagedError(name, offset, "the entry is not good")
    fields: dict[str, object] = {
        "fileNumber": entry.file_number,
        "lineNumberLocal": entry.line_of_file,
        "lineNumberGlobal": entry.line,
        "startByte": entry.start,
        "endByte": entry.end,
        "messageTime": entry.time,
        "timeSource": "extracted" if entry.extracted else "created",
    }
    flags = [flag for bit, flag in enumerate(FLAGS) if entry.flags >> bit & 1]
    return {**fields, "flags": flags} if flags else fields
