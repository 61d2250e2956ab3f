"""Index scans in threads of this process; each thread has its own runs."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from headrace.engines.index.collect import ends_of, scan_fragment, total

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.engines.index.collect import Collected, Scanned
    from headrace.engines.index.kinds import AnyBuild
    from headrace.physical.fragment import Fragment
    from headrace.store.files.opened import OpenedFile

_MOST_THREADS = 256
"""More threads would wait for each other, each with its own memory."""


def collect(
    opened: OpenedFile,
    build: AnyBuild,
    directory: Path,
    start: int = 0,
    first_line: int = 0,
) -> Collected:
    """Collect the entries of all rows from `start` on, where line `first_line` begins."""
    runs = new_runs(build, directory)
    found = collect_into(runs, opened, build, start, first_line)
    sort_runs(runs)
    return found


def new_runs(build: AnyBuild, directory: Path) -> list[Any]:
    """Return empty runs for each thread."""
    threads = min(max(build.threads or os.cpu_count() or 1, 1), _MOST_THREADS)
    memory = build.memory_of(threads)
    return [build.begin_runs(directory, memory, number) for number in range(threads)]


def sort_runs(runs: list[Any]) -> None:
    """Finish the runs of all threads."""
    with ThreadPoolExecutor(len(runs)) as pool:
        list(pool.map(lambda each: each.finish(), runs))


def collect_into(
    runs: list[Any],
    opened: OpenedFile,
    build: AnyBuild,
    start: int = 0,
    first_line: int = 0,
) -> Collected:
    """Collect entries into `runs`, which may have those of other sources too."""
    ends = ends_of(opened, start)
    found = total(opened, build, ends, first_line)
    unused: SimpleQueue[Any] = SimpleQueue()
    for each in runs:
        unused.put(each)

    def scan(part: Fragment) -> Scanned:
        mine = unused.get()
        try:
            return scan_fragment(part, opened, build, mine, ends)
        finally:
            unused.put(mine)

    parts = build.cut(opened.source, ends.start)
    with ThreadPoolExecutor(len(runs)) as pool:
        for part, scanned in zip(parts, pool.map(scan, parts), strict=True):
            found.add(part.end, scanned)
    return found.collected(runs)
