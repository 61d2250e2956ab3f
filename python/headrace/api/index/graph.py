"""Graph indexes: building, updating, compacting and checking those of files of edges."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from headrace.api.graph.graph import Graph
from headrace.api.index.build import (
    MEMORY,
    build_files,
    checked_version,
    engine_of,
    memory_of,
    place_wanted,
    scan_of,
    with_options,
)
from headrace.api.index.report import check_index, file_index_stats
from headrace.api.index.update import (
    Kind,
    Updated,
    compact_index,
    trouble,
    update_index,
)
from headrace.api.options import (
    GraphCompactOptions,
    GraphIndexBuildOptions,
    IndexCheckOptions,
    IndexPlace,
    IndexUpdateOptions,
    refuse_unknown,
)
from headrace.engines.index.collect import ScanOptions, no_progress
from headrace.engines.index.kinds import Built, GraphBuild, graph_as_it_was
from headrace.engines.local import index_build
from headrace.errors import UsageError
from headrace.kernel.graph import EdgeFields, GraphMeta, GraphWritten
from headrace.kernel.rows import reading
from headrace.store.index import graph as store
from headrace.store.index import stored_index
from headrace.store.index.subject import one_source, sources_with_rows

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from headrace.api.options import GraphOptions
    from headrace.store.files.opened import OpenedFile
    from headrace.store.files.source import Source, SourceSpec


class GraphIndex:
    """The graph index of a file of edges: each row is an edge between two nodes.

    `open` it to follow edges; the others build, update, compact and check it. `from_field` and
    `to_field` are the fields of the nodes that an edge connects, `pred_field` that of its
    predicate. What is wrong with an index is a `GraphIndexError`.
    """

    @staticmethod
    def open(
        edges: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        **options: Unpack[GraphOptions],
    ) -> Graph:
        """Open the graph of one or several files; without an index that fits they are scanned."""
        return Graph(edges, **options)

    @staticmethod
    def build(
        source: str | os.PathLike[str],
        from_field: str,
        pred_field: str | None,
        to_field: str,
        **options: Unpack[GraphIndexBuildOptions],
    ) -> Built[GraphWritten]:
        """Build the index of a file with one edge in each row.

        Without `pred_field`, edges have no predicate. With `incoming`, edges are found from
        both ends. Rows without one of the fields, and bad lines, are skipped and counted. The
        index is ``SOURCE.jnx.graph``. Version 1 has no room for more than 65,535 edges of
        one node. With Spark, the bytes of the index are the same.
        """
        (built,) = GraphIndex.build_each(
            [one_source(source)], from_field, pred_field, to_field, **options
        )
        return built

    @staticmethod
    def build_each(
        sources: SourceSpec | Sequence[Source],
        from_field: str,
        pred_field: str | None,
        to_field: str,
        **options: Unpack[GraphIndexBuildOptions],
    ) -> Iterator[Built[GraphWritten]]:
        """Build the index of each of several files of edges, and yield each result in order.

        An error of one file is raised after the indexes of those before it are built.
        """
        refuse_unknown(options, GraphIndexBuildOptions)
        wanted = GraphBuild(
            _fields_of(from_field, pred_field, to_field),
            options.get("incoming", False),
            checked_version(options),
        )
        every = sources_with_rows(sources)
        return build_files(
            every,
            with_options(wanted, options),
            place_wanted(options, files=len(every)),
            engine_of(options),
            force=options.get("force", False),
        )

    @staticmethod
    def update(
        source: str | os.PathLike[str], **options: Unpack[IndexUpdateOptions]
    ) -> Updated[GraphWritten]:
        """Update the index of a file that has grown; only the appended rows are read.

        Hashes prove that the file has only grown; otherwise `full` builds the index again with
        the settings that it has. New edges go to a delta, ``INDEX.delta``, which is merged
        with the index when it has more than a quarter of its edges.
        """
        refuse_unknown(options, IndexUpdateOptions)
        one = one_source(source)
        kind = _kind(one, place_wanted(options), scan_of(options))
        return update_index(kind, one, full=options.get("full", False))

    @staticmethod
    def compact(
        source: str | os.PathLike[str], **options: Unpack[GraphCompactOptions]
    ) -> Built[GraphWritten] | None:
        """Merge an index with its delta without reading the file; None if it has no delta."""
        refuse_unknown(options, GraphCompactOptions)
        one = one_source(source)
        how = ScanOptions(memory=memory_of(options.get("memory", MEMORY)))
        return compact_index(_kind(one, place_wanted(options), how), one)

    @staticmethod
    def check(
        source: str | os.PathLike[str], **options: Unpack[IndexCheckOptions]
    ) -> dict[str, Any]:
        """Read all of an index, and compare the file with the one that it was built from.

        ``valid``: the index is whole. ``fresh``: it is that of the file as it is. If not both,
        ``reason`` says why. With `deep`, a fresh index must have the same edges as the file.
        """
        refuse_unknown(options, IndexCheckOptions)
        one = one_source(source)
        progress = options.get("progress", no_progress)

        def differs(stored: store.StoredGraph, _opened: OpenedFile) -> str | None:
            wanted = replace(graph_as_it_was(stored), progress=progress)
            with reading(str(stored.path)):
                same = index_build.has_all_edges(stored, one, wanted)
            return None if same else "its edges are not those of the file"

        found = store.INDEXES.required(one.location, place_wanted(options))
        deep = options.get("deep", False)
        return check_index(found, one, _counts, differs if deep else None)

    @staticmethod
    def stats(
        source: str | os.PathLike[str], **options: Unpack[IndexPlace]
    ) -> dict[str, Any]:
        """Return what an index covers and how large it is.

        ``nodes`` and ``predicates`` are None where index and delta may have some in common.
        """
        refuse_unknown(options, IndexPlace)
        one = one_source(source)
        found = store.INDEXES.required(one.location, place_wanted(options))
        return file_index_stats(found, one, "graph", _described, _counts)


def _fields_of(from_: str, pred: str | None, to: str) -> EdgeFields:
    fields = EdgeFields(from_, pred, to)
    if len(set(fields.names)) < len(fields.names):
        raise UsageError(f"an edge has each field once: {','.join(fields.names)}")
    return fields


def _kind(
    source: Source, where: stored_index.Where, how: ScanOptions
) -> Kind[store.StoredGraph, GraphWritten]:
    def again(found: store.StoredGraph | stored_index.Unreadable) -> GraphBuild:
        # The fields of a damaged index are unknown.
        if isinstance(found, stored_index.Unreadable):
            raise trouble(store.StoredGraph, source, found)
        return how.again(graph_as_it_was(found))

    return Kind(
        store.INDEXES,
        where,
        None,
        lambda found: index_build.build(source, found.path, again(found)),
        lambda stored: index_build.update(source, stored, again(stored)),
        lambda stored: index_build.compact(source, stored, again(stored)),
    )


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
