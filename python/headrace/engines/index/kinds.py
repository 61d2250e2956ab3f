"""Kinds of indexes, as an engine builds them.

A build says what is collected of rows, and how an index is written of that; where rows are
read, and by whom, is the business of engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from headrace.engines.index.collect import Collecting, ScanOptions, line_of
from headrace.kernel import graph, key_index
from headrace.kernel.graph import EdgeFields, GraphPlan, GraphRuns
from headrace.kernel.key_index import KeyRuns, KeyScan, Plan
from headrace.kernel.rows import explaining
from headrace.store.index import graph as graph_files
from headrace.store.index import key
from headrace.store.index.graph import StoredGraph
from headrace.store.index.key import Stored

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from headrace.engines.index.collect import Collected
    from headrace.kernel.graph import GraphWritten
    from headrace.kernel.index_meta import Lines, SourceMark
    from headrace.kernel.key_index import Skipped, Written
    from headrace.store.files.opened import OpenedFile
    from headrace.store.index.file import AnyStored

W = TypeVar("W")

COMPACT_FROM = 0.25
"""How many rows for each of the base a delta has when both become one index."""


@dataclass(frozen=True, slots=True)
class Built(Generic[W]):
    """An index that was built."""

    path: Path
    written: W
    lines: Lines
    first_skipped: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class KeyBuild(ScanOptions):
    """What index of a key is to be built."""

    STORED: ClassVar = Stored
    INDEXES: ClassVar = key.INDEXES

    fields: tuple[str, ...]
    unique: bool = False
    version: int | None = None

    def collecting(self) -> Collecting[KeyRuns]:
        """Return how keys are collected."""
        return Collecting(
            lambda directory, memory, _number: KeyRuns(directory, memory),
            self._scan,
            KeyScan.advance,
            KeyRuns.finish,
            KeyRuns.save,
            KeyRuns.saved,
        )

    def _scan(self, how: ScanOptions, unterminated: int | None) -> KeyScan:
        return KeyScan(
            self.fields,
            max_depth=how.max_depth,
            unterminated=unterminated,
            all_skipped=how.skipped is not None,
        )

    def made(self, known: AnyStored) -> bool:
        """Whether an index of the same key is as this one would be."""
        mode = "unique" if self.unique else "multi"
        version = self.version in (None, known.index.version)
        return bool(known.meta.mode == mode and version)

    def plan(self, keys: Collected[Any], mark: SourceMark) -> Plan:
        """Return what is to be written of the keys of a source that looked like `mark`."""
        return Plan(
            self.fields,
            self.unique,
            self.version,
            keys.lines,
            keys.plain_numbers,
            keys.made_of(self, mark),
            keys.hashes,
        )

    def write(
        self, runs: Sequence[KeyRuns], path: Path, plan: Plan, opened: OpenedFile
    ) -> Written:
        """Write the index of what is in `runs` to an empty file."""
        return key_index.write_index(
            runs,
            path,
            plan,
            source=opened.path,
            line_of=lambda offset: line_of(opened, offset),
        )


@dataclass(frozen=True, slots=True)
class GraphBuild(ScanOptions):
    """What index of edges is to be built; `reverse`, with incoming edges."""

    STORED: ClassVar = StoredGraph
    INDEXES: ClassVar = graph_files.INDEXES

    fields: EdgeFields
    reverse: bool = False
    version: int | None = None

    def collecting(self, before: int = 0) -> Collecting[GraphRuns]:
        """Return how edges are collected of a source that has so many bytes before it."""
        return Collecting(
            GraphRuns,
            self._scan,
            lambda scan, stream, runs: runs.advance(stream, scan, before),
            GraphRuns.finish,
            GraphRuns.save,
            GraphRuns.saved,
        )

    def _scan(self, how: ScanOptions, unterminated: int | None) -> KeyScan:
        return KeyScan(
            self.fields.names,
            max_depth=how.max_depth,
            unterminated=unterminated,
            all_skipped=how.skipped is not None,
            apart=True,
        )

    def made(self, known: AnyStored) -> bool:
        """Whether an index is as this one would be."""
        same = (known.meta.fields, known.meta.reverse) == (self.fields, self.reverse)
        return same and self.version in (None, known.index.version)

    def plan(self, edges: Collected[Any], mark: SourceMark) -> GraphPlan:
        """Return what is to be written of the edges of a source that looked like `mark`."""
        return GraphPlan(
            self.fields,
            self.reverse,
            self.version,
            self.memory,
            edges.lines,
            edges.made_of(self, mark),
            edges.hashes,
        )

    def write(
        self, runs: Sequence[GraphRuns], path: Path, plan: GraphPlan, opened: OpenedFile
    ) -> GraphWritten:
        """Write the index of what is in `runs` to an empty file."""
        with explaining(opened.path):
            return graph.write_index(runs, path, plan, source=opened.path)


AnyBuild: TypeAlias = KeyBuild | GraphBuild
