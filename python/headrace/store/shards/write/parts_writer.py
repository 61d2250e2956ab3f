"""Record writer for the parts of a generation or an attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from headrace.store.shards.write.partitions import PartitionedFiles
from headrace.store.shards.write.parts import PartFiles
from headrace.store.shards.write.record_writer import RecordWriter

if TYPE_CHECKING:
    from headrace.kernel.blocks import LineRefusal, RowRefusal
    from headrace.kernel.rows import RowBatch
    from headrace.store.shards.options import PackOptions
    from headrace.store.shards.write.partitions import Keys
    from headrace.store.shards.write.parts import Destination

T = TypeVar("T")


class PartsWriter(RecordWriter[T]):
    """Writes records to parts within limits; with `keys`, in partitions."""

    _files: PartFiles | PartitionedFiles

    def _write_to(
        self, destination: Destination, options: PackOptions, keys: Keys | None
    ) -> None:
        """Set the destination of the parts; called once, before the first record."""
        if keys is None:
            self._files = PartFiles(destination, options)
        else:
            self._files = PartitionedFiles(destination, options, keys)

    @property
    def records(self) -> int:
        """The number of written records, with blank lines."""
        return self._files.records

    @property
    def blank(self) -> int:
        """The number of blank lines among them; only counted if lines are checked."""
        return self._files.blank

    @property
    def bytes_written(self) -> int:
        """The bytes of the parts so far, after compression."""
        return self._files.bytes_written

    @property
    def logical_bytes(self) -> int:
        """The bytes of all records with their newlines, before compression."""
        return self._files.logical_bytes

    def _add(self, data: bytes, start: int) -> LineRefusal | None:
        return self._files.add(data, start)

    def _add_rows(self, rows: RowBatch, start: int) -> RowRefusal | None:
        return self._files.add_rows(rows, start)
