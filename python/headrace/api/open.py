"""Opening files, directories, URLs and readers as a data set."""

from __future__ import annotations

import os
from typing import Any, Literal, Unpack, overload

from headrace.api.dataset import Dataset
from headrace.api.options import OpenOptions, refuse_unknown
from headrace.errors import UsageError
from headrace.kernel.rows import END, Decoding
from headrace.kernel.values import DEEPEST, MAX_DEPTH
from headrace.store.files.opened import Keeping
from headrace.store.files.source import SourceSpec, expand
from headrace.store.files.units import between, parse_size
from headrace.store.rows.row_file import RowOptions

MAX_LINE = 64 << 20
"""The default of `max_line`."""

MAX_RATIO = 10_000
"""The default of `max_ratio`."""

_MOST_THREADS = 4
"""More threads that decode blocks ahead do not make a reader of rows faster."""


@overload
def open(
    source: SourceSpec, *, raw: Literal[False] = False, **options: Unpack[OpenOptions]
) -> Dataset[Any]: ...


@overload
def open(
    source: SourceSpec, *, raw: Literal[True], **options: Unpack[OpenOptions]
) -> Dataset[bytes]: ...


def open(
    source: SourceSpec, *, raw: bool = False, **options: Unpack[OpenOptions]
) -> Dataset[Any]:
    """Open files, globs, directories, URLs, ``-`` or readers as one sequence of rows.

    Rows are JSON values, or with `raw` the bytes of the line. Compression is detected by
    content; only the first bytes of each file are read here. The row index of a large file is
    stored beside it. With `since` or `until`, all sources are logs, and the rows are their lines
    with such times, in the order of lines. A time is text in ISO 8601, milliseconds since
    1970, ``"-15m"``, or a `datetime`.
    """
    refuse_unknown(options, OpenOptions)
    max_depth = options.get("max_depth", MAX_DEPTH)
    index_dir, max_ratio = options.get("index_dir"), options.get("max_ratio", MAX_RATIO)
    max_decoded, blocks = options.get("max_decoded"), options.get("blocks", True)
    since, until = options.get("since"), options.get("until")
    if not 1 <= max_depth <= DEEPEST:
        raise UsageError(f"max_depth {max_depth}: must be from 1 to {DEEPEST}")
    directory = None if index_dir is None else os.fspath(index_dir)
    decoding = decoding_of(max_ratio, max_decoded)
    max_line = parse_size(options.get("max_line", MAX_LINE))
    keeping = Keeping(options.get("index", True), directory)
    reading = RowOptions(max_line, keeping, decoding, blocks)
    times = None if since is None and until is None else between(since, until)
    sources = tuple(expand(source, blocks=blocks, times=times))
    return Dataset(sources, reading, max_depth=max_depth, raw=raw)


def decoding_of(max_ratio: int, max_decoded: int | str | None) -> Decoding:
    """Return how compressed data is decoded, with its limits."""
    if max_ratio < 1:
        raise UsageError(f"max_ratio {max_ratio}: must be a positive integer")
    most = END if max_decoded is None else parse_size(max_decoded)
    return Decoding(decoding_threads(), max_ratio, most)


def decoding_threads() -> int:
    """Return how many threads decode blocks ahead of a reader in order."""
    return min(os.cpu_count() or 1, _MOST_THREADS)
