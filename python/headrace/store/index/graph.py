"""Graph indexes on disk: a file of edges has one, ``DATA.jnx.graph``.

Whether it fits is said by `store/index/file.py`.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from headrace.errors import GraphIndexError
from headrace.kernel.graph import EdgeFields, GraphIndex, GraphMeta, meta_of
from headrace.store.index import file
from headrace.store.index.catalog import Catalog
from headrace.store.index.file import Unreadable, Where, place_options

if TYPE_CHECKING:
    from pathlib import Path

SUFFIX = ".jnx.graph"


@dataclass(frozen=True, slots=True)
class StoredGraph(file.Stored[GraphIndex, GraphMeta]):
    """A graph index that was opened."""

    NAME: ClassVar = "graph index"
    ERROR: ClassVar = GraphIndexError

    @staticmethod
    def begins(head: bytes) -> bool:
        """Whether the first bytes of a file are those of a graph index."""
        return head[:4] == b"JNXG"

    @staticmethod
    def opened(path: Path, delta: Path | None = None) -> GraphIndex:
        """Have the core open files."""
        return GraphIndex(path, delta)

    @staticmethod
    def meta_of(text: str) -> GraphMeta:
        """Return what an index is of, from what it says."""
        return meta_of(text)

    @property
    def fields(self) -> EdgeFields:
        """The fields of the edges."""
        return self.meta.fields

    @property
    def whole(self) -> GraphMeta:
        """What base and delta are of together."""
        if self.delta is None:
            return self.meta
        lines = self.meta.covered_lines.plus(self.delta.meta.lines)
        return replace(
            self.delta.meta,
            lines=lines,
            edges=lines.records,
            nodes=None,
            predicates=None,
            base=None,
            covers=0,
        )


def read(path: Path) -> StoredGraph | Unreadable | None:
    """Open a graph index, with its delta if that is one of it; None if there is nothing."""
    return file.read(path, StoredGraph)


INDEXES = Catalog("graph index", GraphIndexError, read, SUFFIX, named=False)


def build_options(fields: EdgeFields, where: Where, *, reverse: bool = False) -> str:
    """Return the options of `headrace index build` for an index of such edges."""
    named = (("--from", fields.from_), ("--pred", fields.pred), ("--to", fields.to))
    ends = [
        f"{flag} {shlex.quote(field)}" for flag, field in named if field is not None
    ]
    extra = " --reverse" if reverse else ""
    return f"--graph {' '.join(ends)}{extra}{place_options(where)}"
