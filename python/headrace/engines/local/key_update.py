"""Continuing key indexes: a delta of what was appended, and one index of base and delta.

Of the source only what is new is read, and rows where nothing else can tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.engines.index.collect import line_of
from headrace.engines.index.kinds import Built
from headrace.engines.local.key_build import scan_keys
from headrace.kernel.index_meta import HASH_BYTES, Lines
from headrace.kernel.key_index import (
    FewBitsError,
    Kept,
    Plan,
    write_index,
)
from headrace.kernel.rows import SidecarError, explaining
from headrace.store.files.atomic import in_place_of
from headrace.store.files.opened import OpenedFile
from headrace.store.index.file import mark_of, remove_delta
from headrace.store.index.key import Stored
from headrace.store.index.key_names import delta_of

if TYPE_CHECKING:
    from headrace.engines.index.kinds import KeyBuild
    from headrace.errors import KeyIndexError
    from headrace.kernel.key_index import Written
    from headrace.store.files.source import Source
    from headrace.store.index.file import AnyStored


def update(source: Source, stored: Stored, asked: KeyBuild) -> Built[Written]:
    """Write the delta of all rows that its index has not, and return what is new in it.

    What the index covers must have been proven. A delta that is damaged, or has too many rows
    of which nothing is known but their places, is made anew.
    """
    try:
        return _update(source, stored, asked)
    except FewBitsError:
        # Only a delta can have too few bits.
        assert stored.delta is not None
    except SidecarError as error:
        if stored.delta is None:
            raise damaged(source, stored, error) from None
    return update(source, stored.without_delta(), asked)


def _update(source: Source, stored: Stored, asked: KeyBuild) -> Built[Written]:
    opened = OpenedFile(source, decoding=asked.decoding)
    mark = mark_of(source, opened)
    base, newest = stored.meta, stored.newest
    path = delta_of(stored.path)
    # What the delta knows; lines are counted from the first one of the source on.
    known = newest.covered_lines if stored.delta else Lines()
    before = base.covered_lines.lines + known.lines
    blocks = (base.coverage_end // HASH_BYTES, newest.coverage_end // HASH_BYTES)
    with in_place_of(path) as new, explaining(source.location):
        keys = scan_keys(opened, asked, path.parent, newest.coverage_end, before)
        plan = asked.plan(keys, mark)._replace(
            lines=known.plus(keys.lines),
            plain_numbers=newest.plain_numbers and keys.plain_numbers,
            hashes=[*stored.index.hashes(*blocks), *keys.hashes],
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


def compact(source: Source, stored: Stored) -> Built[Written]:
    """Make one index of a base and its delta, in the place of the base.

    What they cover must have been proven: rows are read where only they can tell whether
    two keys are one. Raises `FewBitsError` where a new index would know more of its keys.
    """
    opened = OpenedFile(source)
    whole = stored.whole
    keyed = whole.last is not None and whole.last.endswith("_key")
    try:
        with in_place_of(stored.path) as new, explaining(source.location):
            plan = Plan(
                whole.key,
                whole.mode == "unique",
                2 if stored.index.version == 2 else None,
                whole.lines,
                whole.plain_numbers,
                whole.made_of._replace(last="key" if keyed else whole.last),
                stored.index.all_hashes(),
            )
            written = write_index(
                [],
                new.temporary,
                plan,
                source=source.location,
                line_of=lambda offset: line_of(opened, offset),
                kept=Kept(stored.index, opened.data, whole=True),
            )
    except SidecarError as error:
        # A source that was changed is said to be so, not its index.
        opened.check()
        raise damaged(source, stored, error) from None
    remove_delta(stored.path, Stored)
    return Built(stored.path, written, whole.lines, ())


def restamp(source: Source, stored: AnyStored) -> None:
    """For an index of any kind, write down what a source looks like now whose bytes were proven to be the same."""
    mark = mark_of(source, OpenedFile(source))
    try:
        with in_place_of(stored.newest_path) as new, explaining(source.location):
            stored.index.restamp(new.temporary, mark)
    except SidecarError as error:
        raise damaged(source, stored, error) from None


def damaged(source: Source, stored: AnyStored, error: SidecarError) -> KeyIndexError:
    """Say that an index of any kind is damaged."""
    return stored.ERROR(
        source.location, str(stored.newest_path), "corrupt", error.damage
    )
