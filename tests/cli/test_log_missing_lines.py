"""Missing lines are reported as missing: after crashes, repairs and lost indexes."""

import pytest

from headrace import Log, LogWriter
from headrace import open as open_rows
from headrace.api.log.recovery import open_recovered
from headrace.errors import HeadraceWarning, LineGivenUpError, LogFileMissingError


def written(path, count, **options):
    with LogWriter(path, **options) as writer:
        writer.append_many([{"i": i} for i in range(count)])
    return path


class TestAfterAPowerFailure:
    @pytest.fixture
    def log(self, tmp_path):
        """Return a log after a power failure: the entries of its last lines are lost."""
        writer = LogWriter(tmp_path / "log")
        writer.append_many([1, 2, 3])
        index = next((tmp_path / "log").glob("*.idx"))
        content = index.read_bytes()
        writer._lock.release()
        index.write_bytes(content[: 256 + 56])
        return tmp_path / "log"

    @pytest.mark.parametrize(
        "question",
        [
            pytest.param(lambda log: len(open_rows(log)), id="open"),
            pytest.param(lambda log: len(Log(log)), id="Log"),
        ],
    )
    def test_lines_without_entries_are_reported_as_missing(self, log, question):
        with pytest.warns(HeadraceWarning, match="the last 4 bytes are not committed"):
            assert question(log) == 1
        Log(log).recover()
        assert question(log) == 3

    def test_a_live_writer_is_not_reported_as_a_crash(self, tmp_path):
        with LogWriter(tmp_path / "log") as writer:
            writer.append(1)
            data = next((tmp_path / "log").glob("*.jsonl"))
            with data.open("ab") as file:
                file.write(b"2\n")
            assert len(open_rows(tmp_path / "log")) == 1
            data.write_bytes(b"1\n")

    def test_the_command_line_reports_missing_lines(self, log, process):
        assert log.is_dir()
        outcome = process("count", "log")
        assert outcome.out == b"1\n"
        assert "the last 4 bytes are not committed" in outcome.err


class TestALostIndex:
    def test_a_lost_index_under_a_live_writer_is_an_error(self, tmp_path):
        """The writer has the lock, so nothing is recovered, and no line is left out silently."""
        with LogWriter(tmp_path / "log") as writer:
            writer.append_many([1, 2, 3])
            index = next((tmp_path / "log").glob("*.idx"))
            content = index.read_bytes()
            index.unlink()
            with pytest.raises(LogFileMissingError) as caught:
                open_recovered(tmp_path / "log")
            assert caught.value.path == str(index)
            with pytest.raises(LogFileMissingError):
                len(Log(tmp_path / "log"))
            index.write_bytes(content)
        assert list(Log(tmp_path / "log")) == [1, 2, 3]


class TestLinesThatWereGivenUp:
    @pytest.fixture
    def log(self, tmp_path):
        log = written(tmp_path / "log", 25, rotate_rows=10)
        path = log / f"{10:020d}.jsonl"
        path.write_bytes(path.read_bytes()[:35])
        Log(log).recover(repair=True)
        return log

    def test_a_log_as_a_sequence_contains_the_remaining_lines(self, log):
        there = Log(log)
        with pytest.warns(HeadraceWarning, match="lines 14 to 20 were given up"):
            found = list(there)
        assert (len(there), len(found), len(open_rows(log))) == (18, 18, 18)
        assert [there[position] for position in range(18)] == found
        assert [there[position - 18] for position in range(18)] == found
        assert list(reversed(there)) == found[::-1]
        for position in (18, -19, 99, -99):
            with pytest.raises(IndexError):
                there[position]
        assert there.last_line == 25

    def test_one_of_them_is_an_error_without_advice_to_repair(self, log):
        with pytest.raises(LineGivenUpError, match="line 14 was given up") as caught:
            Log(log).get(14)
        assert "--repair" not in str(caught.value)
        assert caught.value.line == 14

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ("--from 12 -n 5", [11, 12, 20, 21, 22]),
            ("--from 14 -n 1", [20]),
            ("--from 13 -n 1", [12]),
            ("-n 14", [*range(13), 20]),
            ("--from 9 --to 15 -n 9", [*range(8, 13)]),
        ],
    )
    def test_lines_are_counted_not_numbers(self, log, headrace, options, expected):
        outcome = headrace("log", "cat", log, *options.split())
        assert outcome.out == "".join(f'{{"i":{i}}}\n' for i in expected).encode()
        gap = "lines 14 to" in outcome.err
        assert gap == (options != "--from 13 -n 1")
