"""Row counts by tasks: count the rows of files, and keep their row indexes.

Files with a known count are not read: a kept row index, a block table or a log index has it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from headrace.engines.rows.count import CheckpointTasks, Counted, CountTasks
from headrace.engines.spark.source.partitions import absolute, packed
from headrace.errors import UnusableTableError
from headrace.physical.fragment import fragments
from headrace.store.rows.row_file import INTERVAL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.engines.index.jobs import RunEach
    from headrace.physical.fragment import Fragment
    from headrace.store.rows.row_file import RowFile


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
    decoding = files[0].decoding._replace(threads=1)
    cut = [fragments(absolute(file.source), partition_bytes) for file in files]
    tasks = tuple(packed((each for file in cut for each in file), partition_bytes))
    counting = CountTasks(tasks, INTERVAL, decoding)
    counted = iter(
        [each for task in run_each(counting, len(tasks), tell) for each in task]
    )
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
        part
        for file, parts in zip(files, numbered, strict=True)
        if file.source.seekable and file.keeps_index
        for part in parts
    ]
    tasks = tuple(packed(wanted, partition_bytes))
    finding = CheckpointTasks(tasks, INTERVAL, decoding)
    found = iter([each for task in run_each(finding, len(tasks)) for each in task])
    for file, parts, result in zip(files, numbered, results, strict=True):
        whole = Counted(sum(each.rows for each in result))
        if not file.source.seekable:
            (whole,) = result
        elif file.keeps_index:
            whole = whole._replace(offsets=[at for _ in parts for at in next(found)])
        file.take_count(*whole)
