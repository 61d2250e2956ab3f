"""Kinds of indexes: a build of each collects entries from rows, and writes them as an index.

Where the rows are read, in threads or in tasks, is up to the engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from headrace.engines.index.collect import Collector, line_of
from headrace.kernel import graph, key_index
from headrace.kernel.graph import EdgeFields, GraphPlan, GraphRuns
from headrace.kernel.key_index import KeyRuns, KeyScan, Plan
from headrace.kernel.rows import explaining
from headrace.store.index import graph as graph_files
from headrace.store.index import key

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from headrace.engines.index.collect import Collected
    from headrace.kernel.graph import GraphWritten
    from headrace.kernel.index_meta import Lines, SourceMark
    from headrace.kernel.key_index import Skipped, Written
    from headrace.kernel.rows import RowStream
    from headrace.store.files.opened import OpenedFile
    from headrace.store.index.file import AnyStored

W = TypeVar("W")

COMPACT_FROM = 0.25
"""Base and delta are compacted when the delta has this share of the rows of the base."""


@dataclass(frozen=True, slots=True)
class Built(Generic[W]):
    """An index that was built."""

    path: Path
    written: W
    lines: Lines
    first_skipped: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class KeyBuild(Collector[KeyRuns]):
    """A key index to build."""

    RUNS: ClassVar = KeyRuns
    INDEXES: ClassVar = key.INDEXES

    fields: tuple[str, ...]
    unique: bool = False
    version: int | None = None

    def begin_runs(self, directory: Path, memory: int, number: int) -> KeyRuns:
        """Return empty runs of keys."""
        del number
        return KeyRuns(directory, memory)

    def begin_scan(self, unterminated: int | None) -> KeyScan:
        """Begin to read the keys of rows."""
        return KeyScan(
            self.fields,
            max_depth=self.max_depth,
            unterminated=unterminated,
            all_skipped=self.skipped is not None,
        )

    def advance(self, scan: KeyScan, stream: RowStream, runs: KeyRuns) -> bool:
        """Add the keys of some rows."""
        return scan.advance(stream, runs)

    def made(self, known: AnyStored) -> bool:
        """Whether an index of the same key has the options of this build."""
        mode = "unique" if self.unique else "multi"
        version = self.version in (None, known.index.version)
        return bool(known.meta.mode == mode and version)

    def plan(self, keys: Collected[Any], mark: SourceMark) -> Plan:
        """Return the plan to write the keys of a source that had the given mark."""
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
        """Write the entries of `runs` as an index to an empty file."""
        return key_index.write_index(
            runs,
            path,
            plan,
            source=opened.path,
            line_of=lambda offset: line_of(opened, offset),
        )


@dataclass(frozen=True, slots=True)
class GraphBuild(Collector[GraphRuns]):
    """A graph index to build; with `reverse`, also of incoming edges.

    `bytes_before` is the size of the sources before this one, if their edges go into one index.
    """

    RUNS: ClassVar = GraphRuns
    INDEXES: ClassVar = graph_files.INDEXES

    fields: EdgeFields
    reverse: bool = False
    version: int | None = None
    bytes_before: int = 0

    def begin_runs(self, directory: Path, memory: int, number: int) -> GraphRuns:
        """Return empty runs of edges."""
        return GraphRuns(directory, memory, number)

    def begin_scan(self, unterminated: int | None) -> KeyScan:
        """Begin to read the edges of rows."""
        return KeyScan(
            self.fields.names,
            max_depth=self.max_depth,
            unterminated=unterminated,
            all_skipped=self.skipped is not None,
            apart=True,
        )

    def advance(self, scan: KeyScan, stream: RowStream, runs: GraphRuns) -> bool:
        """Add the edges of some rows."""
        return runs.advance(stream, scan, self.bytes_before)

    def made(self, known: AnyStored) -> bool:
        """Whether an index has the options of this build."""
        same = (known.meta.fields, known.meta.reverse) == (self.fields, self.reverse)
        return same and self.version in (None, known.index.version)

    def plan(self, edges: Collected[Any], mark: SourceMark) -> GraphPlan:
        """Return the plan to write the edges of a source that had the given mark."""
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
        """Write the entries of `runs` as an index to an empty file."""
        with explaining(opened.path):
            return graph.write_index(runs, path, plan, source=opened.path)


AnyBuild: TypeAlias = KeyBuild | GraphBuild
