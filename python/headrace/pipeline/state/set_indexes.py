"""The index of the whole output of a pipeline, built after its last pass.

As with indexes of parts, the index files tell whether it exists: new parts are added to it, and an
index that was removed or damaged, or does not fit, is built again.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.engines.index import set as set_index
from headrace.engines.index.places import place_of_set
from headrace.kernel.index_meta import Lines
from headrace.pipeline.report.report import IndexReport
from headrace.pipeline.state.indexes import build_of, title_of
from headrace.store.index.file import Where
from headrace.store.index.set import stored
from headrace.store.shards.opened_set import open_set

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.engines.index.kinds import KeyBuild
    from headrace.engines.index.set_slices import MakeSegments
    from headrace.pipeline.spec import SetIndex
    from headrace.store.shards.opened_set import OpenedSet
    from headrace.store.shards.shard_set import ShardSet


def parts_in(index: SetIndex, opened: OpenedSet) -> int | None:
    """Return the number of parts of a set in its index; None if it has no index that fits."""
    build = build_of(index)
    known = stored.INDEXES.find(opened.path, Where(), build.fields)
    if not isinstance(known, stored.SetStored) or not build.made(known):
        return None
    usable, fresh = stored.fitting(known, opened)
    return None if fresh.state == "stale" else len(usable.manifest.parts)


def bring_up_to_date(
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
