"""Writing a set of shards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.store.shards import options as asked
from headrace.store.shards.commit import Generation
from headrace.store.shards.metadata import Metadata, Part
from headrace.store.shards.names import check_name
from headrace.store.shards.part_files import PartFiles
from headrace.store.shards.partitions import PartitionedFiles
from headrace.store.shards.record_writer import RecordWriter

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    from headrace.kernel.blocks import Refusal, RefusedRow
    from headrace.kernel.rows import RowBatch
    from headrace.store.shards.partitions import Keys
    from headrace.store.shards.record_writer import OnError


class SetWriter(RecordWriter[Metadata]):
    """Writes records to files that obey their limits, and commits them as one set.

    With `keys`, records go to a directory for each value of a key. Use
    `headrace.ShardWriter`, which makes them of a path.
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
        max_depth: int = 256,
        run: Mapping[str, object] | None = None,
        keys: Keys | None = None,
    ) -> None:
        limits = asked.limits(max_bytes, max_records, max_logical_bytes)
        self._options = asked.pack_options(
            codec,
            level=level,
            options=options,
            block_bytes=block_bytes,
            limits=limits,
            validate=validate,
            max_depth=max_depth,
            threads=threads,
        )
        super().__init__(str(Path(directory) / check_name(name)), limits, on_error)
        self._run = asked.run_facts(run)
        self._generation = Generation(directory, name)
        self._files: PartFiles | PartitionedFiles
        if keys is None:
            self._files = PartFiles(self._generation, self._options)
        else:
            self._files = PartitionedFiles(self._generation, self._options, keys)

    @property
    def records(self) -> int:
        """How many records were written; blank lines are among them."""
        return self._files.records

    @property
    def blank(self) -> int:
        """How many of them are blank lines; only lines that are checked are told apart."""
        return self._files.blank

    @property
    def metadata_path(self) -> Path:
        """The file that commits the set when the writer is closed."""
        return self._generation.names.meta(self._generation.number)

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

    def _commit(self) -> Metadata:
        self._files.finish()
        metadata = Metadata(
            self._generation.names.name,
            self._generation.number,
            self._options.compression,
            self._limits,
            tuple(_numbered(self._files.parts)),
            self._run,
        )
        self._generation.commit(metadata)
        return metadata

    def _discard(self) -> None:
        self._files.close()
        self._generation.discard()


def _numbered(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield parts with the number of their first row in the set."""
    row = 0
    for part in parts:
        yield replace(part, first_row=row)
        row += part.records
