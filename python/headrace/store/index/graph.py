"""Graph indexes on disk: a file of edges has one, ``DATA.jnx.graph``.

Whether it fits is said by `store/index/file.py`.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from headrace.errors import GraphIndexError
from headrace.kernel.graph import EdgeFields, GraphIndex, GraphMeta, meta_of
from headrace.store.files.sidecars import sidecar_places
from headrace.store.index import file
from headrace.store.index.file import Unreadable, Where, place_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.store.files.source import Source

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


def find(source: Source, where: Where) -> StoredGraph | Unreadable | None:
    """Return the graph index of a source, or what is in its place."""
    unreadable = None
    for path in _places(source, where):
        match read(path):
            case StoredGraph() as stored:
                return stored
            case Unreadable() as wrong:
                unreadable = unreadable or wrong
            case None:
                pass
    return unreadable


def _places(source: Source, where: Where) -> Iterator[Path]:
    if where.path is not None:
        yield Path(where.path)
    else:
        yield from sidecar_places(source.location, SUFFIX, where.directory)


def destinations(
    source: Source, fields: EdgeFields, where: Where, *, force: bool
) -> Iterator[Path]:
    """List where a new index of some edges may go, the best place first.

    It takes the place of an index of the same fields, or of one that is damaged; with
    `force`, also that of an index of other fields.
    """
    for path in _places(source, where):
        match read(path):
            case None | Unreadable(fault="corrupt"):
                yield path
            case StoredGraph(meta=meta) if force or meta.fields == fields:
                yield path
            case _:
                # An index in another place would not be the first to be found.
                return


def taken(source: Source, where: Where) -> GraphIndexError:
    """Say that an index has no place to go."""
    path = next(_places(source, where))
    known = read(path)
    if isinstance(known, StoredGraph):
        reason = f"it is of the fields {', '.join(known.meta.fields.names)}"
        return GraphIndexError(source.location, str(path), "taken", reason)
    reason = "something else is in its place, which is not replaced; remove it"
    return GraphIndexError(source.location, str(path), "foreign", reason)


def unusable(
    source: Source,
    where: Where,
    fields: EdgeFields | None = None,
    *,
    reverse: bool = False,
) -> GraphIndexError:
    """Say that there is no index; `fields` are those of the edges, if they are known."""
    path = next(_places(source, where))
    reason = "there is no graph index"
    build = (
        GraphIndexError.build
        if fields is None
        else build_options(fields, where, reverse=reverse)
    )
    return GraphIndexError(source.location, str(path), "missing", reason, build)


def build_options(fields: EdgeFields, where: Where, *, reverse: bool = False) -> str:
    """Return the options of `headrace index build` for an index of such edges."""
    named = (("--from", fields.from_), ("--pred", fields.pred), ("--to", fields.to))
    ends = [
        f"{flag} {shlex.quote(field)}" for flag, field in named if field is not None
    ]
    extra = " --reverse" if reverse else ""
    return f"--graph {' '.join(ends)}{extra}{place_options(where)}"
