"""The files that a pass reads, each with what tells whether it is another one now."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.engines.spark.splits import absolute, packed
from headrace.errors import BadRowError, UsageError
from headrace.kernel.values import MAX_DEPTH
from headrace.physical.fragment import fragments
from headrace.pipeline.growth import whole_lines
from headrace.pipeline.ledger import Input, stamp_of
from headrace.pipeline.spec import texts
from headrace.store import remote
from headrace.store.shards.shard_set import ShardSet
from headrace.store.sizes import parse_size
from headrace.store.source import expand

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from headrace.physical.fragment import Fragment
    from headrace.pipeline.place import Place
    from headrace.pipeline.spec import Pipeline
    from headrace.store.shards.names import SetNames
    from headrace.store.source import Source

    Inputs: TypeAlias = list[tuple[Input, Source]]


def main_inputs(pipeline: Pipeline, place: Place) -> Inputs:
    """Find the files that the pipeline reads."""
    waits = pipeline.source.wait_for_newline
    return _found(pipeline.source.paths, place, whole=waits)


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


def _found(paths: str | Sequence[str], place: Place, *, whole: bool = False) -> Inputs:
    """Find files; of those that are still written to, only `whole` lines if wanted."""
    located = [
        path if remote.is_url(path) else str(place.base / path) for path in texts(paths)
    ]
    found = []
    own = place.root.resolve()
    for each in expand(located):
        source = whole_lines(each) if whole else each
        path = source.location
        if source.is_pipe:
            raise UsageError(f"{path}: a pipeline cannot read a pipe")
        if source.kind == "file" and Path(path).resolve().is_relative_to(own):
            raise UsageError(
                f"{path}: the pipeline itself writes there; let `source` and `names` "
                "name other files, or `directory` another place"
            )
        if source.kind == "file" and Path(path).is_relative_to(place.base):
            # So that it may be moved together with all it reads.
            path = os.path.relpath(path, place.base)
        # A file may be called by bytes that are no text, but the ledger is.
        path = os.fsencode(path).decode(errors="backslashreplace")
        stamp = stamp_of(source.mtime_ns, source.ends)
        found.append((Input(path, source.size, stamp), source))
    return found


def split(chosen: Inputs, size: int) -> tuple[tuple[Fragment, ...], ...]:
    """Cut inputs into fragments of about `size` bytes, and these into tasks."""
    cut: list[Fragment] = []
    for each, source in chosen:
        cut += fragments(absolute(source), size, each.start, each.size)
    return tuple(packed(cut, size))


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
