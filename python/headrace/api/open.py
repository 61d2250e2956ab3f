"""Opening sources as a data set."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, overload

from headrace.api.dataset import Dataset
from headrace.errors import UsageError
from headrace.kernel.rows import END, Decoding
from headrace.kernel.values import DEEPEST, MAX_DEPTH
from headrace.store.files.source import expand
from headrace.store.files.units import between, parse_size
from headrace.store.rows.checkpoints import Keeping
from headrace.store.rows.row_file import RowOptions

if TYPE_CHECKING:
    from headrace.store.files.source import SourceSpec
    from headrace.store.files.units import Moment

MAX_LINE = 64 << 20
"""The longest line that is read, unless told otherwise."""

MAX_RATIO = 10_000
"""The most bytes that a compressed one may stand for, unless told otherwise."""

_MOST_THREADS = 4
"""Decoding blocks ahead with more threads keeps no reader of rows busier."""


@overload
def open(
    source: SourceSpec,
    *,
    raw: Literal[False] = False,
    max_line: int | str = MAX_LINE,
    max_depth: int = MAX_DEPTH,
    index_dir: str | os.PathLike[str] | None = None,
    persist: bool = True,
    max_ratio: int = MAX_RATIO,
    max_decoded: int | str | None = None,
    blocks: bool = True,
    since: Moment | None = None,
    until: Moment | None = None,
) -> Dataset[Any]: ...


@overload
def open(
    source: SourceSpec,
    *,
    raw: Literal[True],
    max_line: int | str = MAX_LINE,
    max_depth: int = MAX_DEPTH,
    index_dir: str | os.PathLike[str] | None = None,
    persist: bool = True,
    max_ratio: int = MAX_RATIO,
    max_decoded: int | str | None = None,
    blocks: bool = True,
    since: Moment | None = None,
    until: Moment | None = None,
) -> Dataset[bytes]: ...


def open(
    source: SourceSpec,
    *,
    raw: bool = False,
    max_line: int | str = MAX_LINE,
    max_depth: int = MAX_DEPTH,
    index_dir: str | os.PathLike[str] | None = None,
    persist: bool = True,
    max_ratio: int = MAX_RATIO,
    max_decoded: int | str | None = None,
    blocks: bool = True,
    since: Moment | None = None,
    until: Moment | None = None,
) -> Dataset[Any]:
    """Open files, globs, directories, URLs, ``-`` or readers as one sequence of rows.

    Rows are JSON values, or with `raw` the bytes of the line. Compression is seen
    from the content. Nothing is read yet but the first bytes of each file. Where
    the rows of a large file begin is kept beside it, in `index_dir` if given, and
    not at all without `persist`. Compressed data that decodes to more than
    `max_decoded` bytes, or beyond 256 MiB to more than `max_ratio` for each of its
    own, is refused. Without `blocks`, compressed files are read in order even if they
    can be entered in the middle; the rows are the same. With `since` or `until`, all
    sources are logs, and the rows are their lines with times from one to before the other,
    in the order of their numbers: ISO 8601, milliseconds since 1970, ``"-15m"``, or a datetime.
    """
    if not 1 <= max_depth <= DEEPEST:
        raise UsageError(f"max_depth {max_depth}: it can be from 1 to {DEEPEST}")
    directory = None if index_dir is None else os.fspath(index_dir)
    if max_ratio < 1:
        raise UsageError(f"max_ratio {max_ratio}: it can be 1 or more")
    decoding = Decoding(
        decoding_threads(),
        max_ratio,
        END if max_decoded is None else parse_size(max_decoded),
    )
    keeping = Keeping(persist, directory)
    options = RowOptions(parse_size(max_line), keeping, decoding, blocks)
    times = None if since is None and until is None else between(since, until)
    sources = tuple(expand(source, blocks=blocks, times=times))
    return Dataset(sources, options, max_depth=max_depth, raw=raw)


def decoding_threads() -> int:
    """Return how many threads decode blocks ahead of who reads rows in order."""
    return min(os.cpu_count() or 1, _MOST_THREADS)
