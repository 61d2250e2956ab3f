"""Segments of a set index, made in threads of this process."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import gettempdir
from typing import NamedTuple

from headrace.engines.index.collect import ScanOptions
from headrace.engines.index.set_slices import (
    KeptSegment,
    MadeSegment,
    SetScan,
    Slice,
    SliceCounts,
    without_duplicates,
)
from headrace.kernel.key_index import KeyRuns

_LEAST = 1 << 16
"""The least memory for the keys of a segment."""


class InThreads(NamedTuple):
    """Makes segments with the memory and threads of the options."""

    options: ScanOptions = ScanOptions()

    def __call__(
        self,
        how: SetScan,
        cut: Sequence[Slice],
        kept: Sequence[KeptSegment | None],
        directory: Path,
        done: Callable[[Slice, SliceCounts], None],
    ) -> list[MadeSegment]:
        """Scan slices, and write the segments of new and kept entries under temporary names."""
        runs = self.collect(how, cut, done)
        return without_duplicates(
            [
                how.write(number, each, directory, kept[number])
                for number, each in enumerate(runs)
            ]
        )

    def collect(
        self,
        how: SetScan,
        cut: Sequence[Slice],
        done: Callable[[Slice, SliceCounts], None],
    ) -> list[KeyRuns]:
        """Scan slices, and return the keys of each segment."""
        memory = max(self.options.memory_of(how.segments), _LEAST)
        threads = max(self.options.threads or os.cpu_count() or 1, 1)
        room = Path(gettempdir())
        runs = [KeyRuns(room, memory) for _ in range(how.segments)]

        def scan(part: Slice) -> SliceCounts:
            scanning = how.scan(part, how.opened())
            for segment, packet in scanning.packets():
                runs[segment].add(packet)
            return scanning.counts

        with ThreadPoolExecutor(threads) as pool:
            for part, counts in zip(cut, pool.map(scan, cut), strict=True):
                done(part, counts)
        return runs
