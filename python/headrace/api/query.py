"""Opening of data sets, and queries over them: options are checked, and a plan is made."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Unpack

from headrace.api.open import open as open_dataset
from headrace.api.options import (
    QueryOptions,
    place_of_tasks,
    refuse_for_local,
    refuse_other,
    refuse_unknown,
)
from headrace.api.results import QueryResult
from headrace.engines.query import options as engine
from headrace.engines.query.scan import QueryInput
from headrace.errors import UsageError
from headrace.kernel.programs import Frame, available_threads
from headrace.kernel.values import DEEPEST
from headrace.language.tokens import bindings_of, refuse_unused
from headrace.logical.encode.compiler import unknown_source
from headrace.physical.query_plan import QueryPlan, RowPlan, StreamPlan, plan_query
from headrace.store.files.units import parse_size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.api.dataset import Dataset
    from headrace.engines.query.run import Engine
    from headrace.engines.query.scan import Rows
    from headrace.store.files.source import SourceSpec

_CHOICES = {
    "stream": (None, True, False),
    "nulls": ("drop", "emit"),
    "on_error": ("abort", "skip", "collect"),
    "null_payload": ("skip", "keep", "error"),
    "engine": ("local", "spark"),
    "shape": (None, "lines", "array"),
}


def query(
    query: str, source: SourceSpec, **options: Unpack[QueryOptions]
) -> QueryResult:
    """Open a source, and return the answers to a query over its rows; see `Dataset.query`."""
    return open_dataset(source).query(query, **options)


def run(dataset: Dataset[Any], query: str, options: QueryOptions) -> QueryResult:
    """Return the answers to a query; nothing is read before they are."""
    refuse_unknown(options, QueryOptions)
    for name, choices in _CHOICES.items():
        if name in options:
            refuse_other(name, options.get(name), choices)
    stream = options.get("stream")
    if stream is None:
        stream = bool(options.get("names"))
    plan = _planned(query, options, stream=stream)
    chosen = _chosen(dataset, plan, options)
    main = plan.main
    _refuse_shape(chosen.shape, is_row=isinstance(main, RowPlan))
    if chosen.shape == "array" and chosen.limit is not None:
        raise UsageError(
            "limit (--limit) counts lines, and an array is one line; write .take(n) in the query"
        )
    backwards = chosen.reverse != (isinstance(main, StreamPlan) and main.reverse)
    if backwards and not all(file.capabilities.reverse for file in dataset.files()):
        raise UsageError("a pipe has no end to begin from; save it to a file first")
    errors = options.get("errors")
    if errors is not None and chosen.on_error != "collect":
        raise UsageError("errors are kept only with on_error='collect'")
    runs = _engine(dataset, chosen, options)
    named = _opened_names(dataset, query, plan, options)
    on_spark = options.get("engine", "local") == "spark"
    _refuse_places(dataset, plan, on_spark=on_spark)
    if on_spark:
        for files in (dataset.files(), *named.values()):
            refuse_times(
                files,
                "Spark's tasks read all lines of a log",
                "use engine='local' (--engine local)",
            )
    given = QueryInput(plan, chosen, dataset.files(), named)
    where = options.get("where")
    return QueryResult(given, stream=stream, where=where, errors=errors, engine=runs)


def _planned(query: str, options: QueryOptions, *, stream: bool) -> QueryPlan:
    where, distinct_by = options.get("where"), options.get("distinct_by")
    matches = options.get("matches", False)
    environment = os.environ if options.get("allow_env", False) else None
    bindings = bindings_of(options.get("args") or {}, environment)
    refuse_unused(bindings, tuple(filter(None, (query, where, distinct_by))))
    plan = plan_query(
        query,
        stream=stream,
        distinct_by=distinct_by,
        where=where,
        matches=matches,
        bindings=bindings,
        strict_types=options.get("strict_types", False),
    )
    if matches and not isinstance(plan.main, RowPlan):
        raise UsageError("matches are about each row, not about all rows")
    return plan


def _chosen(
    dataset: Dataset[Any], plan: QueryPlan, options: QueryOptions
) -> engine.QueryOptions:
    """Return the options of the engine, checked."""
    depth = options.get("max_depth")
    if depth is None:
        depth = dataset.max_depth
    if not 1 <= depth <= DEEPEST:
        raise UsageError(f"max_depth {depth}: must be from 1 to {DEEPEST}")
    limit, frame = options.get("limit"), options.get("frame")
    if limit is not None and limit < 0:
        raise UsageError(f"limit {limit}: must be 0 or a positive integer")
    if frame == "":
        raise UsageError("a separator cannot be empty")
    null_payload = options.get("null_payload", "skip")
    index = options.get("index", dataset.row_options.keeping.enabled)
    return engine.QueryOptions(
        "match" if options.get("matches", False) else "answer",
        options.get("nulls", "drop") == "emit",
        options.get("on_error", "abort"),
        limit,
        depth,
        parse_size(options.get("memory", "1GiB")),
        options.get("reverse", False),
        None if frame is None else Frame(frame, null_payload),
        options.get("size_hints") or {},
        options.get("lanes", True),
        index and not plan.places,
        options.get("shape"),
        _threads(options),
        options.get("_share_bytes"),
    )


def _threads(options: QueryOptions) -> int:
    threads = options.get("threads")
    if options.get("engine", "local") == "spark":
        if threads is not None:
            raise UsageError("threads is for engine='local' (--engine local)")
        return 1
    if threads is None:
        return available_threads()
    if threads < 1:
        raise UsageError(f"threads (--threads) {threads}: must be a positive integer")
    return threads


def _engine(
    dataset: Dataset[Any], chosen: engine.QueryOptions, options: QueryOptions
) -> Engine | None:
    """Return the engine that runs the query, None for that of this process."""
    place, partition_bytes = place_of_tasks(options), options.get("partition_bytes")
    if options.get("engine", "local") == "local":
        refuse_for_local(
            master=options.get("master"),
            spark=options.get("spark"),
            partition_bytes=partition_bytes,
        )
        return None
    from headrace.api.spark_engine import spark_engine

    return spark_engine(
        dataset.sources,
        chosen,
        dataset.row_options,
        place,
        partition_bytes,
        options.get("_run_tasks"),
    )


def _opened_names(
    dataset: Dataset[Any], query: str, plan: QueryPlan, options: QueryOptions
) -> dict[str, tuple[Rows, ...]]:
    names = options.get("names") or {}
    opened = {}
    for name, offset in plan.names:
        if name not in names:
            raise unknown_source(query, name, offset, names)
        opened[name] = dataset.other(names[name]).files()
    refuse_shared_pipes([dataset.files(), *opened.values()])
    return opened


def _refuse_places(dataset: Dataset[Any], plan: QueryPlan, *, on_spark: bool) -> None:
    """Raise for the place of a row where rows have no numbers."""
    if not plan.places:
        return
    names = "input_file, input_line and input_row"
    if on_spark:
        raise UsageError(
            f"{names} need engine='local' (--engine local): Spark's tasks read parts of "
            "files, whose rows have no numbers yet"
        )
    refuse_times(dataset.files(), f"{names} count all lines", "leave out these")


def _refuse_shape(shape: str | None, *, is_row: bool) -> None:
    if shape is not None and is_row:
        raise UsageError(
            f"shape={shape!r} (--{shape}) is about the answer of all rows; the query is "
            "about each row: write $.rows().map(...)"
        )


def refuse_times(files: Iterable[Rows], reason: str, instead: str) -> None:
    """Raise for lines with certain times where whole files are read."""
    for rows in files:
        if rows.source.times is not None:
            raise UsageError(
                f"{rows.source.location}: {reason}; leave out since and until, or {instead}"
            )


def refuse_shared_pipes(opened: Iterable[tuple[Rows, ...]]) -> None:
    """Raise if two readers share a pipe: each would get a part of its rows."""
    readers: dict[str | int, Rows] = {}
    for rows in (rows for files in opened for rows in files if rows.source.is_pipe):
        source = rows.source
        pipe = source.location if source.origin is None else id(source.origin)
        if readers.setdefault(pipe, rows) is not rows:
            raise UsageError(f"{source.location}: a pipe can be read only once")
