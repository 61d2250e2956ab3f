"""Parts in a directory for each value of a key, as Hive and Spark lay them out.

Records of one partition stay in their order. The number of open packers is limited; the least
recently used one ends its part early. That depends only on the records, not on the sizes of
batches, so the same records give the same files.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from headrace.errors import HeadraceWarning
from headrace.kernel.blocks import LineRefusal, RowRefusal
from headrace.kernel.rows import RowBatch, rows_of
from headrace.kernel.values import parse
from headrace.store.shards.names import partition_name
from headrace.store.shards.write.parts import Destination, PartFiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.store.shards.metadata import Part
    from headrace.store.shards.options import PackOptions

_BOM = b"\xef\xbb\xbf"
_MARKED = "a byte order mark (only a file may begin with one)"

MOST_OPEN = 1024
"""Limit on partitions that are open at the same time."""


class Keys(Protocol):
    """Finds the value of a row that decides its partition."""

    @property
    def key(self) -> str:
        """The name of the key in directory names."""
        ...

    def of(
        self, batch: RowBatch
    ) -> tuple[Sequence[bytes], tuple[int, int, str] | None]:
        """Return the value of each row as JSON, empty for a blank row.

        They end before a row that is not JSON: its position in the batch, the byte and the reason
        are returned beside them.
        """
        ...


@dataclass(slots=True)
class _Open:
    """An open partition, and its lines that were not written yet."""

    files: PartFiles
    lines: list[bytes]


class PartitionedFiles:
    """The parts of all partitions of a set."""

    def __init__(
        self, destination: Destination, options: PackOptions, keys: Keys
    ) -> None:
        self.records = 0
        self.blank = 0
        self._has_warned = False
        self._destination = destination
        # Finding the key checks the whole record, and threads for each partition would be too many.
        self._options = replace(options, max_depth=None, threads=1)
        self._keys = keys
        self._files: dict[str, PartFiles] = {}
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._directories: dict[bytes, tuple[str, str | None] | str] = {}
        limits = options.limits
        both = (limits.max_bytes, limits.max_logical_bytes)
        self._limit = min((each for each in both if each is not None), default=None)

    @property
    def bytes_written(self) -> int:
        """The bytes of files so far."""
        return sum(files.bytes_written for files in self._files.values())

    @property
    def logical_bytes(self) -> int:
        """The bytes of all records with their newlines."""
        return sum(files.logical_bytes for files in self._files.values())

    @property
    def parts(self) -> list[Part]:
        """All parts, ordered by partition."""
        return [
            part for _name, files in sorted(self._files.items()) for part in files.parts
        ]

    def add(self, data: bytes, start: int = 0) -> LineRefusal | None:
        """Add the lines from byte `start` on, up to one that is refused."""
        text = data[start:] if start else data
        if not text:
            return None
        if not text.endswith(b"\n"):
            text += b"\n"
        if text.startswith(_BOM):
            # Readers skip it only at the start of a file, and here it would be inside a part.
            end = start + text.index(b"\n") + 1
            return LineRefusal(start, end, "json", start, _MARKED)
        refusal = None
        for batch in rows_of(text):
            refusal = self._take(text, batch)
            if refusal is not None:
                break
        for one in self._open.values():
            self._take_lines(one)
        if refusal is None:
            return None
        begin, end, offset = refusal.begin, refusal.end, refusal.offset
        return LineRefusal(
            begin + start, end + start, refusal.kind, offset + start, refusal.reason
        )

    def add_rows(self, rows: RowBatch, start: int = 0) -> RowRefusal | None:
        """Add the rows from position `start` on, up to one that is refused."""
        too_long = [(at, length) for at, length in rows.too_long if at >= start]
        stop, length = too_long[0] if too_long else (len(rows), 0)
        lines = rows.slice(start, stop - start).lines()
        refusal = self.add(lines)
        if refusal is not None:
            begin, kind, reason = refusal.begin, refusal.kind, refusal.reason
            position = start + lines.count(b"\n", 0, begin)
            offset = rows.offsets[position] + refusal.offset - begin
            return RowRefusal(position, kind, offset, reason)
        if stop == len(rows):
            return None
        return RowRefusal(stop, "too_long", rows.offsets[stop], str(length))

    def _take(self, text: bytes, batch: RowBatch) -> LineRefusal | None:
        offsets = batch.offsets
        found, refused = self._keys.of(batch)
        for begin, value in zip(offsets, found, strict=False):
            end = text.index(b"\n", begin) + 1
            directory = self._directory(value)
            if isinstance(directory, str):
                return LineRefusal(begin, end, "json", begin, directory)
            refusal = self._put(directory, text[begin:end])
            if refusal is not None:
                return LineRefusal(begin, end, refusal.kind, begin, refusal.reason)
        if refused is None:
            return None
        position, offset, reason = refused
        begin = offsets[position]
        return LineRefusal(begin, text.index(b"\n", begin) + 1, "json", offset, reason)

    def _put(
        self, directory: tuple[str, str | None], line: bytes
    ) -> LineRefusal | None:
        one = self._opened(*directory)
        if self._surely_fits(line):
            one.lines.append(line)
            self.records += 1
            self.blank += line.isspace()
            return None
        self._take_lines(one)
        refusal = one.files.add(line)
        self.records += refusal is None
        return refusal

    def _surely_fits(self, line: bytes) -> bool:
        """Whether a line cannot be refused, however badly it compresses."""
        return self._limit is None or len(line) + len(line) // 8 + 1024 <= self._limit

    def _opened(self, name: str, value: str | None) -> _Open:
        one = self._open.get(name)
        if one is not None:
            self._open.move_to_end(name)
            return one
        if len(self._open) >= MOST_OPEN:
            _name, oldest = self._open.popitem(last=False)
            self._take_lines(oldest)
            oldest.files.finish()
            self._warn_of_many()
        files = self._files.get(name)
        if files is None:
            partition = (self._keys.key, value)
            files = PartFiles(self._destination, self._options, partition)
            self._files[name] = files
        one = self._open[name] = _Open(files, [])
        return one

    def _warn_of_many(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            message = (
                f"{self._keys.key} has more than {MOST_OPEN} values at a time, so files "
                "are cut short; sort the rows by it, or choose a key with fewer values"
            )
            warnings.warn(message, HeadraceWarning, stacklevel=2)

    def _directory(self, value: bytes) -> tuple[str, str | None] | str:
        """Return the directory and value of a partition, or why there is none."""
        known = self._directories.get(value)
        if known is None:
            known = directory_of(self._keys.key, value)
            if len(self._directories) < 1 << 16:
                self._directories[value] = known
        return known

    def _take_lines(self, one: _Open) -> None:
        lines, one.lines = one.lines, []
        if lines and one.files.add(b"".join(lines)) is not None:
            raise AssertionError("a record that fits was refused")
        if lines:
            one.files.rest()

    def finish(self) -> None:
        """End all parts."""
        while self._open:
            _name, one = self._open.popitem(last=False)
            self._take_lines(one)
            one.files.finish()

    def close(self) -> None:
        """Close the files that are being written."""
        for files in self._files.values():
            with suppress(OSError):
                files.close()


def part_files(
    destination: Destination, options: PackOptions, keys: Keys | None
) -> PartFiles | PartitionedFiles:
    """Return the parts of a set or an attempt; with `keys`, in partitions."""
    if keys is None:
        return PartFiles(destination, options)
    return PartitionedFiles(destination, options, keys)


def directory_of(key: str, value: bytes) -> tuple[str, str | None] | str:
    """Return the directory and value of a partition, or why there is none; `value` is JSON.

    >>> directory_of("day", b'"a/b"'), directory_of("day", b"null")[1]
    (('day=a%2Fb', 'a/b'), None)
    >>> directory_of("day", b"[1]")
    'day is an object or array, which no directory can be named after'
    """
    if value[:1] in (b"{", b"["):
        return f"{key} is an object or array, which no directory can be named after"
    if value[:1] == b'"':
        text = str(parse(value))
    else:
        text = "" if value == b"null" else value.decode()
    name = partition_name(key, text or None)
    if name is None:
        return f"{key} is too long for the name of a directory"
    return name, text or None
