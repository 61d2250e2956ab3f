"""Updating key indexes with a delta of the appended rows, and compacting base and delta.

Only new rows of the source are read, and old rows where only they can tell two keys apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.engines.index.collect import line_of
from headrace.engines.index.kinds import Built
from headrace.engines.local.collect import collect
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
from headrace.store.index.file import delta_of, mark_of, remove_delta
from headrace.store.index.key import Stored

if TYPE_CHECKING:
    from headrace.engines.index.kinds import KeyBuild
    from headrace.errors import KeyIndexError
    from headrace.kernel.key_index import Written
    from headrace.store.files.source import Source
    from headrace.store.index.file import AnyStored


def update(source: Source, stored: Stored, build: KeyBuild) -> Built[Written]:
    """Write a delta of all rows that the index does not have, and return the new ones.

    The bytes that the index covers must be proven. A delta that is damaged, or has too many rows
    of which only the offsets are known, is made anew.
    """
    try:
        return _update(source, stored, build)
    except FewBitsError:
        # Only a delta can have too few bits.
        assert stored.delta is not None
    except SidecarError as error:
        if stored.delta is None:
            raise damaged(source, stored, error) from None
    return update(source, stored.without_delta(), build)


def _update(source: Source, stored: Stored, build: KeyBuild) -> Built[Written]:
    opened = OpenedFile(source, decoding=build.decoding)
    mark = mark_of(source, opened)
    base, newest = stored.meta, stored.newest
    path = delta_of(stored.path)
    # The lines of the delta; line numbers count from the first line of the source.
    known = newest.covered_lines if stored.delta else Lines()
    before = base.covered_lines.lines + known.lines
    blocks = (base.coverage_end // HASH_BYTES, newest.coverage_end // HASH_BYTES)
    with in_place_of(path) as new, explaining(source.location):
        keys = collect(opened, build, path.parent, newest.coverage_end, before)
        plan = build.plan(keys, mark)._replace(
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
    """Merge a base and its delta into one index, which replaces the base.

    The bytes that they cover must be proven: rows are read where only they can tell whether
    two keys are the same. Raises `FewBitsError` where a new index needs more bits of its keys.
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
        # If the source was changed, that is the error, not its index.
        opened.check()
        raise damaged(source, stored, error) from None
    remove_delta(stored.path, Stored)
    return Built(stored.path, written, whole.lines, ())


def restamp(source: Source, stored: AnyStored) -> None:
    """Write the present mark of a source, whose bytes are proven, into its index of any kind."""
    mark = mark_of(source, OpenedFile(source))
    try:
        with in_place_of(stored.newest_path) as new, explaining(source.location):
            stored.index.restamp(new.temporary, mark)
    except SidecarError as error:
        raise damaged(source, stored, error) from None


def damaged(source: Source, stored: AnyStored, error: SidecarError) -> KeyIndexError:
    """Return the error that an index of any kind is damaged."""
    return stored.ERROR(
        source.location, str(stored.newest_path), "corrupt", error.damage
    )
