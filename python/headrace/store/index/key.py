"""Key indexes on disk: which file is that of a source and a key.

Whether it fits is said by `store/index/file.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from headrace.errors import KeyIndexError
from headrace.kernel.key_index import KeyIndex, Meta, meta_of
from headrace.store.index import file as index_file
from headrace.store.index.catalog import Catalog
from headrace.store.index.key_names import SUFFIX

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.store.index.file import Unreadable


@dataclass(frozen=True, slots=True)
class Stored(index_file.Stored[KeyIndex, Meta]):
    """A key index that was opened."""

    NAME: ClassVar = "key index"
    ERROR: ClassVar = KeyIndexError

    @staticmethod
    def begins(head: bytes) -> bool:
        """Whether the first bytes of a file are those of a key index."""
        return head[:3] == b"JNX" and head[3:4] != b"G"

    @staticmethod
    def opened(path: Path, delta: Path | None = None) -> KeyIndex:
        """Have the core open files."""
        return KeyIndex(path, delta)

    @staticmethod
    def meta_of(text: str) -> Meta:
        """Return what an index is of, from what it says."""
        return meta_of(text)

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the key."""
        return self.meta.key

    @property
    def whole(self) -> Meta:
        """What base and delta are of together."""
        if self.delta is None:
            return self.meta
        lines = self.meta.covered_lines.plus(self.delta.meta.lines)
        keys = lines.records if self.meta.mode == "unique" else None
        return replace(
            self.delta.meta,
            lines=lines,
            records=lines.records,
            keys=keys,
            base=None,
            covers=0,
        )


def read(path: Path) -> Stored | Unreadable | None:
    """Open a key index, with its delta if that is one of it; None if there is nothing."""
    return index_file.read(path, Stored)


INDEXES = Catalog("key index", KeyIndexError, read, SUFFIX, named=True)
