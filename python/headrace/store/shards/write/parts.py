"""Part writer: records go in, complete files come out.

Only the records that the packer still needs are in memory; all its output is in a file when a call
returns.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from headrace.kernel.rows import File, RowBatch, reading
from headrace.store.files import system
from headrace.store.files.atomic import NewFile
from headrace.store.rows.checkpoints import SUFFIX
from headrace.store.shards.metadata import Part
from headrace.store.shards.names import part_name, partition_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from headrace.kernel.blocks import LineRefusal, Packer, Piece, RowRefusal, Shard
    from headrace.store.shards.job.commit import Generation
    from headrace.store.shards.job.directory import Attempt
    from headrace.store.shards.job.object_store import RemoteAttempt
    from headrace.store.shards.options import PackOptions


Destination: TypeAlias = "Generation | Attempt | RemoteAttempt"
"""The destination of parts: a generation, or an attempt at a task of a job."""


def part_directory(parts: Path, partition: str | None, made: set[Path]) -> Path:
    """Create the directory of parts, or of a partition, unless it is in `made`, and return it."""
    wanted = [parts] if partition is None else [parts, parts / partition]
    for each in wanted:
        if each not in made:
            # Recorded first: an interrupt must not leave an unrecorded directory.
            made.add(each)
            system.calls.make_directory(each)
    return wanted[-1]


class PartFiles:
    """The parts of a set, or of one partition of it."""

    def __init__(
        self,
        destination: Destination,
        options: PackOptions,
        partition: tuple[str, str | None] | None = None,
    ) -> None:
        self.records = 0
        self.blank = 0
        self.bytes_written = 0
        self.logical_bytes = 0
        self.parts: list[Part] = []
        self._destination = destination
        self._options = options
        self._partition = partition
        self._packer: Packer | None = None
        self._file: NewFile | None = None

    def add(self, data: bytes, start: int = 0) -> LineRefusal | None:
        """Add the lines from byte `start` on, up to one that is refused."""
        with self._counting() as packer:
            pieces, refusal = packer.add(data, start)
        self._append(pieces)
        return refusal

    def add_rows(self, rows: RowBatch, start: int = 0) -> RowRefusal | None:
        """Add the rows from position `start` on, up to one that is refused."""
        with self._counting() as packer:
            pieces, refused = packer.add_rows(rows, start)
        self._append(pieces)
        return refused

    @contextmanager
    def _counting(self) -> Iterator[Packer]:
        if self._packer is None:
            self._packer = self._options.packer()
        packer = self._packer
        before = packer.records, packer.blank, packer.logical_bytes
        try:
            yield packer
        finally:
            self.records += packer.records - before[0]
            self.blank += packer.blank - before[1]
            self.logical_bytes += packer.logical_bytes - before[2]

    def rest(self) -> None:
        """Close the open file while other parts are written; it is opened again when needed."""
        if self._packer is not None:
            self._packer.rest()
        if self._file is not None:
            self._file.rest()

    def finish(self) -> None:
        """End the last part; the next record begins another."""
        packer, self._packer = self._packer, None
        if packer is not None:
            self._append(packer.finish())

    def _append(self, pieces: Sequence[Piece]) -> None:
        for data, shard in pieces:
            file = self._file or self._begin()
            with self._destination.writing(file.path):
                before = file.size
                try:
                    file.append(data)
                finally:
                    self.bytes_written += file.size - before
                if shard is not None:
                    self._file = None
                    file.finish()
                    self._end(file.path, shard)

    def _begin(self) -> NewFile:
        name = part_name(len(self.parts), self._options.suffix)
        with self._destination.writing():
            partition = self._partition and partition_name(*self._partition)
            self._file = NewFile(self._destination.directory(partition) / name)
        return self._file

    def _end(self, path: Path, shard: Shard) -> None:
        self.parts.append(
            Part(
                path=self._destination.keep(path, shard),
                records=shard.records,
                bytes=shard.bytes,
                logical_bytes=shard.logical_bytes,
                first_row=0,
                blocks=shard.blocks,
                digest=shard.digest,
                partition=self._partition,
            )
        )

    def close(self) -> None:
        """Close the file that is being written; it is removed with its generation."""
        file, self._file = self._file, None
        if file is not None:
            file.discard()


def write_block_table(path: Path, shard: Shard) -> None:
    """Write the sidecar of the finished file at `path`."""
    new = NewFile(path.with_name(path.name + SUFFIX), like=path)
    try:
        with reading(str(path)):
            content = shard.checkpoints(File(path))
        new.append(content)
        new.finish()
    finally:
        new.discard()
