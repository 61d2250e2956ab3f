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
    from headrace.api.convert import convert as convert
    from headrace.api.dataset import Dataset as Dataset
    from headrace.api.follow import follow as follow
    from headrace.api.functions import functions as functions
    from headrace.api.index.graph import GraphIndex as GraphIndex
    from headrace.api.index.key import KeyIndex as KeyIndex
    from headrace.api.log.log import Log as Log
    from headrace.api.log.writer import LogWriter as LogWriter
    from headrace.api.open import open as open
    from headrace.api.query import query as query
    from headrace.api.results import QueryResult as QueryResult
    from headrace.api.row_indexer import RowIndexer as RowIndexer
    from headrace.api.shards.shard_set import ShardSet as ShardSet
    from headrace.api.shards.writer import ShardWriter as ShardWriter
    from headrace.errors import HeadraceError as HeadraceError
    from headrace.kernel.version import __version__ as __version__
    from headrace.pipeline.spec import Pipeline as Pipeline
    from headrace.store.rows.demand import Capabilities as Capabilities
    from headrace.store.rows.demand import Lanes as Lanes
    from headrace.store.rows.provider import Position as Position
    from headrace.store.rows.provider import RowProvider as RowProvider
    from headrace.store.shards.write.line_writer import LineWriter as LineWriter

_HOMES = {
    "Capabilities": "headrace.store.rows.demand",
    "Dataset": "headrace.api.dataset",
    "GraphIndex": "headrace.api.index.graph",
    "HeadraceError": "headrace.errors",
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
    "ShardSet": "headrace.api.shards.shard_set",
    "ShardWriter": "headrace.api.shards.writer",
    "__version__": "headrace.kernel.version",
    "convert": "headrace.api.convert",
    "follow": "headrace.api.follow",
    "functions": "headrace.api.functions",
    "open": "headrace.api.open",
    "query": "headrace.api.query",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'headrace' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
