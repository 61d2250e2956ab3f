"""Graph indexes: building them, bringing them up to date, and what can be said of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from headrace.api.index.build import Engine, EngineName, build_each
from headrace.api.index.key import (
    LEAST_MEMORY,
    MAX_LINE,
    MEMORY,
    where_of,
)
from headrace.api.index.report import check_index, file_index_stats
from headrace.api.index.update import (
    Kind,
    Updated,
    compact_index,
    trouble,
    update_index,
)
from headrace.engines.index.collect import ScanOptions
from headrace.engines.index.kinds import GraphBuild
from headrace.engines.local import graph_build
from headrace.engines.local.graph_build import as_it_was
from headrace.errors import UsageError
from headrace.kernel.graph import EdgeFields
from headrace.kernel.rows import reading
from headrace.kernel.values import MAX_DEPTH
from headrace.store.files.units import parse_size
from headrace.store.index import file as files
from headrace.store.index import graph as store
from headrace.store.index.target import one_source, sources_with_rows

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from headrace.engines.index.kinds import Built
    from headrace.kernel.graph import GraphMeta, GraphWritten
    from headrace.kernel.key_index import Skipped
    from headrace.store.files.opened import OpenedFile
    from headrace.store.files.source import Source, SourceSpec


def build_graph_index(
    source: str | os.PathLike[str],
    from_: str,
    pred: str | None,
    to: str,
    *,
    reverse: bool = False,
    version: Literal[1, 2] | None = None,
    memory: int | str = MEMORY,
    threads: int | None = None,
    index: str | os.PathLike[str] | None = None,
    index_dir: str | os.PathLike[str] | None = None,
    force: bool = False,
    strict: bool = False,
    max_line: int | str = MAX_LINE,
    max_depth: int = MAX_DEPTH,
    engine: EngineName = "local",
    master: str | None = None,
    partition_bytes: int | str | None = None,
    progress: Callable[[int, int], None] = lambda _bytes, _records: None,
    skipped: Callable[[Sequence[Skipped]], None] | None = None,
) -> Built[GraphWritten]:
    """Build the index of edges, one a row, and return what came of it.

    `from_`, `pred` and `to` are the fields of an edge; without `pred`, all edges say the same:
    nothing. With `reverse` the edges that go to a node can be asked for too. Version 2 is
    taken without being asked for where version 1 has no room, as for more than 65,535 edges of
    one node. Lines that are bad, and rows without one of the fields, are passed over and
    counted, and given to `skipped`, some at a time; with `strict`, a bad line is an error. The
    index is ``SOURCE.jnx.graph``, or it is `index`, or lies in `index_dir`; one of other
    fields is replaced with `force` only. With the engine ``"spark"``, tasks at `master` read
    `partition_bytes` of the file each, `memory` is that of one task, and the bytes of
    the index are the same.
    """
    (built,) = build_graph_indexes(
        [one_source(source)],
        from_,
        pred,
        to,
        reverse=reverse,
        version=version,
        memory=memory,
        threads=threads,
        index=index,
        index_dir=index_dir,
        force=force,
        strict=strict,
        max_line=max_line,
        max_depth=max_depth,
        engine=engine,
        master=master,
        partition_bytes=partition_bytes,
        progress=progress,
        skipped=skipped,
    )
    return built


def build_graph_indexes(
    sources: SourceSpec | Sequence[Source],
    from_: str,
    pred: str | None,
    to: str,
    *,
    reverse: bool = False,
    version: Literal[1, 2] | None = None,
    memory: int | str = MEMORY,
    threads: int | None = None,
    index: str | os.PathLike[str] | None = None,
    index_dir: str | os.PathLike[str] | None = None,
    force: bool = False,
    strict: bool = False,
    max_line: int | str = MAX_LINE,
    max_depth: int = MAX_DEPTH,
    engine: EngineName = "local",
    master: str | None = None,
    partition_bytes: int | str | None = None,
    progress: Callable[[int, int], None] = lambda _bytes, _records: None,
    skipped: Callable[[Sequence[Skipped]], None] | None = None,
) -> Iterator[Built[GraphWritten]]:
    """Build an index of each of several files of edges, and yield what came of each, in order.

    See `build_graph_index`, and `headrace.build_lookup_indexes` for which files, and what
    becomes of errors.
    """
    if version not in (None, 1, 2):
        raise UsageError(f"version is 1 or 2, not {version!r}")
    asked = GraphBuild(
        _fields_of(from_, pred, to),
        reverse,
        version,
        memory=max(parse_size(memory), LEAST_MEMORY),
        threads=threads,
        max_line=parse_size(max_line),
        max_depth=max_depth,
        strict=strict,
        progress=progress,
        skipped=skipped,
    )
    every = sources_with_rows(sources)
    return build_each(
        every,
        asked,
        where_of(index, index_dir, of=len(every)),
        Engine(engine, master, partition_bytes),
        force=force,
    )


def _fields_of(from_: str, pred: str | None, to: str) -> EdgeFields:
    fields = EdgeFields(from_, pred, to)
    if len(set(fields.names)) < len(fields.names):
        raise UsageError(f"an edge has each field once: {','.join(fields.names)}")
    return fields


def update_graph_index(
    source: str | os.PathLike[str],
    *,
    full: bool = False,
    memory: int | str = MEMORY,
    threads: int | None = None,
    index: str | os.PathLike[str] | None = None,
    index_dir: str | os.PathLike[str] | None = None,
    strict: bool = False,
    progress: Callable[[int, int], None] = lambda _bytes, _records: None,
    skipped: Callable[[Sequence[Skipped]], None] | None = None,
) -> Updated[GraphWritten]:
    """Bring the index of a file of edges up to date, reading only the rows that were appended.

    It is proven first that the file has only grown; if it was changed otherwise, that is a
    `GraphIndexError`, and with `full` the index is built anew, as it was. Of new rows a delta
    is written, ``INDEX.delta``; when it has more than a quarter of the edges of the index,
    both become one.
    """
    one = one_source(source)
    how = ScanOptions(
        memory=max(parse_size(memory), LEAST_MEMORY),
        threads=threads,
        strict=strict,
        progress=progress,
        skipped=skipped,
    )
    return update_index(_kind(one, where_of(index, index_dir), how), one, full=full)


def compact_graph_index(
    source: str | os.PathLike[str],
    *,
    memory: int | str = MEMORY,
    index: str | os.PathLike[str] | None = None,
    index_dir: str | os.PathLike[str] | None = None,
) -> Built[GraphWritten] | None:
    """Make one index of an index and its delta, without reading the file; None without a delta."""
    one = one_source(source)
    how = ScanOptions(memory=max(parse_size(memory), LEAST_MEMORY))
    return compact_index(_kind(one, where_of(index, index_dir), how), one)


def _kind(
    source: Source, where: files.Where, how: ScanOptions
) -> Kind[store.StoredGraph, GraphWritten]:
    def again(found: store.StoredGraph | files.Unreadable) -> GraphBuild:
        # Of a damaged one, nobody knows the fields.
        if isinstance(found, files.Unreadable):
            raise trouble(store.StoredGraph, source, found)
        return how.again(as_it_was(found))

    return Kind(
        store.StoredGraph,
        lambda: store.find(source, where),
        lambda: store.unusable(source, where),
        lambda found: graph_build.build(source, found.path, again(found)),
        lambda stored: graph_build.update(source, stored, again(stored)),
        lambda stored: graph_build.compact(source, stored, again(stored)),
    )


def check_graph_index(
    source: str | os.PathLike[str],
    *,
    deep: bool = False,
    index: str | os.PathLike[str] | None = None,
    index_dir: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] = lambda _bytes, _records: None,
) -> dict[str, Any]:
    """Look at every byte of an index, and compare the file with what it was built from.

    ``valid``: it is whole. ``fresh``: it is that of the file as it is. If not both,
    ``reason`` says why. With `deep`, an index is made of all rows of the file, and one that is
    fresh must have the same edges.
    """
    one = one_source(source)

    def differs(stored: store.StoredGraph, _opened: OpenedFile) -> str | None:
        asked = replace(as_it_was(stored), progress=progress)
        with reading(str(stored.path)):
            same = graph_build.has_all_edges(stored, one, asked)
        return None if same else "its edges are not those of the file"

    found = _found(one, where_of(index, index_dir))
    return check_index(found, one, _counts, differs if deep else None)


def graph_index_stats(
    source: str | os.PathLike[str],
    *,
    index: str | os.PathLike[str] | None = None,
    index_dir: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Return what an index is of, and how large it is.

    With a delta, ``nodes`` and ``predicates`` are None: nobody knows how many are in both.
    """
    one = one_source(source)
    found = _found(one, where_of(index, index_dir))
    return file_index_stats(found, one, "graph", _described, _counts)


def _counts(meta: GraphMeta) -> dict[str, int | None]:
    return {"edges": meta.edges, "nodes": meta.nodes}


def _described(meta: GraphMeta) -> dict[str, Any]:
    return {
        "from": meta.fields.from_,
        "pred": meta.fields.pred,
        "to": meta.fields.to,
        "reverse": meta.reverse,
        **_counts(meta),
        "predicates": meta.predicates,
    }


def _found(source: Source, where: files.Where) -> store.StoredGraph | files.Unreadable:
    found = store.find(source, where)
    if found is None:
        raise store.unusable(source, where)
    return found
