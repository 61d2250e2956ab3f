"""Key index files.

`store/index/stored_index.py` decides whether it fits.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from headrace.errors import KeyIndexError
from headrace.kernel.index_meta import Lines
from headrace.kernel.key_index import KeyIndex, Meta, meta_of
from headrace.store.index import stored_index
from headrace.store.index.catalog import SUFFIX, Catalog


@dataclass(frozen=True, slots=True)
class Stored(stored_index.Stored[KeyIndex, Meta]):
    """A key index that is open."""

    NAME: ClassVar = "key index"
    ERROR: ClassVar = KeyIndexError
    opened: ClassVar = KeyIndex
    meta_of: ClassVar = staticmethod(meta_of)

    @staticmethod
    def begins(head: bytes) -> bool:
        """Whether the first bytes of a file are those of a key index."""
        return head[:3] == b"JNX" and head[3:4] != b"G"

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the key."""
        return self.meta.key

    def counts(self, lines: Lines) -> dict[str, int | None]:
        """Return the rows of base and delta, and their keys, which they may have in common."""
        keys = lines.records if self.meta.mode == "unique" else None
        return {"records": lines.records, "keys": keys}


INDEXES = Catalog(Stored, partial(stored_index.read, kind=Stored), SUFFIX, named=True)
