"""Sets of shards: reading their records, checking and publishing them."""

from __future__ import annotations

import warnings
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from headrace.api.dataset import Batch, Dataset
from headrace.api.open import MAX_LINE, decoding_threads
from headrace.api.options import refuse_other
from headrace.api.shards.check import Checked, check_shards
from headrace.errors import (
    BadSetError,
    DamagedBlockError,
    DamagedSourceError,
    HeadraceWarning,
    InvalidRecordError,
    UsageError,
)
from headrace.kernel.checksum import digest
from headrace.kernel.rows import Decoding, reading
from headrace.kernel.values import MAX_DEPTH
from headrace.store.files.opened import Keeping, OpenedFile, decoded
from headrace.store.files.units import parse_size
from headrace.store.rows.row_file import RowOptions
from headrace.store.shards import shard_set as store
from headrace.store.shards.options import LARGEST_BLOCK

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from headrace.store.files.source import Source
    from headrace.store.shards.metadata import Part

    Validation: TypeAlias = Literal["strict", "trusted"]
    OnDamage: TypeAlias = Literal["abort", "skip"]


class ShardSet(store.ShardSet):
    """A set of shards: one data set in several files, as it was committed last.

    `path` is the directory, if there is one set in it or `name` is that of the set;
    ``DIRECTORY/NAME``; or a metadata file, which means its generation even if there is a newer
    one. All of these can be URLs of an object store.
    """

    def records(
        self,
        *,
        validation: Validation = "strict",
        required: Collection[str] = (),
        on_damage: OnDamage = "abort",
        max_line: int | str = MAX_LINE,
        max_depth: int = MAX_DEPTH,
    ) -> Iterator[Any]:
        """Yield the records in order, with a batch of them in memory.

        ``"strict"`` checks that each is an object with the `required` keys; ``"trusted"``
        takes any JSON value. Each part must have as many rows as the metadata says. With
        ``on_damage="skip"``, rows of blocks that cannot be decoded are left out with a warning;
        if it is not known which rows these are, the rest of the part.
        """
        refuse_other("validation", validation, ("strict", "trusted"))
        refuse_other("on_damage", on_damage, ("abort", "skip"))
        if isinstance(required, str):
            raise UsageError("required is a list of keys, not one")
        keys = frozenset(required) if validation == "strict" else None
        decoding = Decoding(decoding_threads())
        options = RowOptions(parse_size(max_line), Keeping(), decoding)
        batches = _batches(self, options, max_depth, on_damage)
        return chain.from_iterable(
            _values(rows, batch, keys, max_depth) for rows, batch in batches
        )

    def check(
        self,
        *,
        threads: int | None = None,
        progress: Callable[[int], None] = lambda _bytes: None,
    ) -> Iterator[Checked]:
        """Compare every byte with the metadata, and yield the parts with their faults."""
        return check_shards(self, threads=threads, progress=progress)


def shard_lines(
    shards: store.ShardSet, *, on_damage: OnDamage = "abort"
) -> Iterator[bytes]:
    """Yield the lines of a set in order, many at a time."""
    decoding = Decoding(decoding_threads())
    if on_damage == "skip":
        options = RowOptions(LARGEST_BLOCK, Keeping(), decoding)
        for _rows, batch in _batches(shards, options, MAX_DEPTH, on_damage):
            yield batch.rows.lines()
        return
    sources = shards.sources()
    for part, source in zip(shards.metadata.parts, sources, strict=True):
        length = 0
        for lines in decoded(source, decoding=decoding):
            length += len(lines)
            yield lines
        if length != part.logical_bytes:
            expected = f"but the metadata says {part.logical_bytes}"
            reason = f"it has {length} bytes after decompression, {expected}"
            raise BadSetError(source.location, reason)
        if source.codec == "none":
            _refuse_other_digest(source, part)


def _refuse_other_digest(source: Source, part: Part) -> None:
    """Raise if a part without checksums of blocks is not the one that was written."""
    opened = OpenedFile(source)
    if opened.is_checked:
        return
    with reading(source.location):
        found = digest(opened.file, part.bytes)
    if found != part.digest:
        reason = f"its digest is {found}, but the metadata says {part.digest}"
        raise BadSetError(source.location, reason)


def _batches(
    shards: store.ShardSet, options: RowOptions, max_depth: int, on_damage: OnDamage
) -> Iterator[tuple[Dataset[Any], Batch]]:
    """Yield batches of rows; raise for a part with another number of rows."""
    for part, source in _parts(shards, on_damage):
        rows: Dataset[Any] = Dataset((source,), options, max_depth=max_depth, raw=False)
        reached, damaged = 0, True
        while damaged:
            damaged = False
            try:
                for batch in rows.batches(reached):
                    yield rows, batch
                    reached += len(batch.rows)
            except DamagedSourceError as error:
                if on_damage == "abort":
                    raise
                behind = _behind(error, reached, part.records)
                message = f"{error.what}; {behind - reached} rows are left out"
                warnings.warn(message, HeadraceWarning, stacklevel=2)
                reached, damaged = behind, behind < part.records
        if reached != part.records:
            reason = f"it has {reached} rows, but the metadata says {part.records}"
            raise BadSetError(source.location, reason)
        if source.codec == "none":
            _refuse_other_digest(source, part)


def _parts(
    shards: store.ShardSet, on_damage: OnDamage
) -> Iterator[tuple[Part, Source]]:
    """Yield the parts that can be read; the others are errors or warnings."""
    if on_damage == "abort":
        yield from zip(shards.metadata.parts, shards.sources(), strict=True)
        return
    for part in shards.metadata.parts:
        try:
            source = shards.source(part)
        except BadSetError as error:
            message = f"{error.what}; {part.records} rows are left out"
            warnings.warn(message, HeadraceWarning, stacklevel=2)
        else:
            yield part, source


def _behind(error: DamagedSourceError, reached: int, total: int) -> int:
    """Return the first row after the damage; without a block table, the end of the part."""
    rows = error.rows if isinstance(error, DamagedBlockError) else None
    return total if rows is None or rows.stop <= reached else rows.stop


def _values(
    rows: Dataset[Any], batch: Batch, keys: frozenset[str] | None, max_depth: int
) -> Iterator[Any]:
    values, refused = batch.rows.values(max_depth, skip_blank=True)
    if keys is None or all(isinstance(v, dict) and keys <= v.keys() for v in values):
        yield from values
    else:
        yield from _checked(batch, keys, max_depth)
    if refused is not None:
        raise rows.refusal(batch, *refused)


def _checked(batch: Batch, keys: frozenset[str], max_depth: int) -> Iterator[Any]:
    """Yield the records before the first invalid one, and raise for that."""
    for position, offset in enumerate(batch.rows.offsets):
        row = batch.rows.slice(position, 1)
        values, _refused = row.values(max_depth, skip_blank=True)
        for value in values:
            reason = _fault(value, keys)
            if reason is not None:
                line = batch.line(position)
                raise InvalidRecordError(batch.path, line, offset, reason)
            yield value


def _fault(value: object, keys: frozenset[str]) -> str | None:
    if not isinstance(value, dict):
        return "the record is not an object"
    missing = sorted(keys - value.keys())
    return f"the record has no {', '.join(missing)}" if missing else None
