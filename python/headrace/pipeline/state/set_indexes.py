"""The index of the whole output of a pipeline, behind its last pass.

As with those of parts, the files are asked whether it is there: parts that were added are indexed
behind those that it has, and what was removed, damaged or is of other rows is built again.
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
    """Return how many of the first parts of a set are in its index; None if it has none that fits."""
    asked = build_of(index)
    known = stored.INDEXES.find(opened.path, Where(), asked.fields)
    if not isinstance(known, stored.SetStored) or not asked.made(known):
        return None
    usable, fresh = stored.fitting(known, opened)
    return None if fresh.state == "stale" else len(usable.manifest.parts)


def bring_up_to_date(
    index: SetIndex,
    shards: ShardSet,
    make: Callable[[KeyBuild], MakeSegments],
    tell: Callable[[int, int], object] | None,
) -> IndexReport:
    """Index the parts of a set that its index has not.

    `make` says what makes segments; `tell` is told how many parts are done, and of how many.
    """
    clock = time.monotonic()
    opened, asked = open_set(shards), build_of(index)
    if tell is not None:
        asked = replace(asked, progress=_telling(opened, tell))
    path = place_of_set(opened.path, asked.fields, Where())
    known, made = parts_in(index, opened), None
    if known is None:
        made = set_index.build(opened, path, asked, make(asked))
    elif known < len(opened.parts):
        made = set_index.update(opened, path, asked, make(asked)).made
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
    """Return what takes how many bytes are done for how many parts are."""
    ends, count = [*opened.starts[1:], opened.size], len(opened.parts)

    def told(done: int, _records: int) -> None:
        tell(bisect_right(ends, done), count)

    return told
