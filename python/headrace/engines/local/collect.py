"""Index scans in threads of this process; each thread has its own runs."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from headrace.engines.index.collect import Runs, ends_of, scan_fragment, total

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.engines.index.collect import (
        Collected,
        Collector,
        Scanned,
    )
    from headrace.physical.fragment import Fragment
    from headrace.store.files.opened import OpenedFile

R = TypeVar("R", bound=Runs)

_MOST_THREADS = 256
"""More threads would wait for each other, each with its own memory."""


def collect(
    opened: OpenedFile,
    collector: Collector[R],
    directory: Path,
    start: int = 0,
    first_line: int = 0,
) -> Collected[R]:
    """Collect the entries of all rows from `start` on, where line `first_line` begins."""
    runs = new_runs(collector, directory)
    found = collect_into(runs, opened, collector, start, first_line)
    sort_runs(runs)
    return found


def new_runs(collector: Collector[R], directory: Path) -> list[R]:
    """Return empty runs for each thread."""
    threads = min(max(collector.threads or os.cpu_count() or 1, 1), _MOST_THREADS)
    memory = collector.memory_of(threads)
    return [
        collector.begin_runs(directory, memory, number) for number in range(threads)
    ]


def sort_runs(runs: list[R]) -> None:
    """Finish the runs of all threads."""
    with ThreadPoolExecutor(len(runs)) as pool:
        list(pool.map(lambda each: each.finish(), runs))


def collect_into(
    runs: list[R],
    opened: OpenedFile,
    collector: Collector[R],
    start: int = 0,
    first_line: int = 0,
) -> Collected[R]:
    """Collect entries into `runs`, which may have those of other sources too."""
    ends = ends_of(opened, start)
    found = total(opened, collector, ends, first_line)
    unused: SimpleQueue[R] = SimpleQueue()
    for each in runs:
        unused.put(each)

    def scan(part: Fragment) -> Scanned:
        mine = unused.get()
        try:
            return scan_fragment(part, opened, collector, mine, ends)
        finally:
            unused.put(mine)

    parts = collector.cut(opened.source, ends.start)
    with ThreadPoolExecutor(len(runs)) as pool:
        for part, scanned in zip(parts, pool.map(scan, parts), strict=True):
            found.add(part.end, scanned)
    return found.collected(runs)
