"""Reading logs: any line by its number, opening one of any size, and many as one."""

from __future__ import annotations

import heapq
import os
import time
import zlib
from pathlib import Path
from random import Random
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.candidate import AtMost, Benchmark, Question, Ref, probe
from benchmarks.generate import DATA
from benchmarks.probe import Meter, Outcome, digest
from benchmarks.suite import Settings, Suite
from benchmarks.suites.log_write import RECORD, kept_log, records, scratch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

FEW, MANY = 3, 20_000
LINE_LIMIT = 20e-6
OPEN_LIMIT = 20e-3
REPLAYED_A_SECOND = 500_000
PARTITIONS = 8
SEGMENT, SALT = 256 << 20, 7
FIRST_TIME = 1_700_000_000_000
LAST = 1000
"""Lines in the last segment of the log that is opened."""


def timed(get: Callable[[int], bytes], total: int) -> Outcome:
    """Give the median of single calls, for lines in no order."""
    random, taken = Random("lines"), []
    lines = [1 + int(random.random() * total) for _ in range(MANY)]
    answer = digest(get(line) for line in lines[:FEW])
    for line in lines:
        began = time.perf_counter_ns()
        get(line)
        taken.append(time.perf_counter_ns() - began)
    return Outcome(answer, {"time": median(taken) / 1e9})


def headrace_line(directory: str, total: int) -> Outcome:
    """Take lines as they were written; each is compared with its checksum."""
    from headrace import Log

    return timed(Log(directory, raw=True).get, total)


def plain_line(directory: str, total: int) -> Outcome:
    """Read lines whose offsets are in memory, without checksums."""
    (path,) = Path(directory).glob("*.jsonl")
    starts = [0]
    with path.open("rb") as file:
        for line in file:
            starts.append(starts[-1] + len(line))
    rows = os.open(path, os.O_RDONLY)

    def get(line: int) -> bytes:
        start, end = starts[line - 1], starts[line]
        return os.pread(rows, end - start, start)[:-1]

    return timed(get, total)


