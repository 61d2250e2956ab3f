"""Building key indexes in threads.

The index is in the order of its keys, so it does not depend on the cuts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.engines.index.kinds import Built
from headrace.engines.local.collect import collect
from headrace.store.files.atomic import in_place_of
from headrace.store.files.opened import OpenedFile
from headrace.store.index.file import mark_of, refuse_unless_seekable, remove_delta

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.engines.index.kinds import KeyBuild
    from headrace.kernel.key_index import Written
    from headrace.store.files.source import Source


def build(source: Source, path: Path, build: KeyBuild) -> Built[Written]:
    """Build the index of a source at `path`, which is replaced atomically.

    A source that is changed meanwhile is an error; a source that grows is indexed up to its old
    end. The delta of the old index is removed.
    """
    refuse_unless_seekable(source)
    opened = OpenedFile(source, decoding=build.decoding)
    refuse_unless_seekable(opened.source)
    mark = mark_of(source, opened)
    with in_place_of(path) as new:
        keys = collect(opened, build, path.parent)
        plan = build.plan(keys, mark)
        written = build.write(keys.runs, new.temporary, plan, opened)
    remove_delta(path, build.INDEXES.stored)
    return Built(path, written, keys.lines, keys.skipped)
