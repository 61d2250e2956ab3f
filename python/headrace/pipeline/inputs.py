"""The files that a pass reads, each with what tells whether it is another one now."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import BadRowError, UsageError
from headrace.kernel.values import MAX_DEPTH
from headrace.pipeline.ledger import Input
from headrace.pipeline.spec import texts
from headrace.store import remote
from headrace.store.shards.shard_set import ShardSet
from headrace.store.sizes import parse_size
from headrace.store.source import expand

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from headrace.pipeline.place import Place
    from headrace.pipeline.spec import Pipeline
    from headrace.store.shards.names import SetNames
    from headrace.store.source import Source

    Inputs: TypeAlias = list[tuple[Input, Source]]


def main_inputs(pipeline: Pipeline, place: Place) -> Inputs:
    """Find the files that the pipeline reads."""
    found = _found(pipeline.source.paths, place)
    for _input, source in found:
        if source.kind == "file" and Path(source.location).is_relative_to(place.root):
            raise UsageError(
                f"{source.location}: the pipeline itself writes there; "
                "let `source` name other files, or `directory` another place"
            )
    return found


def named_inputs(pipeline: Pipeline, place: Place) -> dict[str, Inputs]:
    """Find the files of the named sources."""
    return {name: _found(paths, place) for name, paths in pipeline.names.items()}


def part_inputs(names: SetNames) -> Inputs:
    """Return the parts of a set that a pass has made."""
    shards = ShardSet(names.directory, names.name)
    sources = shards.sources()
    return [
        (Input(part.path, part.bytes, part.digest), source)
        for part, source in zip(shards.metadata.parts, sources, strict=True)
    ]


def _found(paths: str | Sequence[str], place: Place) -> Inputs:
    located = [
        path if remote.is_url(path) else str(place.base / path) for path in texts(paths)
    ]
    found = []
    for source in expand(located):
        if source.is_pipe:
            raise UsageError(f"{source.location}: a pipeline cannot read a pipe")
        path = source.location
        if source.kind == "file" and Path(path).is_relative_to(place.base):
            # So that it may be moved together with all it reads.
            path = os.path.relpath(path, place.base)
        head, tail = source.ends
        stamp = f"{source.mtime_ns}-{head}-{tail}"
        found.append((Input(path, source.size, stamp), source))
    return found


def check_named(pipeline: Pipeline, sources: Sequence[Source]) -> None:
    """Raise if a row of a source that others are joined with is bad."""
    from headrace.engines.local.scan import tally

    limit = parse_size(pipeline.source.max_line)
    stats = tally(sources, max_line=limit, max_depth=MAX_DEPTH)
    for bad in stats.first_bad:
        raise BadRowError(bad.path, bad.line, bad.offset, bad.reason)
    if stats.too_long:
        raise UsageError(
            f"{sources[0].location}: {stats.too_long} lines are longer than max_line"
        )
