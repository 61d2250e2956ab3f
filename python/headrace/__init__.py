"""An engine for newline-delimited JSON.

    import headrace as hr

    ds = hr.open("events.jsonl.gz")
    ds[12345], ds.tail(5), len(ds)

What is public is listed below and loaded when first used, so that importing
the package, and with it the start of every command, costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` alone would double the time to say the version
if TYPE_CHECKING:
    from headrace.api.convert import Conversion, convert
    from headrace.api.dataset import Dataset
    from headrace.api.follow import follow
    from headrace.api.index.graph import GraphIndex
    from headrace.api.index.key import KeyIndex
    from headrace.api.join import JoinResult, join
    from headrace.api.log.log import Log
    from headrace.api.log.writer import LogWriter
    from headrace.api.open import open
    from headrace.api.query import (
        collect_ndjson,
        collect_ndjson_multi,
        collect_ndjson_named,
        collect_ndjson_rev,
        collect_ndjson_stream,
        for_each_ndjson,
        for_each_ndjson_multi,
        for_each_ndjson_rev,
        query,
        run_ndjson,
        run_ndjson_multi,
        run_ndjson_named,
        run_ndjson_par,
        run_ndjson_rev,
        run_ndjson_stream,
    )
    from headrace.api.results import QueryResult
    from headrace.api.row_indexer import RowIndexer
    from headrace.api.shards import ShardWriter, read_shards
    from headrace.errors import HeadraceError
    from headrace.kernel.tally import BadLine, Stats
    from headrace.kernel.version import __version__
    from headrace.pipeline.spec import Pipeline
    from headrace.store.files.atomic import replace_file
    from headrace.store.rows.demand import Capabilities, Lanes
    from headrace.store.rows.provider import Position, RowProvider
    from headrace.store.shards.shard_set import ShardSet
    from headrace.store.shards.write.line_writer import LineWriter

_HOMES = {
    "BadLine": "headrace.kernel.tally",
    "Capabilities": "headrace.store.rows.demand",
    "Conversion": "headrace.api.convert",
    "Dataset": "headrace.api.dataset",
    "GraphIndex": "headrace.api.index.graph",
    "HeadraceError": "headrace.errors",
    "JoinResult": "headrace.api.join",
    "KeyIndex": "headrace.api.index.key",
    "Lanes": "headrace.store.rows.demand",
    "LineWriter": "headrace.store.shards.write.line_writer",
    "Log": "headrace.api.log.log",
    "LogWriter": "headrace.api.log.writer",
    "Pipeline": "headrace.pipeline.spec",
    "Position": "headrace.store.rows.provider",
    "QueryResult": "headrace.api.results",
    "RowIndexer": "headrace.api.row_indexer",
    "RowProvider": "headrace.store.rows.provider",
    "ShardSet": "headrace.store.shards.shard_set",
    "ShardWriter": "headrace.api.shards",
    "Stats": "headrace.kernel.tally",
    "__version__": "headrace.kernel.version",
    "collect_ndjson": "headrace.api.query",
    "collect_ndjson_multi": "headrace.api.query",
    "collect_ndjson_named": "headrace.api.query",
    "collect_ndjson_rev": "headrace.api.query",
    "collect_ndjson_stream": "headrace.api.query",
    "follow": "headrace.api.follow",
    "convert": "headrace.api.convert",
    "for_each_ndjson": "headrace.api.query",
    "for_each_ndjson_multi": "headrace.api.query",
    "for_each_ndjson_rev": "headrace.api.query",
    "join": "headrace.api.join",
    "open": "headrace.api.open",
    "query": "headrace.api.query",
    "read_shards": "headrace.api.shards",
    "replace_file": "headrace.store.files.atomic",
    "run_ndjson": "headrace.api.query",
    "run_ndjson_multi": "headrace.api.query",
    "run_ndjson_named": "headrace.api.query",
    "run_ndjson_par": "headrace.api.query",
    "run_ndjson_rev": "headrace.api.query",
    "run_ndjson_stream": "headrace.api.query",
}

__all__ = [
    "BadLine",
    "Capabilities",
    "Conversion",
    "Dataset",
    "GraphIndex",
    "HeadraceError",
    "JoinResult",
    "KeyIndex",
    "Lanes",
    "LineWriter",
    "Log",
    "LogWriter",
    "Pipeline",
    "Position",
    "QueryResult",
    "RowIndexer",
    "RowProvider",
    "ShardSet",
    "ShardWriter",
    "Stats",
    "__version__",
    "collect_ndjson",
    "collect_ndjson_multi",
    "collect_ndjson_named",
    "collect_ndjson_rev",
    "collect_ndjson_stream",
    "convert",
    "follow",
    "for_each_ndjson",
    "for_each_ndjson_multi",
    "for_each_ndjson_rev",
    "join",
    "open",
    "query",
    "read_shards",
    "replace_file",
    "run_ndjson",
    "run_ndjson_multi",
    "run_ndjson_named",
    "run_ndjson_par",
    "run_ndjson_rev",
    "run_ndjson_stream",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'headrace' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
