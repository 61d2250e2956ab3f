"""Validation of a pipeline, before any of it runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.engines.rows.partition_key import PathKeys
from headrace.errors import HeadraceError, UsageError
from headrace.kernel.values import MAX_DEPTH
from headrace.physical.query_plan import row_program
from headrace.pipeline.plan.lowering import join_plan, key_query, step_of
from headrace.pipeline.spec import HOW, Dedupe, GraphIndex, Join, Sort, kind_of, texts
from headrace.pipeline.state.indexes import build_of
from headrace.store.files.source import is_url
from headrace.store.files.units import parse_size
from headrace.store.shards import options as shard_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.pipeline.spec import Output, Pipeline, Stage
    from headrace.store.shards.options import PackOptions

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_SOURCE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check(pipeline: Pipeline) -> None:
    """Raise unless all queries and sizes are valid, and all names known."""
    if not _NAME.fullmatch(pipeline.name):
        raise UsageError(
            f"name {pipeline.name!r}: must have letters, digits, - and _, and begin with a letter"
        )
    _check_directory(pipeline.directory)
    if not texts(pipeline.source.paths):
        raise UsageError("source: paths is empty; there is nothing to read")
    for name, paths in pipeline.names.items():
        if not _SOURCE_NAME.fullmatch(name):
            raise UsageError(f"names: {name!r} cannot be used as @{name} in a query")
        if not texts(paths):
            raise UsageError(f"names: {name} is empty; there is nothing to read")
    _check_sizes(pipeline)
    for number, stage in enumerate(pipeline.stages, 1):
        where = f"stage {number} ({kind_of(stage).name})"
        try:
            _check_stage(stage, pipeline)
        except HeadraceError as error:
            # The error of a query has more lines, which show the layout.
            reason = str(error).split("\n")[0]
            raise UsageError(f"{where}: {reason}") from error
    _check_indexes(pipeline)
    try:
        pack_options(pipeline.output)
    except HeadraceError as error:
        raise UsageError(f"output: {error}") from error


def _check_directory(directory: str) -> None:
    if not directory:
        raise UsageError("directory is empty; name one for the files of the pipeline")
    if is_url(directory):
        raise UsageError(
            f"directory is {directory}; a pipeline needs one on a file system. "
            "`headrace shard publish` copies its output to an object store"
        )


def _check_sizes(pipeline: Pipeline) -> None:
    source = pipeline.source
    for what, size in (
        ("source: max_line", source.max_line),
        ("source: partition_bytes", source.partition_bytes),
        ("source: batch_bytes", source.batch_bytes),
        ("memory", pipeline.memory),
    ):
        if parse_size(size) < 1:
            raise UsageError(f"{what} is {size}; must be at least 1")


def _check_indexes(pipeline: Pipeline) -> None:
    """Raise unless each index has fields, and another file name than the other indexes."""
    places: list[tuple[object, ...]] = []
    for number, index in enumerate(pipeline.indexes, 1):
        fields = build_of(index).fields
        names = [name for name in fields if name is not None]
        if not names or not all(names) or len(set(names)) < len(names):
            raise UsageError(f"index {number}: name at least one field, each only once")
        # A file has one graph index.
        of_edges = isinstance(index, GraphIndex)
        places.append((type(index), () if of_edges else tuple(fields)))
        if places.count(places[-1]) > 1:
            raise UsageError(f"index {number}: an earlier index is the same")


def _check_stage(stage: Stage, pipeline: Pipeline) -> None:
    match stage:
        case Dedupe(key=key) if stage.keep in ("first", "last"):
            _check_keys(key)
        case Dedupe():
            raise UsageError(f"keep is {stage.keep!r}; must be one of first, last")
        case Sort(by=by):
            _check_keys(by)
        case Join():
            _check_join(stage, pipeline)
        case _:
            step_of(stage, "", dict.fromkeys(pipeline.names, ()))


def _check_keys(keys: str | Sequence[str]) -> None:
    for key in texts(keys):
        row_program(key)
    key_query(keys)


def _check_join(stage: Join, pipeline: Pipeline) -> None:
    if stage.how not in HOW:
        raise UsageError(f"how is {stage.how!r}; must be one of {', '.join(HOW)}")
    if stage.with_ not in pipeline.names:
        known = ", ".join(pipeline.names) or "none"
        raise UsageError(f"{stage.with_!r} is not one of [names]; there is {known}")
    join_plan(stage)


def pack_options(output: Output, *, checked: bool = False) -> PackOptions:
    """Return the options for writing shards; `checked`: lines are known to be JSON."""
    if output.partition_by is not None:
        PathKeys(output.partition_by, MAX_DEPTH)
    return shard_options.pack_options(
        output.codec,
        level=output.level,
        options=None,
        block_bytes=output.block_bytes,
        limits=shard_options.limits(
            output.max_bytes, output.max_records, output.max_logical_bytes
        ),
        validate=not checked,
        max_depth=MAX_DEPTH,
        threads=1,
    )
