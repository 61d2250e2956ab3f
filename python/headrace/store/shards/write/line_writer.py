"""Line writer: records go to one file."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.store.files import system
from headrace.store.files.atomic import (
    NewFile,
    destination,
    remove_abandoned,
    unwritable,
)
from headrace.store.rows.checkpoints import SUFFIX, is_foreign
from headrace.store.shards import options as shard_options
from headrace.store.shards.write.parts import write_block_table
from headrace.store.shards.write.record_writer import RecordWriter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from headrace.kernel.blocks import LineRefusal, Packer, Piece, RowRefusal, Shard
    from headrace.kernel.rows import RowBatch
    from headrace.store.shards.write.record_writer import OnError


class LineWriter(RecordWriter[None]):
    """Writes records to one file, which is renamed to its path when it is complete.

    The suffix of its name tells the codec, unless `codec` is given. It is made of blocks, as a part
    of a set, with its block table beside it. It has the permissions of the file that it replaces,
    or of `like`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        codec: str | None = None,
        level: int | None = None,
        options: Mapping[str, int] | None = None,
        block_bytes: int | str = "256KiB",
        max_bytes: int | str | None = None,
        validate: bool = True,
        on_error: OnError = "abort",
        threads: int = 1,
        max_depth: int = 256,
        like: Path | None = None,
    ) -> None:
        limits = shard_options.limits(max_bytes, None, None)
        chosen = shard_options.pack_options(
            shard_options.codec_of(os.fspath(path)) if codec is None else codec,
            level=level,
            options=options,
            block_bytes=block_bytes,
            limits=limits,
            validate=validate,
            max_depth=max_depth,
            threads=threads,
        )
        super().__init__(os.fspath(path), limits, on_error)
        self._codec = chosen.compression.codec
        self._path = destination(path)
        self._sidecar = self._path.with_name(self._path.name + SUFFIX)
        remove_abandoned(self._path, self._sidecar)
        self._packing: Packer = chosen.packer()
        self._shard: Shard | None = None
        with self._writing():
            self._file = NewFile(self._path, like)

    @property
    def bytes_written(self) -> int:
        """The bytes of the file so far, after compression."""
        return self._file.size

    def _add(self, data: bytes, start: int) -> LineRefusal | None:
        pieces, refusal = self._packing.add(data, start)
        self._append(pieces)
        return refusal

    def _add_rows(self, rows: RowBatch, start: int) -> RowRefusal | None:
        pieces, refused = self._packing.add_rows(rows, start)
        self._append(pieces)
        return refused

    def _append(self, pieces: Sequence[Piece]) -> None:
        with self._writing():
            for data, shard in pieces:
                if self._shard is not None:
                    # The packer has begun another file, because this one is full.
                    full = self._too_large(None, record=self._shard.records + 1)
                    self.abort()
                    raise full
                self._file.append(data)
                self._shard = shard

    def _commit(self) -> None:
        self._append(self._packing.finish(always=True))
        ours = not is_foreign(self._sidecar)
        with self._writing():
            if ours:
                system.unlink_if_exists(self._sidecar)
            self._file.finish()
        left = "the new file is in place, but a power failure may undo it"
        with unwritable(self._target, left):
            system.calls.sync_directory(self._path.parent)
        shard = self._shard
        entered = shard is not None and shard.blocks > 1 and self._codec != "none"
        if ours and shard is not None and entered:
            # The block table is optional.
            with suppress(OSError, HeadraceError):
                write_block_table(self._path, shard)

    def _discard(self) -> None:
        with suppress(OSError):
            self._file.discard()

    def _writing(self) -> AbstractContextManager[None]:
        return unwritable(self._target, "the old file is unchanged")
