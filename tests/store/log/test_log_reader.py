"""Reading a log by line, also while it is written."""

import threading

import pytest

import headrace
from headrace.errors import (
    HeadraceWarning,
    LineOutOfRangeError,
    LogDamagedError,
    SourceNotFoundError,
)
from headrace.store.log.read import reader as readers
from headrace.store.log.report.check import check_log

VALUES = [{"n": n, "pad": "x" * (n % 50)} for n in range(1000)]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    path = tmp_path_factory.mktemp("logs") / "log"
    with headrace.LogWriter(path, rotate_rows=37) as log:
        log.append_many(VALUES)
    return path


def test_a_line_of_any_segment(directory):
    """KR-A1 to KR-A3: in any segment."""
    log = headrace.Log(directory)
    assert (log.first_line, log.last_line, len(log)) == (1, 1000, 1000)
    for line in (1, 37, 38, 74, 75, 500, 999, 1000):
        assert log.get(line) == VALUES[line - 1]
    assert (log[0], log[-1], log[999], log[-1000]) == (
        VALUES[0],
        VALUES[-1],
        *VALUES[::-999][:2],
    )


def test_raw_lines_are_the_bytes(directory):
    log = headrace.Log(directory, raw=True)
    assert log.get(3) == b'{"n":2,"pad":"xx"}'
    assert list(log.range(1, 2)) == [b'{"n":0,"pad":""}', b'{"n":1,"pad":"x"}']


@pytest.mark.parametrize(
    ("first", "last"),
    [(1, 1000), (30, 80), (37, 37), (38, 38), (990, 5000), (0, 3), (9, 3)],
)
def test_ranges(directory, first, last):
    found = list(headrace.Log(directory).range(first, last))
    assert found == VALUES[max(first, 1) - 1 : last]


def test_ranges_are_read_a_little_at_a_time(directory, monkeypatch):
    monkeypatch.setattr(readers, "_BYTES_AT_ONCE", 100)
    monkeypatch.setattr(readers, "_ROWS_AT_ONCE", 7)
    monkeypatch.setattr(readers, "_MOST_OPEN", 2)
    assert list(headrace.Log(directory)) == VALUES


@pytest.mark.parametrize("line", [0, -1, 1001])
def test_lines_out_of_range(directory, line):
    with pytest.raises(LineOutOfRangeError, match="it has lines 1 to 1000"):
        headrace.Log(directory).get(line)


def test_an_empty_log(tmp_path):
    with headrace.LogWriter(tmp_path):
        pass
    log = headrace.Log(tmp_path)
    assert (len(log), list(log), log.last_line) == (0, [], 0)
    with pytest.raises(LineOutOfRangeError, match="it has none"):
        log.get(1)
    with pytest.raises(IndexError):
        log[-1]


def test_a_missing_log_is_an_error(tmp_path):
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(SourceNotFoundError):
            len(headrace.Log(path))


def test_a_reader_returns_committed_lines(tmp_path):
    with headrace.LogWriter(tmp_path, rotate_rows=3) as log:
        reader = headrace.Log(tmp_path)
        for n in range(10):
            assert len(reader) == n
            log.append(n)
            assert reader.get(n + 1) == reader[-1] == n
    assert list(reader) == list(range(10))


@pytest.mark.parametrize("tail", [b"{}\n", b"{", b"\0" * 100])
def test_lines_without_an_entry_are_not_returned(tmp_path, tail):
    with headrace.LogWriter(tmp_path) as log:
        log.append(1)
    with (tmp_path / f"{0:020d}.jsonl").open("ab") as file:
        file.write(tail)
    with pytest.warns(HeadraceWarning, match="are not committed, and not read"):
        assert list(headrace.Log(tmp_path)) == [1]


@pytest.mark.parametrize("tail", [b"\0" * 10, b"\0" * 56 * 3, b"x" * 80])
def test_an_incomplete_entry_is_ignored(tmp_path, tail):
    with headrace.LogWriter(tmp_path) as log:
        log.append(1)
    with (tmp_path / f"{0:020d}.jsonl.idx").open("ab") as file:
        file.write(tail)
    assert list(headrace.Log(tmp_path)) == [1]


def test_many_readers_and_a_writer(tmp_path):
    """Readers only see whole lines, exactly as they were appended."""
    count, problems, done = 600, [], threading.Event()

    def read():
        log = headrace.Log(tmp_path)
        try:
            while not done.is_set():
                last = log.last_line
                assert last == 0 or log.get(last) == last
                assert list(log.range(max(last - 20, 1), last)) == list(
                    range(max(last - 20, 1), last + 1)
                )
        except Exception as error:  # noqa: BLE001, it is raised in the test
            problems.append(error)

    with headrace.LogWriter(tmp_path, durability="os", rotate_rows=17) as log:
        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        for n in range(1, count + 1):
            assert log.append(n) == n
        done.set()
        for reader in readers:
            reader.join()
    assert problems == []


