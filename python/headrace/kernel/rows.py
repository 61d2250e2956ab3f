"""Rows of opened files, with the core's errors in our words.

`File`, `Reader`, `RowIndex`, `IndexBuild` and `RowBatch` are the core's own
classes. Calls that read must stand inside `reading`, which knows whose bytes
they are.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from headrace._native import (
    File,
    IndexBuild,
    KernelError,
    Reader,
    RowBatch,
    RowIndex,
    RowStream,
    codecs,
    count_rows,
    reach_back,
    sniff,
)
from headrace.errors import (
    DamagedSourceError,
    HeadraceError,
    SourceChangedError,
    SourceNotFoundError,
    UnreadableError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "END",
    "File",
    "IndexBuild",
    "Reader",
    "RowBatch",
    "RowIndex",
    "RowStream",
    "SidecarError",
    "codecs",
    "count_rows",
    "reach_back",
    "reading",
    "rows_of",
    "sniff",
]

END = (1 << 64) - 1
"""An end beyond every file."""


class SidecarError(HeadraceError):
    """A sidecar cannot be used. Never shown: the data is scanned instead."""


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Raise what the core says of `path` as one of `headrace.errors`."""
    try:
        yield
    except KernelError as error:
        kind, offset, reason = error.args
        match kind:
            case "damaged":
                raise DamagedSourceError(path, offset, reason) from None
            case "changed":
                raise SourceChangedError(path, offset, reason) from None
            case _:
                raise SidecarError(path, offset, reason) from None
    except HeadraceError:
        raise
    except FileNotFoundError:
        raise SourceNotFoundError(path) from None
    except OSError as error:
        raise UnreadableError(path, error.strerror or str(error)) from error


def rows_of(text: bytes) -> Iterator[RowBatch]:
    """Yield the rows of a text that is in memory."""
    stream = RowStream(
        Reader.of_bytes(text), "none", size=END, max_line=max(len(text), 1)
    )
    while batch := stream.next_batch(4096, 1 << 20):
        yield batch
