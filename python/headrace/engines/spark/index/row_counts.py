"""Row counts by tasks: count the rows of files, and keep their row indexes.

Files with a known count are not read: a kept row index, a block table or a log index has it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

from headrace.engines.rows.count import Counted, RowCount, Tallying
from headrace.engines.rows.item_tasks import RunEach, results_of
from headrace.engines.spark.source.partitions import absolute
from headrace.errors import HeadraceError, UnusableTableError
from headrace.kernel.tally import Stats
from headrace.physical.fragment import Fragment, fragments
from headrace.store.rows.row_file import INTERVAL, RowFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.store.files.source import Source

T = TypeVar("T")


def count_by_tasks(
    files: Sequence[RowFile],
    run_each: RunEach,
    partition_bytes: int,
    tell: Callable[[int, int], object] | None = None,
) -> int:
    """Count the rows of files, and keep row indexes as a local count does."""
    known = [file.known_total() for file in files]
    left = [file for file, total in zip(files, known, strict=True) if total is None]
    try:
        _count(left, run_each, partition_bytes, tell)
    except UnusableTableError:
        # A block table is unusable: the scan in this process reports the damage.
        return sum(file.total() for file in files)
    return sum(file.total() for file in files)


def _count(
    files: Sequence[RowFile],
    run_each: RunEach,
    partition_bytes: int,
    tell: Callable[[int, int], object] | None,
) -> None:
    if not files:
        return
    counting = RowCount(INTERVAL, files[0].options.decoding._replace(threads=1))
    cut = [fragments(absolute(file.source), partition_bytes) for file in files]
    counted = _of_each(cut, counting.of, run_each, partition_bytes, tell)
    numbered: list[list[Fragment]] = []
    results: list[list[Counted]] = []
    for parts in cut:
        results.append([next(counted) for _ in parts])
        rows = accumulate((each.rows for each in results[-1]), initial=0)
        numbered.append(
            [
                replace(part, first_row=first)
                for part, first in zip(parts, rows, strict=False)
            ]
        )
    wanted = [
        parts
        for file, parts in zip(files, numbered, strict=True)
        if file.source.seekable and file.keeps_index
    ]
    found = _of_each(wanted, counting.checkpoints, run_each, partition_bytes)
    for file, parts, result in zip(files, numbered, results, strict=True):
        whole = Counted(sum(each.rows for each in result))
        if not file.source.seekable:
            (whole,) = result
        elif file.keeps_index:
            whole = whole._replace(offsets=[at for _ in parts for at in next(found)])
        file.take_count(*whole)


def tally_by_tasks(
    sources: Sequence[Source],
    how: Tallying,
    run_each: RunEach,
    partition_bytes: int,
    tell: Callable[[int, int], object] | None = None,
) -> Stats:
    """Count the lines of all sources by kind."""
    cut = [fragments(absolute(source), partition_bytes) for source in sources]
    try:
        found = _of_each(cut, how.of, run_each, partition_bytes, tell)
    except HeadraceError as error:
        raise _in_our_words(error, sources) from error
    total = Stats()
    for source, parts in zip(sources, cut, strict=True):
        of_file = Stats()
        for _part in parts:
            of_file += next(found).after(of_file.lines)
        # Tasks have absolute paths; the result has the given ones.
        bad = (replace(each, path=source.location) for each in of_file.first_bad)
        total += replace(of_file, first_bad=tuple(bad))
    return total


def _of_each(
    files: Sequence[Sequence[Fragment]],
    do: Callable[[Fragment], T],
    run_each: RunEach,
    partition_bytes: int,
    tell: Callable[[int, int], object] | None = None,
) -> Iterator[T]:
    """Return the result for each fragment of some files, in order."""
    every = (fragment for file in files for fragment in file)
    return results_of(every, do, run_each, attrgetter("size"), partition_bytes, tell)


def _in_our_words(error: HeadraceError, sources: Sequence[Source]) -> HeadraceError:
    """Return the error with the path of the file as it was given."""
    path, *facts = error.args
    for source in sources:
        if path == absolute(source).location:
            return type(error)(source.location, *facts)
    return error
