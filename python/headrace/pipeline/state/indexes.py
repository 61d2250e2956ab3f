"""Indexes of the output of a pipeline, built after its last pass.

Each part of the set has its own index, or all parts have one. The index files tell whether it
exists, not a ledger: an index is derived, and may vanish at any time. New parts get an index, or
are added to it; old parts keep theirs, and an index that was removed or does not fit any more is
built again.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, assert_never, overload

from headrace.engines.index import set as set_index
from headrace.engines.index.index_paths import is_there, place_of, place_of_set
from headrace.engines.index.jobs import MOST_TOGETHER, Target, build_together
from headrace.engines.index.kinds import AnyBuild, GraphBuild, KeyBuild
from headrace.kernel.graph import EdgeFields
from headrace.kernel.index_meta import Lines
from headrace.pipeline.report.report import IndexReport
from headrace.pipeline.spec import GraphIndex, Index, KeyIndex, SetIndex, texts
from headrace.store.index.set import stored
from headrace.store.index.stored_index import Where
from headrace.store.shards.opened_set import OpenedSet, open_set

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headrace.engines.index.set_slices import MakeSegments
    from headrace.engines.rows.item_tasks import RunEach
    from headrace.store.files.source import Source
    from headrace.store.shards.shard_set import ShardSet


def title_of(index: Index) -> str:
    """Return the name of an index for people.

    >>> (
    ...     title_of(KeyIndex(["a", "b"])),
    ...     title_of(SetIndex("a")),
    ...     title_of(GraphIndex("from", "to")),
    ... )
    ('key a,b', 'key a of the set', 'edges from, to')
    """
    match index:
        case KeyIndex(key=key):
            return f"key {','.join(texts(key))}"
        case SetIndex(key=key):
            return f"key {','.join(texts(key))} of the set"
        case GraphIndex(from_=from_, pred=pred, to=to):
            return f"edges {', '.join(EdgeFields(from_, pred, to).names)}"
        case _:
            assert_never(index)


@overload
def build_of(index: SetIndex) -> KeyBuild: ...
@overload
def build_of(index: Index) -> AnyBuild: ...
def build_of(index: Index) -> AnyBuild:
    """Lower an index to a build of the engine."""
    match index:
        case KeyIndex():
            version = 2 if index.compact else None
            return KeyBuild(texts(index.key), index.unique, version)
        case SetIndex():
            return KeyBuild(texts(index.key), index.unique)
        case GraphIndex():
            fields = EdgeFields(index.from_, index.pred, index.to)
            return GraphBuild(fields, index.reverse)
        case _:
            assert_never(index)


PartIndex: TypeAlias = KeyIndex | GraphIndex


def without(index: PartIndex, parts: Sequence[Source]) -> list[Source]:
    """Return the parts that have no such index that is up to date."""
    build = build_of(index)
    return [source for source in parts if not is_there(source, build)]


def bring_up_to_date(
    index: PartIndex,
    parts: Sequence[Source],
    run_each: RunEach,
    partition_bytes: int,
    tell: Callable[[int, int], object] | None,
) -> IndexReport:
    """Build the missing indexes of parts."""
    clock = time.monotonic()
    left, build = without(index, parts), build_of(index)
    size, lines = 0, Lines()
    for first in range(0, len(left), MOST_TOGETHER):
        some = left[first : first + MOST_TOGETHER]
        targets = [Target(source, _path(source, build), build) for source in some]
        for built in build_together(targets, run_each, partition_bytes, tell):
            size += built.written.size
            lines = lines.plus(built.lines)
    return IndexReport(
        title_of(index),
        len(left),
        len(parts) - len(left),
        lines.records,
        sum(lines.skipped.values()),
        size,
        round(time.monotonic() - clock, 3),
    )


def _path(source: Source, build: AnyBuild) -> Path:
    # A part has one graph index, which is replaced if its fields change.
    return place_of(source, build, Where(), force=isinstance(build, GraphBuild))


def parts_in(index: SetIndex, opened: OpenedSet) -> int | None:
    """Return the number of parts of a set in its index; None if it has no index that fits."""
    build = build_of(index)
    known = stored.INDEXES.find(opened.path, Where(), build.fields)
    if not isinstance(known, stored.SetStored) or not build.made(known):
        return None
    usable, fresh = stored.fitting(known, opened)
    return None if fresh.state == "stale" else len(usable.manifest.parts)


def bring_set_up_to_date(
    index: SetIndex,
    shards: ShardSet,
    make: Callable[[KeyBuild], MakeSegments],
    tell: Callable[[int, int], object] | None,
) -> IndexReport:
    """Add the missing parts of a set to its index.

    `make` returns the maker of segments; `tell` is called with the finished and all parts.
    """
    clock = time.monotonic()
    opened, build = open_set(shards), build_of(index)
    if tell is not None:
        build = replace(build, progress=_telling(opened, tell))
    path = place_of_set(opened.path, build.fields, Where())
    known, made = parts_in(index, opened), None
    if known is None:
        made = set_index.build(opened, path, build, make(build))
    elif known < len(opened.parts):
        made = set_index.update(opened, path, build, make(build)).made
    lines = Lines() if made is None else made.lines
    return IndexReport(
        title_of(index),
        len(opened.parts) - (known or 0),
        known or 0,
        lines.records,
        sum(lines.skipped.values()),
        0 if made is None else made.built.written.size,
        round(time.monotonic() - clock, 3),
    )


def _telling(
    opened: OpenedSet, tell: Callable[[int, int], object]
) -> Callable[[int, int], None]:
    """Return a callback that reports finished bytes as finished parts."""
    ends, count = [*opened.starts[1:], opened.size], len(opened.parts)

    def report(done: int, _records: int) -> None:
        tell(bisect_right(ends, done), count)

    return report
