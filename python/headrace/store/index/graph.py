"""Graph index files: a file of edges has one index, ``DATA.jnx.graph``.

`store/index/stored_index.py` decides whether it fits.
"""

import shlex
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from headrace.errors import GraphIndexError
from headrace.kernel.graph import EdgeFields, GraphIndex, GraphMeta, meta_of
from headrace.kernel.index_meta import Lines
from headrace.store.index import stored_index
from headrace.store.index.catalog import Catalog
from headrace.store.index.stored_index import Where, place_options

SUFFIX = ".jnx.graph"


@dataclass(frozen=True, slots=True)
class StoredGraph(stored_index.Stored[GraphIndex, GraphMeta]):
    """A graph index that is open."""

    NAME: ClassVar = "graph index"
    ERROR: ClassVar = GraphIndexError
    opened: ClassVar = GraphIndex
    meta_of: ClassVar = staticmethod(meta_of)

    @staticmethod
    def begins(head: bytes) -> bool:
        """Whether the first bytes of a file are those of a graph index."""
        return head[:4] == b"JNXG"

    @property
    def fields(self) -> EdgeFields:
        """The fields of the edges."""
        return self.meta.fields

    def counts(self, lines: Lines) -> dict[str, int | None]:
        """Return the edges of base and delta; they may have nodes and predicates in common."""
        return {"edges": lines.records, "nodes": None, "predicates": None}


INDEXES = Catalog(
    StoredGraph, partial(stored_index.read, kind=StoredGraph), SUFFIX, named=False
)


def build_options(fields: EdgeFields, where: Where, *, reverse: bool = False) -> str:
    """Return the options of `headrace index build` for an index of edges."""
    named = (
        ("--from-field", fields.from_),
        ("--pred-field", fields.pred),
        ("--to-field", fields.to),
    )
    ends = [
        f"{flag} {shlex.quote(field)}" for flag, field in named if field is not None
    ]
    extra = " --incoming" if reverse else ""
    return f"--graph {' '.join(ends)}{extra}{place_options(where)}"
