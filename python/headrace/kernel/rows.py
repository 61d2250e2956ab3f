"""Rows of opened files, with the core's errors as `headrace.errors`.

`File`, `Reader`, `RowIndex`, `IndexBuild`, `BlockTable`, `Decoded` and `RowBatch`
are the core's own classes. Calls that read must be inside `reading`, which names the file in
errors.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from headrace._native import (
    BlockTable,
    Decoded,
    File,
    IndexBuild,
    KernelError,
    Reader,
    RowBatch,
    RowIndex,
    RowStream,
    SidecarSource,
    codecs,
    count_rows,
    foreign_format,
    has_blocks,
    reach_back,
    sniff,
)
from headrace.errors import (
    DamagedBlockError,
    DamagedEntryError,
    DamagedLineError,
    DamagedSourceError,
    DecompressionLimitError,
    HeadraceError,
    NotNdjsonError,
    SourceChangedError,
    SourceNotFoundError,
    UnreadableError,
    UnusableTableError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

__all__ = [
    "END",
    "BlockTable",
    "Decoded",
    "Decoding",
    "File",
    "IndexBuild",
    "Reader",
    "RowBatch",
    "RowIndex",
    "RowStream",
    "SidecarError",
    "SidecarSource",
    "codecs",
    "count_rows",
    "explaining",
    "foreign_format",
    "has_blocks",
    "reach_back",
    "reading",
    "rows_of",
    "sniff",
]

END = (1 << 64) - 1
"""An end beyond every file."""


class Decoding(NamedTuple):
    """How compressed data is decoded.

    `threads` decode blocks. At most `max_decoded` bytes are decoded, and from 256 MiB on at
    most `max_ratio` for each compressed byte.
    """

    threads: int = 1
    max_ratio: int = 10_000
    max_decoded: int = END


class SidecarError(HeadraceError):
    """A sidecar cannot be used. Never shown: the data is scanned instead."""

    WHAT = "{path}: {reason} (byte {offset})"

    path: str
    offset: int
    reason: str

    @property
    def damage(self) -> str:
        """What is wrong, without the name of the file."""
        return f"{self.reason} (byte {self.offset})"


class reading:  # noqa: N801, it is used as a function is
    """Raise errors of the core about `path` as `headrace.errors`.

    A class, since a generator would take longer than most calls inside it.
    """

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None or isinstance(error, HeadraceError):
            return
        match error:
            case KernelError():
                raise _in_our_words(self._path, error) from None
            case FileNotFoundError():
                raise SourceNotFoundError(self._path) from None
            case OSError():
                reason = error.strerror or str(error)
                raise UnreadableError(self._path, reason) from error
            case _:
                pass


def line_end(file: File, start: int, end: int) -> int:
    """Return the end of the last terminated line of a range that begins with a line, or `start`."""
    if start == end or file.read_at(end - 1, 1) == b"\n":
        return end
    return reach_back(file, start=start, end=end, max_rows=1, max_bytes=END)[0]


@contextmanager
def explaining(path: str) -> Iterator[None]:
    """Do the same, but pass on errors of the operating system about other files."""
    try:
        yield
    except KernelError as error:
        raise _in_our_words(path, error) from None


def _in_our_words(path: str, error: KernelError) -> HeadraceError:
    kind, *facts = error.args
    if kind == "no_text":
        _offset, reason = facts
        return NotNdjsonError(path, reason)
    if kind == "block":
        offset, reason, block, rows, _next = facts
        lost = None if rows is None else range(*rows)
        return DamagedBlockError(path, offset, reason, block, lost)
    if kind == "entry":
        return DamagedEntryError(_index_of(path), *facts)
    return _KINDS[kind](path, *facts)


def _index_of(segment: str) -> str:
    """Return the index of a segment of a log, compressed or not.

    >>> _index_of("log/00000000000000000000.jsonl.zst")
    'log/00000000000000000000.jsonl.idx'
    """
    name, ending, _codec = segment.rpartition(".jsonl")
    return f"{name}{ending}.idx"


_KINDS: dict[str, type[HeadraceError]] = {
    "damaged": DamagedSourceError,
    "line": DamagedLineError,
    "changed": SourceChangedError,
    "sidecar": SidecarError,
    "table": UnusableTableError,
    "too_large": DecompressionLimitError,
}


def rows_of(text: bytes) -> Iterator[RowBatch]:
    """Yield the rows of a text that is in memory."""
    stream = RowStream(
        Reader.of_bytes(text), "none", size=END, max_line=max(len(text), 1)
    )
    while batch := stream.next_batch(4096, 1 << 20):
        yield batch
