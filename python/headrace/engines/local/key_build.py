"""Building key indexes, in parallel.

The order of the index is that of the keys, so it does not depend on how rows were collected.
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

    from headrace.engines.index.collect import Collected
    from headrace.engines.index.kinds import KeyBuild
    from headrace.kernel.key_index import KeyRuns, Written
    from headrace.store.files.source import Source


def build(source: Source, path: Path, asked: KeyBuild) -> Built[Written]:
    """Build the index of a source at `path`, which is replaced in one instant.

    A source that is changed meanwhile is an error; one that grows is indexed as far
    as it was. What was a delta of the index before is removed.
    """
    refuse_unless_seekable(source)
    opened = OpenedFile(source, decoding=asked.decoding)
    refuse_unless_seekable(opened.source)
    mark = mark_of(source, opened)
    with in_place_of(path) as new:
        keys = scan_keys(opened, asked, path.parent)
        plan = asked.plan(keys, mark)
        written = asked.write(keys.runs, new.temporary, plan, opened)
    remove_delta(path, asked.STORED)
    return Built(path, written, keys.lines, keys.skipped)


def scan_keys(
    opened: OpenedFile,
    asked: KeyBuild,
    directory: Path,
    start: int = 0,
    first_line: int = 0,
) -> Collected[KeyRuns]:
    """Take the keys of all rows from `start` on, which is where line `first_line` begins."""
    return collect(opened, asked, asked.collecting(), directory, start, first_line)
