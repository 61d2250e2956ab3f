"""An opened set: its parts as one file, one after the other.

Code that reads rows by offset does not need to know of parts. A part is opened when it is needed,
and closed when others are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from itertools import accumulate
from threading import Lock
from typing import TYPE_CHECKING

from headrace.errors import BadSetError
from headrace.kernel.rows import Decoding, File, reading
from headrace.store.files.opened import OpenedFile
from headrace.store.files.source import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.store.shards.metadata import Part
    from headrace.store.shards.shard_set import ShardSet

_MOST_OPEN = 32
"""Limit on open parts."""


class OpenedSet(OpenedFile):
    """The rows of a set by offset, while its parts are unchanged."""

    def __init__(
        self, location: str, parts: Sequence[Part], sources: Sequence[Source]
    ) -> None:
        self.path = location
        self.parts, self.sources = tuple(parts), tuple(sources)
        self.starts = list(
            accumulate((part.logical_bytes for part in parts), initial=0)
        )
        self.size = self.starts.pop()
        self.source = Source(location, "file", size=self.size)
        self.file = self.data = File.remote(self._read_at, lambda: (self.size, 0, 0))
        self.codec, self.table, self.decoding = "none", None, Decoding(1)
        self._open: OrderedDict[int, OpenedFile] = OrderedDict()
        self._lock = Lock()

    def part_at(self, offset: int) -> int:
        """Return the number of the part that contains a byte."""
        return bisect_right(self.starts, offset) - 1

    def end_of(self, part: int) -> int:
        """Return the offset after a part."""
        return self.starts[part] + self.parts[part].logical_bytes

    def _read_at(self, offset: int, length: int) -> bytes:
        if offset >= self.size:
            return b""
        part = self.part_at(offset)
        length = min(length, self.end_of(part) - offset)
        opened = self.opened_part(part)
        # Errors of a part name the part.
        with reading(opened.path):
            return opened.data.read_at(offset - self.starts[part], length)

    def opened_part(self, part: int) -> OpenedFile:
        """Return an opened part."""
        with self._lock:
            opened = self._open.pop(part, None)
            if opened is None:
                opened = self._opened_part(part)
            self._open[part] = opened
            if len(self._open) > _MOST_OPEN:
                self._open.popitem(last=False)
            return opened

    def _opened_part(self, part: int) -> OpenedFile:
        source, expected = self.sources[part], self.parts[part].logical_bytes
        opened = OpenedFile(source, decoding=self.decoding, warn=False)
        if opened.codec != "none":
            reason = "its blocks cannot be read one by one; run `headrace shard check`"
            raise BadSetError(source.location, reason)
        if opened.size != expected:
            reason = (
                f"it has {opened.size} bytes of rows, but the metadata says {expected}"
            )
            raise BadSetError(source.location, reason)
        return opened

    def stat(self) -> tuple[int, int, int]:
        """Return its size; a set has no times."""
        return self.size, 0, 0

    def check(self) -> None:
        """Raise if an open part was changed."""
        with self._lock:
            opened = list(self._open.values())
        for part in opened:
            part.check()


def open_set(shards: ShardSet) -> OpenedSet:
    """Open a set; raises if a part is missing or has another size than in the metadata."""
    sources = shards.sources()
    return OpenedSet(shards.path, shards.metadata.parts, sources)
