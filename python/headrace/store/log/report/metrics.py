"""Metrics of a log and its writer, and their text for Prometheus.

Counting costs an addition for each commit, and two readings of the clock for each call that
may wait for the disk; nothing for each record.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.store.log.recover.report import Report
    from headrace.store.log.report.stats import LogStats
    from headrace.store.log.write.appender import SegmentAppender

BOUNDS = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0,
    2.5, 10.0,
)  # fmt: skip
"""Upper bounds of the buckets of a histogram, in seconds; the last bucket has none."""


@dataclass(slots=True)
class Latencies:
    """Durations of an operation: a context manager that counts one, in one thread at a time."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0
    failed: int = 0
    began: float = 0.0

    def __enter__(self) -> None:
        self.began = time.perf_counter()

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        took = time.perf_counter() - self.began
        self.counts[bisect_left(BOUNDS, took)] += 1
        self.seconds += took
        self.failed += kind is not None


@dataclass(slots=True)
class WriterCounts:
    """Counts of one writer since it opened the log."""

    records: int = 0
    bytes: int = 0
    rotations: int = 0
    commit: Latencies = field(default_factory=Latencies)
    sync: Latencies = field(default_factory=Latencies)
    index: Latencies = field(default_factory=Latencies)


class Sample(NamedTuple):
    """A number, and the labels that distinguish it from others of the same metric."""

    value: float
    labels: Mapping[str, str] = {}
    suffix: str = ""


class Metric(NamedTuple):
    """Samples of one kind."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    samples: tuple[Sample, ...]


def counter(name: str, text: str, value: float) -> Metric:
    """Return a metric that only grows."""
    return Metric(name, "counter", text, (Sample(value),))


def gauge(name: str, text: str, value: float) -> Metric:
    """Return a metric of the current state."""
    return Metric(name, "gauge", text, (Sample(value),))


def histogram(name: str, text: str, latencies: Latencies) -> Metric:
    """Return the numbers of durations up to each bound."""
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
        text,
        (*buckets, total, Sample(sum(counts), suffix="_count")),
    )


def exposition(metrics: Iterable[Metric], labels: Mapping[str, str]) -> str:
    """Return metrics in the text format of Prometheus, all with the same labels.

    >>> print(exposition([counter("a_total", "Count.", 3)], {"directory": "x"}), end="")
    # HELP a_total Count.
    # TYPE a_total counter
    a_total{directory="x"} 3
    """
    lines = []
    for metric in metrics:
        lines.append(f"# HELP {metric.name} {metric.help}\n")
        lines.append(f"# TYPE {metric.name} {metric.kind}\n")
        for value, own, suffix in metric.samples:
            pairs = ",".join(
                f'{key}="{_escaped(text)}"' for key, text in {**labels, **own}.items()
            )
            every = f"{{{pairs}}}" if pairs else ""
            lines.append(f"{metric.name}{suffix}{every} {_number(value)}\n")
    return "".join(lines)


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _escaped(text: str) -> str:
    # A path may have bytes that are not text; the format is UTF-8.
    readable = text.encode(errors="backslashreplace").decode()
    return readable.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def writer_metrics(
    appender: SegmentAppender, recovered: Report, recovery_seconds: float
) -> list[Metric]:
    """Return what a writer has done since it opened its log."""
    counts, failed = appender.counts, appender.counts.commit.failed
    torn = [each.bytes for each in recovered.actions if each.action == "quarantined"]
    indexed = [each.rows for each in recovered.actions if each.action == "indexed"]
    commits = Metric(
        "storage_write_operations_total",
        "counter",
        "Commits, of one or more records each.",
        (
            Sample(sum(counts.commit.counts) - failed, {"status": "success"}),
            Sample(failed, {"status": "error"}),
        ),
    )
    return [
        commits,
        counter("storage_records_total", "Records appended.", counts.records),
        counter(
            "storage_written_bytes_total", "Bytes of appended records.", counts.bytes
        ),
        counter(
            "storage_time_fallbacks_total",
            "Records whose own time is missing or implausible.",
            appender.fallbacks,
        ),
        counter("storage_rotations_total", "Segments begun.", counts.rotations),
        histogram(
            "storage_write_duration_seconds", "Duration of a commit.", counts.commit
        ),
        histogram("storage_fsync_duration_seconds", "Duration of a sync.", counts.sync),
        histogram(
            "storage_index_write_duration_seconds",
            "Duration of writing the index entries of a commit.",
            counts.index,
        ),
        gauge(
            "storage_index_lag_bytes",
            "Bytes written but neither durable nor indexed yet.",
            appender.unsettled,
        ),
        gauge(
            "storage_index_lag_rows",
            "Lines written but neither durable nor indexed yet.",
            appender.unsettled_rows,
        ),
        gauge(
            "storage_recovery_duration_seconds",
            "Duration of the recovery when the log was opened.",
            recovery_seconds,
        ),
        gauge(
            "storage_recovered_rows",
            "Lines that got their index entries in that recovery.",
            sum(indexed),
        ),
        gauge(
            "storage_torn_bytes",
            "Bytes moved to quarantine in that recovery.",
            sum(torn),
        ),
    ]


def stats_metrics(stats: LogStats) -> list[Metric]:
    """Return the size and state of a log."""
    sizes = Metric(
        "storage_size_bytes",
        "gauge",
        "Bytes on disk.",
        (
            Sample(stats.disk_bytes, {"kind": "data"}),
            Sample(stats.index_bytes, {"kind": "index"}),
            Sample(stats.quarantine_bytes, {"kind": "quarantine"}),
        ),
    )
    lags = tuple(
        Sample(each.lag_lines, {"consumer": each.consumer})
        for each in stats.consumers
        if each.lag_lines is not None
    )
    lag = Metric(
        "storage_consumer_lag_lines",
        "gauge",
        "Lines that a consumer has not committed.",
        lags,
    )
    return [
        sizes,
        gauge("storage_file_count", "Segments.", stats.segments),
        gauge("storage_lines", "Lines that can be read.", stats.lines),
        gauge("storage_first_line", "Number of the first line.", stats.first_line),
        gauge("storage_last_line", "Number of the last line.", stats.last_line),
        gauge("storage_given_up_lines", "Lines that were lost.", stats.given_up),
        gauge(
            "storage_uncommitted_bytes",
            "Bytes after the last committed line.",
            stats.uncommitted_bytes,
        ),
        gauge(
            "storage_directory_last_updated_seconds",
            "Time of the last change of the last segment, in seconds since 1970.",
            stats.changed,
        ),
        *([lag] if lags else []),
    ]
