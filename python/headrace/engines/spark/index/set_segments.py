"""Set segments by Spark tasks: build the segments of a set index.

Tasks scan slices and send packets of keys to the tasks of the segments; each of these sorts its
keys and writes its segment to a staging directory. The segment of a key depends on the key alone,
and the bytes of a segment do not depend on the order of packets: so a repeated attempt writes the
same bytes on any machine.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import SparkSession

from headrace.engines.index.collect import ScanOptions
from headrace.engines.index.set_slices import (
    KeptSegment,
    MadeSegment,
    SetScan,
    Slice,
    SliceCounts,
    without_duplicates,
)
from headrace.engines.spark.session.master import Place
from headrace.engines.spark.session.session import session_at
from headrace.engines.spark.source.partitions import absolute
from headrace.engines.spark.tasks.jobs import (
    SCHEMA,
    NumberedTask,
    Task,
    answered,
    numbered,
    results_of,
)
from headrace.kernel.key_index import KeyRuns
from headrace.physical.fragment import runs_of

_PACKETS = "segment int, slice bigint, packet binary"
_ARROW_PACKETS = pa.schema(
    [("segment", "int32"), ("slice", "int64"), ("packet", "binary")]
)

_KEYS = -1
"""The slice number of packets of keys; a packet with another number has counts of that slice."""


class ByTasks(NamedTuple):
    """Builds segments in a Spark session; a task scans `task_bytes`, or one slice.

    The memory limit of `options` applies to each task.
    """

    spark: SparkSession
    task_bytes: int
    options: ScanOptions = ScanOptions()

    def __call__(
        self,
        how: SetScan,
        cut: Sequence[Slice],
        kept: Sequence[KeptSegment | None],
        directory: Path,
        done: Callable[[Slice, SliceCounts], None],
    ) -> list[MadeSegment]:
        """Scan slices, merge in kept segments, and write new segments to `directory`."""
        # Tasks have other working directories.
        how = replace(how, sources=tuple(map(absolute, how.sources)))
        tasks = list(
            runs_of(enumerate(cut), self.task_bytes, lambda each: each[1].size)
        )
        # At least one task, since task 0 creates a row for each segment.
        count = max(len(tasks), 1)
        frame = numbered(self.spark, count)
        packets = frame.mapInArrow(NumberedTask(scan_slices, (how, tasks)), _PACKETS)
        by_segment = packets.repartitionById(how.segments, "segment")
        target = (how, tuple(kept), directory.absolute(), self.options.memory_of(1))
        written = by_segment.mapInArrow(Task(write_segment, target), SCHEMA)
        tell = _telling(cut, self.options.progress)
        results = results_of(self.spark, written, how.segments, tell)
        counts = {
            number: counts for _made, found in results for number, counts in found
        }
        for number, part in enumerate(cut):
            done(part, counts[number])
        return without_duplicates([made for made, _found in results])


def by_tasks(place: Place, task_bytes: int, options: ScanOptions) -> ByTasks:
    """Return the builder of segments in the session of a place."""
    return ByTasks(session_at(place, shows_progress=True), task_bytes, options)


def _telling(
    cut: Sequence[Slice], progress: Callable[[int, int], None]
) -> Callable[[int, int], None]:
    """Return a callback that converts finished tasks into scanned bytes for `progress`.

    Further tasks write the segments, after all bytes were scanned.

    >>> from headrace.engines.index.set_slices import Slice
    >>> tell = _telling([Slice(3, 100, 200), Slice(4, 200, 300)], print)
    >>> tell(1, 2), tell(2, 2), tell(0, 8)
    200 0
    300 0
    300 0
    (None, None, None)
    """
    first, end = (cut[0].start, cut[-1].end) if cut else (0, 0)
    reached = first

    def tell(done: int, tasks: int) -> None:
        nonlocal reached
        reached = max(reached, first + (end - first) * done // max(tasks, 1))
        progress(reached, 0)

    return tell


def scan_slices(
    how: SetScan, tasks: Sequence[tuple[tuple[int, Slice], ...]], task: int
) -> Iterator[pa.RecordBatch]:
    """Yield the packets of keys in the slices of one task, for the segments."""
    if task == 0:
        # Each segment needs a row to get a task.
        for segment in range(how.segments):
            yield _packet(segment, _KEYS, b"")
    if task == len(tasks):
        return
    opened = how.opened()
    for number, part in tasks[task]:
        scanning = how.scan(part, opened)
        for segment, packet in scanning.packets():
            yield _packet(segment, _KEYS, packet)
        # The counts reach the driver with the result of segment 0.
        yield _packet(0, number, pickle.dumps(scanning.counts))


def _packet(segment: int, number: int, packet: bytes) -> pa.RecordBatch:
    columns = [[segment], [number], [packet]]
    return pa.record_batch(columns, schema=_ARROW_PACKETS)


def write_segment(
    how: SetScan,
    kept: Sequence[KeptSegment | None],
    directory: Path,
    memory: int,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Write the segment that the packets of a partition belong to."""
    runs = KeyRuns(Path(gettempdir()), memory)
    found: list[tuple[int, SliceCounts]] = []
    segment = -1
    for batch in batches:
        for row in batch.to_pylist():
            segment = row["segment"]
            if row["slice"] == _KEYS:
                runs.add(row["packet"])
            else:
                found.append((row["slice"], pickle.loads(row["packet"])))
    if segment >= 0:
        yield answered(
            segment, lambda: (how.write(segment, runs, directory, kept[segment]), found)
        )
