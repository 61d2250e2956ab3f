"""Function names of headrace's first designs; each calls what replaced it.

New code uses `headrace.query`, `Dataset.query`, `headrace.KeyIndex`, `headrace.GraphIndex` and
`headrace.ShardWriter`. In the names of queries, ``run`` writes the answers as lines, ``collect``
returns them, and ``for_each`` calls back with each; ``stream`` is a query over all rows, ``rev``
begins with the last row, ``multi`` reads several sources, and ``named`` reads sources by name.
The functions without ``multi`` read several sources too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from headrace.api.index.graph import GraphIndex
from headrace.api.index.key import KeyIndex
from headrace.api.open import open
from headrace.api.query import query as run_query
from headrace.api.shards.writer import write_all
from headrace.errors import UsageError
from headrace.store.files import atomic

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from _typeshed import SupportsWrite

    from headrace.api.graph.graph import Graph
    from headrace.api.options import (
        Fields,
        GraphIndexBuildOptions,
        GraphOptions,
        KeyIndexBuildOptions,
        KeyIndexOptions,
        QueryOptions,
        ShardOptions,
    )
    from headrace.api.results import QueryResult
    from headrace.engines.index.kinds import Built
    from headrace.kernel.graph import GraphWritten
    from headrace.kernel.key_index import Written
    from headrace.store.files.source import OneSource, SourceSpec
    from headrace.store.index.subject import Indexed
    from headrace.store.shards.metadata import Metadata

    Path = str | os.PathLike[str]
    Named = Sequence[tuple[str, OneSource]]


def run_ndjson(
    source: SourceSpec,
    query: str,
    writer: SupportsWrite[bytes],
    **options: Unpack[QueryOptions],
) -> int:
    """Query each row; write the answers, and return how many."""
    return run_query(query, source, **options).write(writer)


def collect_ndjson(
    source: SourceSpec, query: str, **options: Unpack[QueryOptions]
) -> list[Any]:
    """Query each row; return the answers."""
    return run_query(query, source, **options).to_list()


def for_each_ndjson(
    source: SourceSpec,
    query: str,
    callback: Callable[[Any], object],
    **options: Unpack[QueryOptions],
) -> int:
    """Query each row; call back with each answer, and return how many."""
    return _each(run_query(query, source, **options), callback)


run_ndjson_par = run_ndjson_multi = run_ndjson
collect_ndjson_multi = collect_ndjson
for_each_ndjson_multi = for_each_ndjson


def run_ndjson_stream(
    source: OneSource,
    query: str,
    writer: SupportsWrite[bytes],
    **options: Unpack[QueryOptions],
) -> int:
    """Query all rows; write the answers, and return how many."""
    options["stream"] = True
    return run_query(query, source, **options).write(writer)


def collect_ndjson_stream(
    source: OneSource, query: str, **options: Unpack[QueryOptions]
) -> list[Any]:
    """Query all rows; return the answers."""
    options["stream"] = True
    return run_query(query, source, **options).to_list()


def run_ndjson_rev(
    path: Path,
    query: str,
    writer: SupportsWrite[bytes],
    **options: Unpack[QueryOptions],
) -> int:
    """Query each row of a file from the last; write the answers, and return how many."""
    options["reverse"] = True
    return run_query(query, path, **options).write(writer)


def collect_ndjson_rev(
    path: Path, query: str, **options: Unpack[QueryOptions]
) -> list[Any]:
    """Query each row of a file from the last; return the answers."""
    options["reverse"] = True
    return run_query(query, path, **options).to_list()


def for_each_ndjson_rev(
    path: Path,
    query: str,
    callback: Callable[[Any], object],
    **options: Unpack[QueryOptions],
) -> int:
    """Query each row of a file from the last; call back with each answer."""
    options["reverse"] = True
    return _each(run_query(query, path, **options), callback)


def run_ndjson_named(
    sources: Named,
    query: str,
    writer: SupportsWrite[bytes],
    **options: Unpack[QueryOptions],
) -> int:
    """Query named sources, of which ``main`` or the first is ``$``; write the answers."""
    return _named(sources, query, options).write(writer)


def collect_ndjson_named(
    sources: Named, query: str, **options: Unpack[QueryOptions]
) -> list[Any]:
    """Query named sources, of which ``main`` or the first is ``$``; return the answers."""
    return _named(sources, query, options).to_list()


def _each(result: QueryResult, callback: Callable[[Any], object]) -> int:
    return sum(1 for answer in result if [callback(answer)])


def _named(sources: Named, query: str, options: QueryOptions) -> QueryResult:
    if not sources:
        raise UsageError("give at least one source: the first one is $")
    names = dict(sources)
    main = "main" if "main" in names else sources[0][0]
    rows = open(names[main])
    options["names"] = {**names, main: rows}
    return rows.query(query, **options)


def build_lookup_index(
    source: Indexed, key_field: Fields, **options: Unpack[KeyIndexBuildOptions]
) -> Built[Written]:
    """Call `KeyIndex.build`."""
    return KeyIndex.build(source, key_field, **options)


def open_lookup_index(
    source: Indexed, key_field: Fields | None = None, **options: Unpack[KeyIndexOptions]
) -> KeyIndex:
    """Call `KeyIndex.open`."""
    return KeyIndex.open(source, key_field, **options)


def build_graph_index(
    source: Path,
    from_field: str,
    pred_field: str | None,
    to_field: str,
    **options: Unpack[GraphIndexBuildOptions],
) -> Built[GraphWritten]:
    """Call `GraphIndex.build`."""
    return GraphIndex.build(source, from_field, pred_field, to_field, **options)


def open_graph_index(source: Path, **options: Unpack[GraphOptions]) -> Graph:
    """Call `GraphIndex.open`."""
    return GraphIndex.open(source, **options)


def write_json_lines_sharded(
    records: Iterable[object], out_dir: Path, **options: Unpack[ShardOptions]
) -> Metadata:
    """Write records as a set of shards, and return its metadata; see `ShardWriter`."""
    return write_all(records, out_dir, options)


def replace_file(
    tmp_path: Path, final_path: Path, *, keep_backup: bool = False
) -> None:
    """Replace a file atomically with a finished one; the old one may stay as ``.bak``."""
    atomic.replace_file(tmp_path, final_path, keep_backup=keep_backup)
