"""The metrics of a writer: their names, and where their numbers are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.store.log.metrics import Metric, Sample, counter, gauge, histogram

if TYPE_CHECKING:
    from headrace.store.log.appending import Appending
    from headrace.store.log.report import Report


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
