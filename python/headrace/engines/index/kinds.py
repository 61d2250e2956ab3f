"""Kinds of indexes: a build of each collects entries from rows, and writes them as an index.

Where the rows are read, in threads or in tasks, is up to the engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, TypeAlias, TypeVar

from headrace.engines.index.collect import ScanOptions, line_of
from headrace.kernel import graph, key_index
from headrace.kernel.graph import EdgeFields, GraphIndex, GraphPlan, GraphRuns
from headrace.kernel.key_index import Kept, KeyIndex, KeyRuns, KeyScan, Plan
from headrace.kernel.rows import explaining
from headrace.store.index import graph as graph_files
from headrace.store.index import key

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from headrace.kernel.graph import GraphWritten
    from headrace.kernel.index_meta import Lines, MadeOf
    from headrace.kernel.key_index import Skipped, Written
    from headrace.kernel.rows import RowStream
    from headrace.store.files.opened import OpenedFile
    from headrace.store.index.stored_index import AnyStored

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
class KeyBuild(ScanOptions):
    """A key index to build."""

    RUNS: ClassVar = KeyRuns
    INDEXES: ClassVar = key.INDEXES

    fields: tuple[str, ...]
    unique: bool = False
    version: int | None = None

    def begin_runs(self, directory: Path, memory: int, number: int) -> KeyRuns:
        """Return empty runs of keys, with files in a directory."""
        del number
        return KeyRuns(directory, memory)

    def begin_scan(self, unterminated: int | None) -> KeyScan:
        """Begin to read keys; `unterminated` is the offset of a last row without a newline."""
        return KeyScan(
            self.fields,
            max_depth=self.max_depth,
            unterminated=unterminated,
            all_skipped=self.skipped is not None,
        )

    def advance(self, scan: KeyScan, stream: RowStream, runs: KeyRuns) -> bool:
        """Add the keys of some rows of a stream; false after the last row."""
        return scan.advance(stream, runs)

    def made(self, known: AnyStored) -> bool:
        """Whether an index of the same key has the options of this build."""
        mode = "unique" if self.unique else "multi"
        version = self.version in (None, known.index.version)
        return bool(known.meta.mode == mode and version)

    def plan(
        self, lines: Lines, made_of: MadeOf, hashes: Sequence[int], *, plain: bool
    ) -> Plan:
        """Return the plan to write the keys of a source; `plain`: see `Plan.plain_numbers`."""
        return Plan(
            self.fields, self.unique, self.version, lines, plain, made_of, hashes
        )

    def write(
        self,
        runs: Sequence[KeyRuns],
        path: Path,
        plan: Plan,
        opened: OpenedFile,
        known: KeyIndex | None = None,
    ) -> Written:
        """Write the entries of `runs` as an index to an empty file; see `GraphBuild.write`."""
        kept = None
        if known is not None:
            kept = Kept(known, opened.data, whole=not runs)
        with explaining(opened.path):
            return key_index.write_index(
                runs,
                path,
                plan,
                source=opened.path,
                line_of=lambda offset: line_of(opened, offset),
                kept=kept,
            )


@dataclass(frozen=True, slots=True)
class GraphBuild(ScanOptions):
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
        """Return empty runs of edges, the `number`-th, with files in a directory."""
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
        """Add the edges of some rows of a stream; false after the last row."""
        return runs.advance(stream, scan, self.bytes_before)

    def made(self, known: AnyStored) -> bool:
        """Whether an index has the options of this build."""
        same = (known.meta.fields, known.meta.reverse) == (self.fields, self.reverse)
        return same and self.version in (None, known.index.version)

    def plan(
        self,
        lines: Lines,
        made_of: MadeOf,
        hashes: Sequence[int],
        *,
        plain: bool = True,
    ) -> GraphPlan:
        """Return the plan to write the edges of a source."""
        del plain
        return GraphPlan(
            self.fields,
            self.reverse,
            self.version,
            self.memory,
            lines,
            made_of,
            hashes,
        )

    def write(
        self,
        runs: Sequence[GraphRuns],
        path: Path,
        plan: GraphPlan,
        opened: OpenedFile,
        known: GraphIndex | None = None,
    ) -> GraphWritten:
        """Write the entries of `runs` as an index to an empty file.

        With a `known` index, its delta is written; or without runs, base and delta as one index.
        """
        every, base = [*runs], known if runs else None
        with explaining(opened.path):
            if known is not None:
                memory = self.memory // (4 if runs else 1)
                every.append(GraphRuns(path.parent, memory, len(runs)))
                every[-1].keep(known, whole=not runs)
            return graph.write_index(every, path, plan, source=opened.path, base=base)


AnyBuild: TypeAlias = KeyBuild | GraphBuild


def graph_as_it_was(known: graph_files.StoredGraph) -> GraphBuild:
    """Return the build that makes the same index again."""
    meta = known.meta
    return GraphBuild(
        meta.fields,
        meta.reverse,
        2 if known.index.version == 2 else None,
        max_line=meta.max_line,
        max_depth=meta.max_depth,
    )
