"""Continuing key indexes: a delta of what was appended, and one index of base and delta.

Of the source only what is new is read, and rows where nothing else can tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.engines.local.key_build import Built, line_of, scan_keys
from headrace.errors import KeyIndexError
from headrace.kernel.key_index import (
    HASH_BYTES,
    FewBitsError,
    Kept,
    Lines,
    Plan,
    write_index,
)
from headrace.kernel.rows import SidecarError, reading
from headrace.store.atomic import in_place_of
from headrace.store.key_index import mark_of, remove_delta
from headrace.store.key_names import delta_of
from headrace.store.opened import OpenedFile

if TYPE_CHECKING:
    from headrace.engines.local.key_build import KeyBuild
    from headrace.store.key_index import Stored
    from headrace.store.source import Source


def update(source: Source, stored: Stored, asked: KeyBuild) -> Built:
    """Write the delta of all rows that its index has not, and return what is new in it.

    What the index covers must have been proven. If nothing is known of the rows of the
    delta that there is but their places, and these are too many, it is made anew.
    """
    try:
        return _update(source, stored, asked)
    except (FewBitsError, SidecarError):
        if stored.delta is None:
            raise
        return _update(source, stored.without_delta(), asked)


def _update(source: Source, stored: Stored, asked: KeyBuild) -> Built:
    opened = OpenedFile(source, decoding=asked.decoding)
    mark = mark_of(source, opened)
    base, newest = stored.meta, stored.newest
    path = delta_of(stored.path)
    # What the delta knows; lines are counted from the first one of the source on.
    known = newest.covered_lines if stored.delta else Lines()
    before = base.covered_lines.lines + known.lines
    with in_place_of(path) as new, reading(source.location):
        keys = scan_keys(opened, asked, path.parent, newest.coverage_end, before)
        blocks = (base.coverage_end // HASH_BYTES, newest.coverage_end // HASH_BYTES)
        plan = Plan(
            asked.fields,
            asked.unique,
            asked.version,
            known.plus(keys.lines),
            keys.last,
            asked.max_line,
            asked.max_depth,
            opened.size,
            keys.covered,
            (keys.hashed, [*stored.index.hashes(*blocks), *keys.hashes]),
            mark,
        )
        written = write_index(
            keys.runs,
            new.temporary,
            plan,
            source=source.location,
            line_of=lambda offset: line_of(opened, offset),
            kept=Kept(stored.index, opened.data, whole=False),
        )
    return Built(path, written, keys.lines, keys.skipped)


def compact(source: Source, stored: Stored) -> Built:
    """Make one index of a base and its delta, in the place of the base.

    What they cover must have been proven: rows are read where only they can tell whether
    two keys are one.
    """
    opened = OpenedFile(source)
    base, newest = stored.meta, stored.newest
    lines = base.covered_lines.plus(newest.lines)
    keyed = newest.last is not None and newest.last.endswith("_key")
    with in_place_of(stored.path) as new, reading(source.location):
        plan = Plan(
            base.key,
            base.mode == "unique",
            2 if stored.index.version == 2 else None,
            lines,
            "key" if keyed else newest.last,
            base.max_line,
            base.max_depth,
            newest.logical_size,
            newest.coverage_end,
            (newest.hashed, stored.index.all_hashes()),
            newest.source,
        )
        try:
            written = write_index(
                [],
                new.temporary,
                plan,
                source=source.location,
                line_of=lambda offset: line_of(opened, offset),
                kept=Kept(stored.index, opened.data, whole=True),
            )
        except SidecarError as error:
            opened.check()
            _path, offset, reason = error.args
            said = f"{reason} (byte {offset})"
            raise KeyIndexError(
                source.location, str(stored.path), "corrupt", said
            ) from None
    remove_delta(stored.path)
    return Built(stored.path, written, lines, ())


def restamp(source: Source, stored: Stored) -> None:
    """Write down what a source looks like now whose bytes were proven to be the same."""
    opened = OpenedFile(source)
    path = stored.newest_path
    with in_place_of(path) as new, reading(str(path)):
        stored.index.restamp(new.temporary, mark_of(source, opened))
