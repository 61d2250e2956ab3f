"""Sets of shards: writing them partitioned, reading them as records."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from headrace.api.dataset import Batch, Dataset
from headrace.api.open import MAX_LINE, decoding_threads
from headrace.engines.rows.partition_key import PathKeys
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
from headrace.store.files.decoded import decoded
from headrace.store.files.opened import OpenedFile
from headrace.store.files.units import parse_size
from headrace.store.rows.checkpoints import Keeping
from headrace.store.rows.row_file import RowOptions
from headrace.store.shards.options import LARGEST_BLOCK, limits, pack_options
from headrace.store.shards.shard_set import ShardSet
from headrace.store.shards.vacuum.local import GRACE
from headrace.store.shards.write.set_writer import SetWriter

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator, Mapping

    from headrace.store.files.source import Source
    from headrace.store.shards.metadata import Part
    from headrace.store.shards.write.record_writer import OnError

    Validation: TypeAlias = Literal["strict", "trusted"]
    OnDamage: TypeAlias = Literal["abort", "skip"]


class ShardWriter(SetWriter):
    """Writes records to files that obey their limits, and commits them as one set.

    The set appears in one instant when the writer is closed, and replaces the one of
    that name that was there; whoever reads sees the one or the other. No file has
    more than `max_bytes` on disk, `max_records` or `max_logical_bytes` before
    compression, and no record is split. With `partition_by`, a path such as
    ``"user.country"``, records go to a directory for each value. Lines are checked
    to be JSON unless `validate` is off; those that are not raise, or are left out
    and counted with ``on_error="skip"``, or told to a function. More `threads`
    change no byte. `run` is kept in the metadata. A set that has rows is replaced by one
    without any only with `allow_empty`. Readers of what is replaced have `grace` seconds.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        name: str = "rows",
        codec: str = "zstd",
        level: int | None = None,
        options: Mapping[str, int] | None = None,
        block_bytes: int | str = "256KiB",
        max_bytes: int | str | None = None,
        max_records: int | None = None,
        max_logical_bytes: int | str | None = None,
        validate: bool = True,
        on_error: OnError = "abort",
        threads: int = 1,
        max_depth: int = MAX_DEPTH,
        partition_by: str | None = None,
        run: Mapping[str, object] | None = None,
        allow_empty: bool = False,
        grace: float = GRACE,
    ) -> None:
        chosen = pack_options(
            codec,
            level=level,
            options=options,
            block_bytes=block_bytes,
            limits=limits(max_bytes, max_records, max_logical_bytes),
            validate=validate,
            max_depth=max_depth,
            threads=threads,
        )
        super().__init__(
            directory,
            name,
            chosen,
            on_error=on_error,
            run=run,
            keys=None if partition_by is None else _keys(partition_by, max_depth),
            allow_empty=allow_empty,
            grace=grace,
        )


def _keys(partition_by: object, max_depth: int) -> PathKeys:
    if not isinstance(partition_by, str):
        raise UsageError(f"partition_by {partition_by!r}: must be a path such as 'a.b'")
    return PathKeys(partition_by, max_depth)


def read_shards(
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    validation: Validation = "strict",
    required: Collection[str] = (),
    on_damage: OnDamage = "abort",
    max_line: int | str = MAX_LINE,
    max_depth: int = MAX_DEPTH,
) -> Iterator[Any]:
    """Yield the records of a set in order, a few of them in memory at a time.

    ``"strict"`` checks that each is an object with the `required` keys; with
    ``"trusted"`` any JSON value will do. Each part must have as many rows as the
    metadata says. With ``on_damage="skip"``, the rows of blocks that cannot be decoded
    are left out with a warning; if nobody knows which those are, the rest of the part.
    """
    if validation not in ("strict", "trusted"):
        raise UsageError(f"validation is 'strict' or 'trusted', not {validation!r}")
    if on_damage not in ("abort", "skip"):
        raise UsageError(f"on_damage is 'abort' or 'skip', not {on_damage!r}")
    if isinstance(required, str):
        raise UsageError("required is a list of keys, not one")
    keys = frozenset(required) if validation == "strict" else None
    decoding = Decoding(decoding_threads())
    options = RowOptions(parse_size(max_line), Keeping(), decoding)
    return _records(ShardSet(path, name), keys, options, max_depth, on_damage)


def shard_lines(shards: ShardSet, *, on_damage: OnDamage = "abort") -> Iterator[bytes]:
    """Yield the lines of a set in order, as they were written, many at a time."""
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
            said = f"but the metadata says {part.logical_bytes}"
            reason = f"it has {length} bytes after decompression, {said}"
            raise BadSetError(source.location, reason)
        if source.codec == "none":
            _refuse_other_digest(source, part)


def _refuse_other_digest(source: Source, part: Part) -> None:
    """Raise if a part that has no checksums of blocks is not what was written."""
    opened = OpenedFile(source)
    if opened.is_checked:
        return
    with reading(source.location):
        found = digest(opened.file, part.bytes)
    if found != part.digest:
        reason = f"its digest is {found}, but the metadata says {part.digest}"
        raise BadSetError(source.location, reason)


def _records(
    shards: ShardSet,
    keys: frozenset[str] | None,
    options: RowOptions,
    max_depth: int,
    on_damage: OnDamage,
) -> Iterator[Any]:
    for rows, batch in _batches(shards, options, max_depth, on_damage):
        yield from _values(rows, batch, keys, max_depth)


def _batches(
    shards: ShardSet, options: RowOptions, max_depth: int, on_damage: OnDamage
) -> Iterator[tuple[Dataset[Any], Batch]]:
    """Yield rows that were read together; each part has as many as it should have."""
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


def _parts(shards: ShardSet, on_damage: OnDamage) -> Iterator[tuple[Part, Source]]:
    """Yield the parts that can be read: all of them, or it is said which cannot."""
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
    """Return the first row behind what is damaged; without known blocks all is."""
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
    """Yield the records before one that is not as it should be, and raise that."""
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