def sparse_log(size: int) -> Path:
    """Find a log of full segments that are holes, and a last one of lines; or make it."""
    from headrace import LogWriter
    from headrace.kernel.log import ENTRY_BYTES, HEADER_BYTES
    from headrace.store.log.entries import Header, create_index
    from headrace.store.log.manifest import Active, Manifest
    from headrace.store.log.names import LogNames

    directory = DATA / f"log-sparse-{size}"
    if directory.exists():
        return directory
    rows, segments = SEGMENT // RECORD, []
    with scratch() as making:
        names = LogNames(making / "log")
        names.directory.mkdir()

        def begin(segment: Active) -> None:
            names.data(segment.base).touch()
            create_index(names, Header(segment.file_number, segment.base, SALT))

        for number in range(max(size // SEGMENT, 1)):
            full = Active(1 + number, number * rows, rows, SEGMENT)
            begin(full)
            os.truncate(names.data(full.base), SEGMENT)
            os.truncate(names.index(full.base), HEADER_BYTES + rows * ENTRY_BYTES)
            segments.append(full.sealed())
        last = Active(1 + len(segments), len(segments) * rows)
        begin(last)
        Manifest(SALT, last, tuple(segments)).save(names)
        with LogWriter(names.directory, rotate_bytes=None) as writer:
            writer.append_many(records(LAST))
        names.directory.rename(directory)
    return directory


def opened(directory: str) -> Outcome:
    """Open a log and read its last line."""
    from headrace import Log

    with Meter() as meter:
        log = Log(directory, raw=True)
        line = log[-1]
    return Outcome(digest([line]), meter.figures)


def opened_to_write(directory: str) -> Outcome:
    """Open a log to write it, which recovers it, and let it go; then read its last line."""
    from headrace import Log, LogWriter

    with Meter() as meter:
        LogWriter(directory, rotate_bytes=None).close()
    return Outcome(digest([Log(directory, raw=True)[-1]]), meter.figures)


def partitions(count: int) -> Path:
    """Find or make logs with `count` records in total, two for each time."""
    from headrace import LogWriter

    directory = DATA / f"log-partitions-{count}"
    if directory.exists():
        return directory
    random = Random("partitions")
    with scratch() as making:
        logs = [
            LogWriter(making / "logs" / f"p{number}", durability="os", time="$.ms")
            for number in range(PARTITIONS)
        ]
        several: list[list[bytes]] = [[] for _ in logs]
        for number in range(count):
            # Two records of a time, which may be of one partition.
            head = b'{"id":%d,"ms":%d,"pad":"' % (number, FIRST_TIME + number // 2)
            record = head.ljust(RECORD - 3, b"x") + b'"}'
            several[int(random.random() * PARTITIONS)].append(record)
            if number % 10_000 == 0 or number == count - 1:
                for log, some in zip(logs, several, strict=True):
                    log.append_many(some)
                    some.clear()
        for log in logs:
            log.close()
        (making / "logs").rename(directory)
    return directory


def merged(pieces: Iterable[bytes]) -> Outcome:
    """Give a checksum of all lines, and how long they took."""
    checksum = 0
    with Meter() as meter:
        for piece in pieces:
            checksum = zlib.crc32(piece, checksum)
    return Outcome(checksum, meter.figures)


def headrace_replay(directory: str) -> Outcome:
    """Merge the lines of logs by their times, as ``headrace log replay`` does."""
    from headrace.store.files.units import Between
    from headrace.store.log.read.find_partitions import find_partitions
    from headrace.store.log.read.replay import Player, ReplayRange

    player = Player(ReplayRange(find_partitions([directory]), Between()))

    def pieces() -> Iterator[bytes]:
        while (found := player.poll()) is not None:
            if not isinstance(found, float):
                yield found.data

    try:
        return merged(pieces())
    finally:
        player.close()


def plain_replay(directory: str) -> Outcome:
    """Merge the same lines by the times that they say themselves."""

    def lines(number: int) -> Iterator[tuple[int, int, bytes]]:
        for path in sorted(Path(directory, f"p{number}").glob("*.jsonl")):
            with path.open("rb") as file:
                for line in file:
                    at = line.index(b'"ms":') + 5
                    yield int(line[at : line.index(b",", at)]), number, line

    several = heapq.merge(*map(lines, range(PARTITIONS)))
    return merged(line for _time, _number, line in several)


def build(settings: Settings) -> Benchmark:
    """Measure single lines, opening a large log, and several logs merged by time."""
    headrace = {"modules": ("headrace",)}
    directory = kept_log(settings.size)
    with (directory / "00000000000000000000.jsonl").open("rb") as file:
        total = sum(1 for _ in file)
    line = Question(
        "one line by its number, warm",
        (
            probe("headrace Log.get", headrace_line, directory, total, **headrace),
            probe("pread, places held", plain_line, directory, total),
        ),
    )
    large = sparse_log(settings.large)
    opening = Question(
        "opening a large log",
        (
            probe("headrace Log", opened, large, **headrace),
            probe("headrace LogWriter", opened_to_write, large, **headrace),
        ),
    )
    count = settings.size // RECORD * 2 // 5
    logs = partitions(count)
    replay = Question(
        f"replay of {PARTITIONS} partitions, {count:,} records",
        (
            probe("headrace log replay", headrace_replay, logs, **headrace),
            probe("heapq.merge, plain Python", plain_replay, logs),
        ),
        count * RECORD,
    )
    return Benchmark(
        SUITE.name,
        SUITE.doc,
        (line, opening, replay),
        targets=(
            AtMost(Ref(line.label, "headrace Log.get"), "time", LINE_LIMIT),
            *(
                AtMost(Ref(opening.label, each.name), "time", OPEN_LIMIT)
                for each in opening.candidates
            ),
            AtMost(
                Ref(replay.label, "headrace log replay"),
                "time",
                count / REPLAYED_A_SECOND,
            ),
        ),
    )


SUITE = Suite(
    "log-read",
    "Take lines of a log by number, open large ones, and replay several.",
    build,
)
