"""What a writer of a log has done, in numbers, and how that is told to Prometheus.

Counting is an addition for each commit and two looks at the clock for each call that may
wait for the disk; nothing is done for each record.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

    from headrace.store.log.recover.report import Report
    from headrace.store.log.write.appender import Appending

BOUNDS = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0,
    2.5, 10.0,
)  # fmt: skip
"""Seconds that a latency is at most, for each place of a histogram but the last."""


@dataclass(slots=True)
class Latencies:
    """How often something took how long; `with` it, by one thread at a time, it is done once."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0
    failed: int = 0
    began: float = 0.0

    def __enter__(self) -> None:
        self.began = time.perf_counter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        took = time.perf_counter() - self.began
        self.counts[bisect_left(BOUNDS, took)] += 1
        self.seconds += took
        self.failed += kind is not None


@dataclass(slots=True)
class WriterCounts:
    """What one writer has done since it opened the log."""

    records: int = 0
    bytes: int = 0
    rotations: int = 0
    commit: Latencies = field(default_factory=Latencies)
    sync: Latencies = field(default_factory=Latencies)
    index: Latencies = field(default_factory=Latencies)


class Sample(NamedTuple):
    """A number, and what tells it from others of the same metric."""

    value: float
    labels: Mapping[str, str] = {}
    suffix: str = ""


class Metric(NamedTuple):
    """Numbers of one kind."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    samples: tuple[Sample, ...]


def counter(name: str, told: str, value: float) -> Metric:
    """Return a metric that only grows."""
    return Metric(name, "counter", told, (Sample(value),))


def gauge(name: str, told: str, value: float) -> Metric:
    """Return a metric that is what it is now."""
    return Metric(name, "gauge", told, (Sample(value),))


def histogram(name: str, told: str, latencies: Latencies) -> Metric:
    """Return how often something took at most how long."""
    counts = list(latencies.counts)
    bounds = [*map(_number, BOUNDS), "+Inf"]
    buckets = [
        Sample(total, {"le": bound}, "_bucket")
        for bound, total in zip(bounds, accumulate(counts), strict=True)
    ]
    total = Sample(latencies.seconds, suffix="_sum")
    return Metric(
        name,
        "histogram",
        told,
        (*buckets, total, Sample(sum(counts), suffix="_count")),
    )


def exposition(metrics: Iterable[Metric], labels: Mapping[str, str]) -> str:
    """Return metrics in the text format of Prometheus, all of them with some labels.

    >>> print(
    ...     exposition([counter("a_total", "How many.", 3)], {"directory": "x"}), end=""
    ... )
    # HELP a_total How many.
    # TYPE a_total counter
    a_total{directory="x"} 3
    """
    lines = []
    for metric in metrics:
        lines.append(f"# HELP {metric.name} {metric.help}\n")
        lines.append(f"# TYPE {metric.name} {metric.kind}\n")
        for value, own, suffix in metric.samples:
            told = ",".join(
                f'{key}="{_escaped(text)}"' for key, text in {**labels, **own}.items()
            )
            of = f"{{{told}}}" if told else ""
            lines.append(f"{metric.name}{suffix}{of} {_number(value)}\n")
    return "".join(lines)


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _escaped(text: str) -> str:
    # A path may be bytes that are no text; the format is UTF-8.
    readable = text.encode(errors="backslashreplace").decode()
    return readable.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def writer_metrics(
    appending: Appending, recovered: Report, recovery_seconds: float
) -> list[Metric]:
    """Return what a writer has done since it opened its log."""
    counts, failed = appending.counts, appending.counts.commit.failed
    torn = [each.bytes for each in recovered.actions if each.action == "quarantined"]
    indexed = [each.rows for each in recovered.actions if each.action == "indexed"]
    commits = Metric(
        "storage_write_operations_total",
        "counter",
        "Commits, each of one record or many.",
        (
            Sample(sum(counts.commit.counts) - failed, {"status": "success"}),
            Sample(failed, {"status": "error"}),
        ),
    )
    return [
        commits,
        counter("storage_records_total", "Records that were appended.", counts.records),
        counter("storage_written_bytes_total", "Bytes of these records.", counts.bytes),
        counter(
            "storage_time_fallbacks_total",
            "Records that have no time of their own that is believed.",
            appending.fallbacks,
        ),
        counter(
            "storage_rotations_total", "Segments that were full.", counts.rotations
        ),
        histogram("storage_write_duration_seconds", "Of a commit.", counts.commit),
        histogram("storage_fsync_duration_seconds", "Of a sync.", counts.sync),
        histogram(
            "storage_index_write_duration_seconds",
            "Of writing the index entries of a commit.",
            counts.index,
        ),
        gauge(
            "storage_index_lag_bytes",
            "Bytes that were written and have no index entries yet.",
            appending.unsettled,
        ),
        gauge(
            "storage_index_lag_rows",
            "The lines that these are.",
            appending.unsettled_rows,
        ),
        gauge(
            "storage_recovery_duration_seconds",
            "How long it took to open the log.",
            recovery_seconds,
        ),
        gauge(
            "storage_recovered_rows",
            "Lines that got their index entries then.",
            sum(indexed),
        ),
        gauge("storage_torn_bytes", "Bytes that were moved aside then.", sum(torn)),
    ]
