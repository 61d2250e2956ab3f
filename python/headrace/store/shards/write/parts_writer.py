"""Writing records to parts, wherever those are put."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from headrace.store.shards.write.partitions import PartitionedFiles
from headrace.store.shards.write.parts import PartFiles
from headrace.store.shards.write.record_writer import RecordWriter

if TYPE_CHECKING:
    from headrace.kernel.blocks import Refusal, RefusedRow
    from headrace.kernel.rows import RowBatch
    from headrace.store.shards.options import PackOptions
    from headrace.store.shards.write.partitions import Keys
    from headrace.store.shards.write.parts import Place

T = TypeVar("T")


class PartsWriter(RecordWriter[T]):
    """Writes records to files that obey their limits; with `keys`, in partitions."""

    _files: PartFiles | PartitionedFiles

    def _write_to(self, place: Place, options: PackOptions, keys: Keys | None) -> None:
        """Say where the files go; called once, before the first record."""
        if keys is None:
            self._files = PartFiles(place, options)
        else:
            self._files = PartitionedFiles(place, options, keys)

    @property
    def records(self) -> int:
        """How many records were written; blank lines are among them."""
        return self._files.records

    @property
    def blank(self) -> int:
        """How many of them are blank lines; only lines that are checked are told apart."""
        return self._files.blank

    @property
    def bytes_written(self) -> int:
        """Bytes in the files of the parts now, after compression."""
        return self._files.bytes_written

    @property
    def logical_bytes(self) -> int:
        """Bytes of all records with their newlines, before compression."""
        return self._files.logical_bytes

    def _add(self, data: bytes, start: int) -> Refusal | None:
        return self._files.add(data, start)

    def _add_rows(self, rows: RowBatch, start: int) -> RefusedRow | None:
        return self._files.add_rows(rows, start)
