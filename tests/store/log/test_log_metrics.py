"""KR-O2: metrics of a writer and of a log."""

import json
from dataclasses import asdict

import pytest

import headrace
from headrace.errors import UnwritableError, UsageError
from headrace.store.log.report.metrics import exposition, stats_metrics
from headrace.store.log.report.stats import log_stats
from tests.fault.failing_system import FailingSystem, using
from tests.reference.exposition import parsed


def scraped(writer, **labels):
    return parsed(exposition(writer.metrics(), labels))


def only(metrics, name):
    (value,) = metrics[name].values()
    return value


def count(metrics, name):
    return metrics[name]["_count", ()]


class TestWriter:
    def test_counts(self, tmp_path):
        with headrace.LogWriter(tmp_path, rotate_rows=4, time="$.t") as writer:
            writer.append({"t": 5})
            writer.append_many([{"t": n} for n in range(6, 14)])
            writer.append({"t": "none"})
            metrics = scraped(writer)
        commits = metrics["storage_write_operations_total"]
        assert commits == {
            ("", (("status", "success"),)): 5,
            ("", (("status", "error"),)): 0,
        }
        assert only(metrics, "storage_records_total") == 10
        data = sum(path.stat().st_size for path in tmp_path.glob("*.jsonl"))
        assert only(metrics, "storage_written_bytes_total") == data
        assert only(metrics, "storage_rotations_total") == 2
        assert only(metrics, "storage_time_fallbacks_total") == 1
        assert count(metrics, "storage_write_duration_seconds") == 5
        assert count(metrics, "storage_index_write_duration_seconds") == 5
        # One for each commit, and one of each file for each rotation.
        assert count(metrics, "storage_fsync_duration_seconds") == 5 + 2 * 2
        assert only(metrics, "storage_index_lag_rows") == 0

    def test_failures(self, tmp_path):
        with headrace.LogWriter(tmp_path) as writer:
            with using(FailingSystem(1)), pytest.raises(UnwritableError):
                writer.append(1)
            writer.append(2)
            metrics = scraped(writer)
        assert metrics["storage_write_operations_total"] == {
            ("", (("status", "success"),)): 1,
            ("", (("status", "error"),)): 1,
        }
        assert only(metrics, "storage_records_total") == 1

    def test_lines_not_indexed_yet(self, tmp_path):
        options = {"durability": "interval", "interval": 1e6}
        with headrace.LogWriter(tmp_path, **options) as writer:
            writer.append_many([1, 22, 333])
            metrics = scraped(writer)
            assert only(metrics, "storage_index_lag_rows") == 3
            assert only(metrics, "storage_index_lag_bytes") == 9
            writer.flush()
            assert only(scraped(writer), "storage_index_lag_bytes") == 0

    def test_recovery(self, tmp_path):
        headrace.LogWriter(tmp_path).close()
        with (tmp_path / f"{0:020d}.jsonl").open("ab") as file:
            file.write(b'{"a":1}\n{"a":2}\n{"a')
        with headrace.LogWriter(tmp_path) as writer:
            metrics = scraped(writer)
        assert only(metrics, "storage_recovered_rows") == 2
        assert only(metrics, "storage_torn_bytes") == 3
        assert only(metrics, "storage_recovery_duration_seconds") >= 0

    def test_labels_are_escaped(self, tmp_path):
        odd = 'a "quoted"\nand \\ \udcff'
        with headrace.LogWriter(tmp_path) as writer:
            metrics = scraped(writer, directory=odd)
        labels = dict(next(iter(metrics["storage_records_total"]))[1])
        assert labels["directory"] == r"a \"quoted\"\nand \\ \\udcff"


class TestLog:
    def test_in_numbers(self, tmp_path):
        with headrace.LogWriter(tmp_path, rotate_rows=4, time="$.t") as writer:
            writer.append_many([{"t": 1000 + n} for n in range(10)])
            open_stats = log_stats(tmp_path)
        stats = log_stats(tmp_path)
        assert (stats.first_line, stats.last_line, stats.lines) == (1, 10, 10)
        assert (stats.first_time, stats.last_time) == (1000, 1009)
        assert (stats.segments, stats.given_up, stats.recovery) == (3, 0, None)
        assert stats.data_bytes == stats.disk_bytes == 110
        assert stats.index_bytes == 3 * 256 + 10 * 56
        assert (stats.time, stats.durability, stats.epoch) == ("$.t", "data", 1)
        # The manifest does not count the last lines while they are appended.
        assert open_stats.writing
        assert asdict(open_stats) == {**asdict(stats), "writing": True}

    def test_leftovers_of_a_crash(self, tmp_path):
        with headrace.LogWriter(tmp_path) as writer:
            writer.append(1)
        with (tmp_path / f"{0:020d}.jsonl").open("ab") as file:
            file.write(b'{"a')
        assert log_stats(tmp_path).uncommitted_bytes == 3
        headrace.Log(tmp_path).recover()
        stats = log_stats(tmp_path)
        assert stats.uncommitted_bytes == 0
        assert (stats.quarantine_files, stats.quarantine_bytes) == (1, 3)
        assert stats.recovery["actions"][0]["action"] == "quarantined"
        metrics = parsed(exposition(stats_metrics(stats), {"directory": "x"}))
        kind = {
            dict(labels)["kind"]: value
            for (_, labels), value in metrics["storage_size_bytes"].items()
        }
        assert kind == {"data": 2, "index": 312, "quarantine": 3}

    def test_of_no_log(self, tmp_path):
        with pytest.raises(UsageError, match="there is no log in this directory"):
            log_stats(tmp_path)

    def test_of_an_empty_one(self, tmp_path):
        headrace.LogWriter(tmp_path).close()
        stats = log_stats(tmp_path)
        assert (stats.lines, stats.last_line, stats.first_time) == (0, 0, None)
        assert json.dumps(asdict(stats))
