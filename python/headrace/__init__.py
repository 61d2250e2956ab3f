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
    from headrace.api.graph import Graph
    from headrace.api.graph_index import (
        build_graph_index,
        build_graph_indexes,
        check_graph_index,
        compact_graph_index,
        graph_index_stats,
        update_graph_index,
    )
    from headrace.api.join import JoinResult, join
    from headrace.api.key_index import (
        KeyIndex,
        build_lookup_index,
        build_lookup_indexes,
        open_lookup_index,
    )
    from headrace.api.key_index_report import check_lookup_index, lookup_index_stats
    from headrace.api.key_index_update import compact_lookup_index, update_lookup_index
    from headrace.api.log import Log, LogWriter, recover_log
    from headrace.api.log_upkeep import retain_log, seal_log
    from headrace.api.ndjson import (
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
    from headrace.api.opening import open
    from headrace.api.query import QueryResult
    from headrace.api.replay import Replay
    from headrace.api.row_indexer import RowIndexer
    from headrace.api.shards import ShardWriter, read_shards
    from headrace.errors import HeadraceError
    from headrace.kernel.tally import BadLine, Stats
    from headrace.kernel.version import __version__
    from headrace.pipeline.spec import Pipeline
    from headrace.store.atomic import replace_file
    from headrace.store.log.backup import backup_log, verify_log_backup
    from headrace.store.log.restore import restore_log
    from headrace.store.row_provider import (
        Capabilities,
        Lanes,
        Position,
        RowProvider,
    )
    from headrace.store.shards.line_writer import LineWriter
    from headrace.store.shards.shard_set import ShardSet

_HOMES = {
    "BadLine": "headrace.kernel.tally",
    "Capabilities": "headrace.store.row_provider",
    "Conversion": "headrace.api.convert",
    "Dataset": "headrace.api.dataset",
    "Graph": "headrace.api.graph",
    "HeadraceError": "headrace.errors",
    "JoinResult": "headrace.api.join",
    "KeyIndex": "headrace.api.key_index",
    "Lanes": "headrace.store.row_provider",
    "LineWriter": "headrace.store.shards.line_writer",
    "Log": "headrace.api.log",
    "LogWriter": "headrace.api.log",
    "Pipeline": "headrace.pipeline.spec",
    "Position": "headrace.store.row_provider",
    "QueryResult": "headrace.api.query",
    "Replay": "headrace.api.replay",
    "RowIndexer": "headrace.api.row_indexer",
    "RowProvider": "headrace.store.row_provider",
    "ShardSet": "headrace.store.shards.shard_set",
    "ShardWriter": "headrace.api.shards",
    "Stats": "headrace.kernel.tally",
    "__version__": "headrace.kernel.version",
    "backup_log": "headrace.store.log.backup",
    "build_graph_index": "headrace.api.graph_index",
    "build_graph_indexes": "headrace.api.graph_index",
    "build_lookup_index": "headrace.api.key_index",
    "build_lookup_indexes": "headrace.api.key_index",
    "check_graph_index": "headrace.api.graph_index",
    "check_lookup_index": "headrace.api.key_index_report",
    "collect_ndjson": "headrace.api.ndjson",
    "collect_ndjson_multi": "headrace.api.ndjson",
    "collect_ndjson_named": "headrace.api.ndjson",
    "collect_ndjson_rev": "headrace.api.ndjson",
    "collect_ndjson_stream": "headrace.api.ndjson",
    "compact_graph_index": "headrace.api.graph_index",
    "compact_lookup_index": "headrace.api.key_index_update",
    "follow": "headrace.api.follow",
    "convert": "headrace.api.convert",
    "for_each_ndjson": "headrace.api.ndjson",
    "for_each_ndjson_multi": "headrace.api.ndjson",
    "for_each_ndjson_rev": "headrace.api.ndjson",
    "graph_index_stats": "headrace.api.graph_index",
    "join": "headrace.api.join",
    "lookup_index_stats": "headrace.api.key_index_report",
    "open": "headrace.api.opening",
    "open_lookup_index": "headrace.api.key_index",
    "query": "headrace.api.ndjson",
    "read_shards": "headrace.api.shards",
    "recover_log": "headrace.api.log",
    "replace_file": "headrace.store.atomic",
    "restore_log": "headrace.store.log.restore",
    "retain_log": "headrace.api.log_upkeep",
    "run_ndjson": "headrace.api.ndjson",
    "run_ndjson_multi": "headrace.api.ndjson",
    "run_ndjson_named": "headrace.api.ndjson",
    "run_ndjson_par": "headrace.api.ndjson",
    "run_ndjson_rev": "headrace.api.ndjson",
    "run_ndjson_stream": "headrace.api.ndjson",
    "seal_log": "headrace.api.log_upkeep",
    "update_graph_index": "headrace.api.graph_index",
    "update_lookup_index": "headrace.api.key_index_update",
    "verify_log_backup": "headrace.store.log.backup",
}

__all__ = [
    "BadLine",
    "Capabilities",
    "Conversion",
    "Dataset",
    "Graph",
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
    "Replay",
    "RowIndexer",
    "RowProvider",
    "ShardSet",
    "ShardWriter",
    "Stats",
    "__version__",
    "backup_log",
    "build_graph_index",
    "build_graph_indexes",
    "build_lookup_index",
    "build_lookup_indexes",
    "check_graph_index",
    "check_lookup_index",
    "collect_ndjson",
    "collect_ndjson_multi",
    "collect_ndjson_named",
    "collect_ndjson_rev",
    "collect_ndjson_stream",
    "compact_graph_index",
    "compact_lookup_index",
    "convert",
    "follow",
    "for_each_ndjson",
    "for_each_ndjson_multi",
    "for_each_ndjson_rev",
    "graph_index_stats",
    "join",
    "lookup_index_stats",
    "open",
    "open_lookup_index",
    "query",
    "read_shards",
    "recover_log",
    "replace_file",
    "restore_log",
    "retain_log",
    "run_ndjson",
    "run_ndjson_multi",
    "run_ndjson_named",
    "run_ndjson_par",
    "run_ndjson_rev",
    "run_ndjson_stream",
    "seal_log",
    "update_graph_index",
    "update_lookup_index",
    "verify_log_backup",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'headrace' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
