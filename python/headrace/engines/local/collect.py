"""Collecting what rows have for an index, in threads: each has runs of its own."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from headrace.engines.index.collect import Total, ends_of, scan_fragment, total

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.engines.index.collect import (
        Collected,
        Collecting,
        Scanned,
        ScanOptions,
    )
    from headrace.physical.fragment import Fragment
    from headrace.store.files.opened import OpenedFile

R = TypeVar("R")

_MOST_THREADS = 256
"""More would wait for each other, each with memory of its own."""


def collect(
    opened: OpenedFile,
    asked: ScanOptions,
    collecting: Collecting[R],
    directory: Path,
    start: int = 0,
    first_line: int = 0,
) -> Collected[R]:
    """Collect all rows from `start` on, which is where line `first_line` begins."""
    runs = new_runs(asked, collecting, directory)
    found = collect_into(runs, opened, asked, collecting, start, first_line)
    sort_runs(runs, collecting)
    return found


def new_runs(asked: ScanOptions, collecting: Collecting[R], directory: Path) -> list[R]:
    """Make room for what threads collect."""
    threads = min(max(asked.threads or os.cpu_count() or 1, 1), _MOST_THREADS)
    memory = asked.memory_of(threads)
    return [collecting.runs(directory, memory, number) for number in range(threads)]


def sort_runs(runs: list[R], collecting: Collecting[R]) -> None:
    """Sort all that was collected."""
    with ThreadPoolExecutor(len(runs)) as pool:
        list(pool.map(collecting.finish, runs))


def collect_into(
    runs: list[R],
    opened: OpenedFile,
    asked: ScanOptions,
    collecting: Collecting[R],
    start: int = 0,
    first_line: int = 0,
) -> Collected[R]:
    """Collect rows into `runs`, which may have those of other sources too."""
    found = total(opened, asked, ends_of(opened, start), first_line)
    _scan(found, collecting, runs)
    return found.collected(runs)


def _scan(total: Total, collecting: Collecting[R], runs: list[R]) -> None:
    """Put all rows into `runs`."""
    opened, asked, ends = total.opened, total.asked, total.ends
    unused: SimpleQueue[R] = SimpleQueue()
    for each in runs:
        unused.put(each)

    def scan(part: Fragment) -> Scanned:
        mine = unused.get()
        try:
            return scan_fragment(part, opened, asked, collecting, mine, ends)
        finally:
            unused.put(mine)

    parts = asked.cut(opened.source, ends.start)
    with ThreadPoolExecutor(len(runs)) as pool:
        pending = [pool.submit(scan, part) for part in parts]
        try:
            for part, result in zip(parts, pending, strict=True):
                total.add(part.end, result.result())
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
