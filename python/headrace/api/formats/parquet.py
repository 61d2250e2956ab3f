"""Parquet: typed columns in row groups, each written when it is full."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from headrace.api.formats.arrow import batches, pa

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

    from headrace.api.formats import Layout


GROUP_BYTES = 64 << 20
"""Arrow data of a row group."""


def parquet(answers: Iterator[bytes], layout: Layout) -> Iterator[bytes]:
    """Write the answers, row group after row group."""
    import pyarrow.parquet as pq

    schema, parts = batches(answers, layout)
    pieces = _Pieces()
    with pq.ParquetWriter(pieces, schema, compression="zstd") as writer:
        held: list[pa.RecordBatch] = []
        size = 0
        for part in parts:
            held.append(part)
            size += part.nbytes
            if size >= GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(held))
                held, size = [], 0
                yield pieces.taken()
        if held:
            writer.write_table(pa.Table.from_batches(held))
    yield pieces.taken()


class _Pieces(io.RawIOBase):
    """A file in memory, whose content is taken while it is written."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer, /) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        self._position += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        """Stay open: the last pieces are taken after the writer has closed it."""

    def taken(self) -> bytes:
        """Return the bytes that were written since the last call."""
        content = b"".join(self._pieces)
        self._pieces.clear()
        return content
