"""Fragments: sources are cut into byte ranges.

A *fragment* is one byte range of one file, as plain data: the unit that both engines schedule, in
threads of this process and tasks of Spark. It owns the rows whose first byte lies in it, so every
row has one owner wherever the cuts fall, and the file is not read to make them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from headrace.errors import UsageError
from headrace.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headrace.store.files.source import Source

T = TypeVar("T")


@record
class Fragment:
    """The rows of a source that begin in ``[start, end)``.

    `first_row` is the number of the first row, if it is known. `logical`: the rows are lines of a
    log, and bytes are counted before compression, as in its index; so the fragment is still valid
    when its segment is compressed.
    """

    source: Source
    start: int
    end: int
    first_row: int | None = None
    logical: bool = False

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.end - self.start


def fragments(
    source: Source, target_bytes: int, start: int = 0, end: int | None = None
) -> list[Fragment]:
    """Cut a file, or a part of it, into fragments of `target_bytes`, the last one shorter.

    Compressed files without blocks are not seekable: they are one fragment. Blocks belong to
    the fragment that they begin in.

    >>> from headrace.store.files.source import Source
    >>> file = Source("a.jsonl", "file", size=250)
    >>> [(part.start, part.end) for part in fragments(file, 100)]
    [(0, 100), (100, 200), (200, 250)]
    """
    if source.is_pipe:
        raise UsageError(f"{source.location}: a pipe cannot be read in parts")
    assert source.times is None  # the callers have refused that
    end = source.size if end is None else end
    step = max(target_bytes, 1) if source.seekable else max(source.size, 1)
    return [Fragment(source, at, min(at + step, end)) for at in range(start, end, step)]


def runs_of(
    items: Iterable[T], most: int, size: Callable[[T], int]
) -> Iterator[tuple[T, ...]]:
    """Yield runs of items, each of at most this size, or of one item.

    >>> list(runs_of([3, 4, 5, 9, 1], 8, lambda item: item))
    [(3, 4), (5,), (9,), (1,)]
    """
    run: list[T] = []
    held = 0
    for item in items:
        if run and held + size(item) > most:
            yield tuple(run)
            run, held = [], 0
        run.append(item)
        held += size(item)
    if run:
        yield tuple(run)
