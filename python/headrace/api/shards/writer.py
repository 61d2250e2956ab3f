"""The writer of a set of shards, with its options checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from headrace.api.options import ShardOptions, refuse_unknown
from headrace.engines.rows.partition_key import PathKeys
from headrace.errors import UsageError
from headrace.kernel.values import MAX_DEPTH
from headrace.store.shards.options import limits, pack_options
from headrace.store.shards.vacuum.local import GRACE
from headrace.store.shards.write.set_writer import SetWriter

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from headrace.store.shards.metadata import Metadata


class ShardWriter(SetWriter):
    """A writer of a set of shards: files within limits, committed together.

    The set appears atomically when the writer is closed, and replaces the set of that name;
    readers see the old one or the new one. No record is split. An exception in a `with` block
    leaves everything as it was.
    """

    def __init__(
        self, directory: str | os.PathLike[str], **options: Unpack[ShardOptions]
    ) -> None:
        refuse_unknown(options, ShardOptions)
        max_depth = options.get("max_depth", MAX_DEPTH)
        partition_by = options.get("partition_by")
        chosen = pack_options(
            options.get("codec", "zstd"),
            level=options.get("level"),
            options=options.get("options"),
            block_bytes=options.get("block_bytes", "256KiB"),
            limits=limits(
                options.get("max_bytes"),
                options.get("max_records"),
                options.get("max_logical_bytes"),
            ),
            validate=options.get("validate", True),
            max_depth=max_depth,
            threads=options.get("threads", 1),
        )
        super().__init__(
            directory,
            options.get("name", "rows"),
            chosen,
            on_error=options.get("on_error", "abort"),
            run=options.get("run"),
            keys=None if partition_by is None else _keys(partition_by, max_depth),
            allow_empty=options.get("allow_empty", False),
            grace=options.get("grace", GRACE),
        )


def write_all(
    records: Iterable[object],
    directory: str | os.PathLike[str],
    options: ShardOptions,
) -> Metadata:
    """Write records as a set of shards, and return its metadata."""
    with ShardWriter(directory, **options) as writer:
        writer.write_many(records)
        return writer.commit()


def _keys(partition_by: object, max_depth: int) -> PathKeys:
    if not isinstance(partition_by, str):
        raise UsageError(f"partition_by {partition_by!r}: must be a path such as 'a.b'")
    return PathKeys(partition_by, max_depth)