class TestDamage:
    @pytest.fixture
    def log(self, tmp_path):
        with headrace.LogWriter(tmp_path / "log", rotate_rows=4) as log:
            log.append_many(range(10, 20))
        return tmp_path / "log"

    def damage(self, log, name, at):
        path = log / name
        content = bytearray(path.read_bytes())
        content[at] ^= 1
        path.write_bytes(content)

    def test_every_byte_of_the_data_is_checked(self, log):
        for at in range(12):
            self.damage(log, f"{4:020d}.jsonl", at)
            found = headrace.Log(log)
            with pytest.raises(LogDamagedError, match=f"line {5 + at // 3}"):
                found.get(5 + at // 3)
            with pytest.raises(LogDamagedError, match=f"line {5 + at // 3}"):
                list(found)
            (wrong,) = [each for each in check_log(log, deep=True) if each.faults]
            assert (wrong.rows, wrong.path) == (at // 3, f"{4:020d}.jsonl")
            self.damage(log, f"{4:020d}.jsonl", at)
        assert list(headrace.Log(log)) == list(range(10, 20))

    def test_every_byte_of_an_entry_is_checked(self, log):
        for at in range(256 + 56, 256 + 112):
            self.damage(log, f"{4:020d}.jsonl.idx", at)
            with pytest.raises(LogDamagedError, match="entry is not good"):
                headrace.Log(log).get(6)
            with pytest.raises(LogDamagedError):
                list(headrace.Log(log))
            (wrong,) = [each for each in check_log(log) if each.faults]
            assert "line 6: it does not match its checksum" in wrong.faults
            self.damage(log, f"{4:020d}.jsonl.idx", at)

    def test_damaged_lines_are_skipped_with_on_error_skip(self, log):
        self.damage(log, f"{0:020d}.jsonl", 4)
        self.damage(log, f"{4:020d}.jsonl", 0)
        self.damage(log, f"{4:020d}.jsonl.idx", 256 + 56)
        found = headrace.Log(log)
        with pytest.warns(HeadraceWarning, match=r"3 lines .* skipped; .* line 2:"):
            assert list(found.range(on_error="skip")) == [10, 12, 13, *range(16, 20)]
        with pytest.raises(LogDamagedError, match="--on-error skip"):
            list(found)
        assert list(found.range(3, 4, on_error="skip")) == [12, 13]
        with pytest.raises(headrace.HeadraceError, match="is one of 'abort', 'skip'"):
            list(found.range(on_error="never"))

    @pytest.mark.parametrize("size", [None, 0, 4])
    def test_the_rest_of_a_damaged_segment_is_skipped(self, log, size):
        path = log / f"{4:020d}.jsonl"
        if size is None:
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[:size])
        lost = 3 if size == 4 else 4
        with pytest.warns(HeadraceWarning, match=rf"{lost} lines .* skipped"):
            values = list(headrace.Log(log).range(on_error="skip"))
        assert values == [*range(10, 14), *[14][: 4 - lost], 18, 19]
        with pytest.raises(LogDamagedError, match="recover --repair"):
            list(headrace.Log(log))

    def test_lines_of_a_damaged_block_are_skipped(self, log):
        headrace.Log(log).seal()
        self.damage(log, f"{4:020d}.jsonl.zst", 12)
        with pytest.warns(HeadraceWarning, match="4 lines"):
            values = list(headrace.Log(log).range(on_error="skip"))
        assert values == [*range(10, 14), 18, 19]

    def test_a_damaged_entry_is_an_error_with_advice(self, log):
        self.damage(log, f"{4:020d}.jsonl.idx", 256)
        for read in (list, lambda found: found.get(5)):
            with pytest.raises(LogDamagedError, match="--repair` makes it again"):
                read(headrace.Log(log))

    def test_sizes_are_checked(self, log):
        for name in (f"{4:020d}.jsonl", f"{4:020d}.jsonl.idx"):
            content = (log / name).read_bytes()
            for other in (content[:-1], content + b"\n"):
                (log / name).write_bytes(other)
                assert [each.path for each in check_log(log) if each.faults] == [
                    f"{4:020d}.jsonl"
                ]
            (log / name).unlink()
            assert [each.path for each in check_log(log) if each.faults] == [
                f"{4:020d}.jsonl"
            ]
            (log / name).write_bytes(content)
        assert [each.faults + each.notes for each in check_log(log, deep=True)] == [
            []
        ] * 3

    def test_leftovers_of_a_crash_are_not_damage(self, log):
        with (log / f"{8:020d}.jsonl").open("ab") as file:
            file.write(b"1\n{")
        (log / f"{3:020d}.jsonl").write_bytes(b"")
        checked = list(check_log(log, deep=True))
        assert [each.faults for each in checked] == [[]] * 4
        assert [each.notes for each in checked[2:]] == [
            ["3 bytes behind the last line"],
            ["the manifest does not name it"],
        ]
