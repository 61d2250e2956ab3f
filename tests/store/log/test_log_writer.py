"""Appending to a log: lines and their numbers, commits, rotation, times, the lock."""

import json
import os
import threading
import time
from pathlib import Path

import pytest

import headrace
from headrace.errors import (
    BadRecordError,
    LogFailedError,
    LogLockedError,
    RefusedRecordError,
    UsageError,
)
from headrace.store.files.system import System
from headrace.store.log.entries import dumped_index
from headrace.store.log.manifest import load
from headrace.store.log.names import LogNames
from tests.fault.failing_system import using

FIRST = "00000000000000000000.jsonl"


def entries(directory):
    """Return all entries of a log, in the form of the seed."""
    found = []
    for path in sorted(Path(directory).glob("*.idx")):
        header, *rest = dumped_index(path)
        assert header["type"] == "header"
        found += rest
    return found


def segments(directory):
    return sorted(path.name for path in directory.glob("*.jsonl"))


class Counting(System):
    """Counts the calls that make data durable."""

    def __init__(self):
        self.calls = []

    def sync_data(self, descriptor):
        self.calls.append("sync")

    def pwrite(self, descriptor, data, offset):
        self.calls.append("write")
        return super().pwrite(descriptor, data, offset)


def test_records_of_every_kind(tmp_path):
    with headrace.LogWriter(tmp_path / "log") as log:
        assert log.append({"a": "\u00e9"}) == 1
        assert log.append("{}") == 2
        assert log.append(b'{"a":3}\n') == 3
        assert log.append_many([[1], b"[2]", "[3]"]) == 6
        assert log.append_many([b"1", b"2\n"]) == 8
        assert log.append_many([]) == 8
        assert log.append_lines(b'"x"\r\n\n7') == 11
        assert log.last_line == 11
    data = (tmp_path / "log" / FIRST).read_bytes()
    assert (
        data
        == '{"a":"\u00e9"}\n"{}"\n{"a":3}\n[1]\n[2]\n"[3]"\n1\n2\n"x"\r\n\n7\n'.encode()
    )
    assert list(headrace.Log(tmp_path / "log", raw=True)) == data.split(b"\n")[:-1]


def test_every_line_has_one_entry_beside_it(tmp_path):
    """KR-P1, KR-P3, KR-E1 to KR-E7, KR-W2, KR-W3."""
    before = time.time_ns() // 1_000_000
    with headrace.LogWriter(tmp_path) as log:
        log.append_many([{"n": 1}, {"n": 22}])
        log.append({"n": 333})
    assert [path.name for path in tmp_path.glob("*.idx")] == [f"{FIRST}.idx"]
    found = entries(tmp_path)
    assert [(entry["startByte"], entry["endByte"]) for entry in found] == [
        (0, 8),
        (8, 17),
        (17, 27),
    ]
    assert [entry["lineNumberLocal"] for entry in found] == [1, 2, 3]
    assert [entry["lineNumberGlobal"] for entry in found] == [1, 2, 3]
    assert {entry["fileNumber"] for entry in found} == {1}
    assert {entry["timeSource"] for entry in found} == {"created"}
    times = [entry["messageTime"] for entry in found]
    assert times[0] == times[1] <= times[2]
    assert before <= times[0] <= time.time_ns() // 1_000_000
    data = (tmp_path / FIRST).read_bytes()
    for entry, line in zip(
        found, [b'{"n":1}\n', b'{"n":22}\n', b'{"n":333}\n'], strict=True
    ):
        assert data[entry["startByte"] : entry["endByte"]] == line


def test_the_header_is_a_line(tmp_path):
    """KR-H1, KR-H2: `head -1` shows it."""
    with headrace.LogWriter(tmp_path, rotate_rows=2) as log:
        log.append_many([1, 2, 3])
    for name, number, offset in [(FIRST, 1, 0), (f"{2:020d}.jsonl", 2, 2)]:
        content = (tmp_path / f"{name}.idx").read_bytes()
        header = json.loads(content.split(b"\n")[0])
        assert content[255:256] == b"\n"
        assert (header["type"], header["fileNumber"]) == ("header", number)
        assert header["globalLineOffset"] == offset
        assert (len(content) - 256) % header["entrySize"] == 0
    found = entries(tmp_path)
    assert [entry["lineNumberGlobal"] for entry in found] == [1, 2, 3]
    assert [entry["lineNumberLocal"] for entry in found] == [1, 2, 1]


@pytest.mark.parametrize(
    ("record", "offset", "reason"),
    [
        pytest.param(b'{"a":}', 5, "expected a value", id="not JSON"),
        pytest.param(b"1\n2", 1, "one line", id="two lines of bytes"),
        pytest.param(b"  ", 0, "blank", id="blank"),
        pytest.param(b"", 0, "blank", id="nothing"),
        pytest.param({"a": {1}}, 0, "no JSON", id="a set"),
        pytest.param(float("nan"), 0, "no JSON", id="NaN"),
        pytest.param("\ud800", 1, "surrogate", id="surrogate"),
        pytest.param(b'"\xff"', 1, "UTF-8", id="not UTF-8"),
        pytest.param(b'"' + b"x" * 99 + b'"', 100, "over the limit of 100", id="long"),
        pytest.param(
            b"[" * 300 + b"]" * 300, 100, "over the limit", id="deep and long"
        ),
    ],
)
def test_a_line_that_is_not_a_record_is_refused(tmp_path, record, offset, reason):
    with headrace.LogWriter(tmp_path, max_record=100) as log:
        log.append(1)
        with pytest.raises(BadRecordError, match=reason) as caught:
            log.append(record)
        assert (caught.value.record, caught.value.offset) == (1, offset)
        with pytest.raises(
            RefusedRecordError, match=r"record 3, .*before it are in the log"
        ):
            log.append_many([b"2", b"3", record, b"4"])
        assert log.append(5) == 4
    assert list(headrace.Log(tmp_path)) == [1, 2, 3, 5]


def test_each_record_must_be_one_line(tmp_path):
    with headrace.LogWriter(tmp_path) as log:
        with pytest.raises(RefusedRecordError, match="record 1, byte 1"):
            log.append_many([b"1\n2", b"bad"])
        assert log.last_line == 0


def test_depth_is_limited(tmp_path):
    with headrace.LogWriter(tmp_path, max_depth=3) as log:
        log.append([[[]]])
        with pytest.raises(BadRecordError, match="deep"):
            log.append([[[[]]]])


def test_lines_before_a_bad_one_are_appended(tmp_path):
    with headrace.LogWriter(tmp_path) as log:
        with pytest.raises(RefusedRecordError, match="record 3, byte 2"):
            log.append_lines(b"1\n2\n[,]\n4\n".replace(b"[,]", b"[1"))
        assert log.last_line == 2
        for wrong in ("text", b"1\n2", 7):
            with pytest.raises((UsageError, TypeError)):
                log.append_many(wrong)
        with pytest.raises(UsageError, match="lines are bytes"):
            log.append_lines("1\n")


@pytest.mark.parametrize(
    ("durability", "calls"),
    [
        ("always", ["write", "sync", "write", "sync"]),
        ("data", ["write", "sync", "write"]),
        ("interval", ["write"]),
        ("os", ["write", "write"]),
    ],
)
def test_the_calls_of_a_commit(tmp_path, durability, calls):
    """KR-W4, KR-W5: data, its sync, entries, and only then the call returns."""
    with headrace.LogWriter(tmp_path, durability=durability, interval=1e6) as log:
        with using(Counting()) as system:
            log.append_many([{"n": n} for n in range(100)])
        assert system.calls == calls
        seen = 0 if durability == "interval" else 100
        assert len(headrace.Log(tmp_path)) == seen
        with using(Counting()) as system:
            log.flush()
        assert system.calls[-2:] == ["sync", "sync"]
        assert len(headrace.Log(tmp_path)) == 100


def test_an_interval_ends_by_itself(tmp_path):
    with headrace.LogWriter(tmp_path, durability="interval", interval=0.01) as log:
        log.append(1)
        reader = headrace.Log(tmp_path)
        deadline = time.monotonic() + 20
        while len(reader) == 0:
            assert time.monotonic() < deadline, "it was never synchronised"
            time.sleep(0.01)
        assert log.append(2) == 2


def test_threads_share_a_sync(tmp_path):
    """Each record is in the log once, each number is returned once, and syncs are fewer."""
    count, threads = 50, 8
    numbers = []

    class Slow(Counting):
        def sync_data(self, descriptor):
            super().sync(descriptor)
            time.sleep(0.001)

    def append(start):
        numbers.extend((log.append(start + n), start + n) for n in range(count))

    with headrace.LogWriter(tmp_path, rotate_rows=30) as log:
        with using(Slow()) as system:
            workers = [
                threading.Thread(target=append, args=(each * count,))
                for each in range(threads)
            ]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
        # Of a segment that is full, both files are synchronised too.
        assert system.calls.count("sync") < count * threads
    assert sorted(line for line, _ in numbers) == list(range(1, count * threads + 1))
    found = headrace.Log(tmp_path)
    assert [found.get(line) for line, _ in numbers] == [value for _, value in numbers]


def test_an_interrupted_commit_is_not_reported_as_success(tmp_path):
    class Interrupted(Counting):
        def sync_data(self, descriptor):
            raise KeyboardInterrupt

    with headrace.LogWriter(tmp_path) as log:
        log.append(1)
        with using(Interrupted()), pytest.raises(KeyboardInterrupt):
            log.append(2)
        with pytest.raises(LogFailedError, match="interrupted by KeyboardInterrupt"):
            log.append(3)
    headrace.Log(tmp_path).recover()
    assert list(headrace.Log(tmp_path)) == [1, 2]


def test_a_failed_commit_is_raised_in_all_threads_with_records_in_it(tmp_path):
    waiting, problems = threading.Event(), []

    class Failing(Counting):
        def sync_data(self, descriptor):
            waiting.wait(20)
            raise OSError(5, "failed")

    def append(value):
        try:
            log.append(value)
        except headrace.HeadraceError as error:
            problems.append(error)

    with headrace.LogWriter(tmp_path) as log, using(Failing()):
        threads = [threading.Thread(target=append, args=(n,)) for n in range(5)]
        for thread in threads:
            thread.start()
        while len(log._queue) < 4:
            time.sleep(0.001)
        waiting.set()
        for thread in threads:
            thread.join()
    assert len(problems) == 5


class TestRotation:
    def test_numbers_go_on_from_file_to_file(self, tmp_path):
        """KR-R1 to KR-R3, KR-Q2: sizes of 1, 2 and many."""
        number = 0
        for rows in (1, 2, 1000, 1, 2):
            with headrace.LogWriter(tmp_path, rotate_rows=rows) as log:
                for _ in range(3):
                    log.append_many(range(number, number + 2 * rows + 1))
                    number += 2 * rows + 1
        found = entries(tmp_path)
        assert [entry["lineNumberGlobal"] for entry in found] == list(
            range(1, number + 1)
        )
        numbers = [entry["fileNumber"] for entry in found]
        assert numbers == sorted(numbers)
        assert set(numbers) == set(range(1, max(numbers) + 1))
        assert list(headrace.Log(tmp_path)) == list(range(number))
        bases = [int(name[:20]) for name in segments(tmp_path)]
        for base in bases[:-1]:
            path = tmp_path / f"{base:020d}.jsonl.idx"
            header, first, *_ = dumped_index(path)
            assert (
                first["lineNumberGlobal"] == header["globalLineOffset"] + 1 == base + 1
            )

    def test_by_size(self, tmp_path):
        """No file is larger than the limit, except with one larger record; no record is split."""
        with headrace.LogWriter(tmp_path, rotate_bytes=100) as log:
            log.append_many([["x" * (n % 7 * 20)] for n in range(60)])
            log.append(["y" * 500])
            log.append(["z"])
        sizes = [(tmp_path / name).stat().st_size for name in segments(tmp_path)]
        assert sum(size > 100 for size in sizes) >= 1
        for name in segments(tmp_path):
            content = (tmp_path / name).read_bytes()
            assert content.endswith(b"\n")
            assert len(content) <= 100 or content.count(b"\n") == 1

    def test_by_time(self, tmp_path, monkeypatch):
        now = [1000.0]
        monkeypatch.setattr(time, "monotonic", lambda: now[0])
        with headrace.LogWriter(tmp_path, rotate_seconds=60) as log:
            for wait in (100, 0, 59, 1, 30, 31):
                now[0] += wait
                log.append(wait)
        # An empty file does not age: the first record begins it.
        assert [int(name[:20]) for name in segments(tmp_path)] == [0, 3, 5]

    def test_by_a_rule(self, tmp_path):
        """KR-R4: the rule gets the state before each record is written."""
        states = []

        def rule(state):
            states.append(state)
            return state.rows >= 2 and state.next_bytes == 2

        with headrace.LogWriter(tmp_path, rotate=rule) as log:
            log.append_many([11, 12, 13, 4, 15, 16, 7, 8])
        assert [int(name[:20]) for name in segments(tmp_path)] == [0, 3, 6]
        assert states[0] == (1, 3, states[0].seconds, 3)

    def test_an_empty_file_is_never_left(self, tmp_path):
        """krupton 11: the first record is larger than a file."""
        with headrace.LogWriter(tmp_path, rotate_bytes=1) as log:
            log.append_many([["large"], ["also large"]])
        assert len(segments(tmp_path)) == 2


class TestTimes:
    def write(self, directory, records, **options):
        with headrace.LogWriter(directory, time="$.E", **options) as log:
            log.append_many(records)
            found = [
                (entry["messageTime"], entry["timeSource"])
                for entry in entries(directory)
            ]
            return found, log.fallbacks

    def test_extracted(self, tmp_path):
        """KR-T2."""
        found, fallbacks = self.write(
            tmp_path, [{"E": 5}, {"E": 5}, {"E": -0}, {"E": 7}]
        )
        assert found[:2] == [(5, "extracted")] * 2
        assert found[2][1] == "created"
        assert found[3] == (7, "extracted")
        assert fallbacks == 1

    @pytest.mark.parametrize(
        "value",
        ["text", None, 1.5, 10**30, 253_402_300_800_000, [1], True],
        ids=str,
    )
    def test_an_invalid_time_is_replaced_by_the_created_time(self, tmp_path, value):
        """KR-T3: the time is validated, replaced by the created time, and counted."""
        found, fallbacks = self.write(tmp_path, [{"E": 5}, {"E": value}, {"x": 1}, 3])
        assert [source for _, source in found] == ["extracted", *["created"] * 3]
        assert fallbacks == 3
        assert found[1][0] > 1_600_000_000_000

    def test_an_expression_that_fails(self, tmp_path):
        with headrace.LogWriter(tmp_path, time="$.E / $.zero") as log:
            log.append_many(
                [{"E": 8, "zero": 0}, {"E": 8, "zero": 2}, {"E": "x", "zero": 1}]
            )
            assert log.fallbacks == 2
        assert [entry["timeSource"] for entry in entries(tmp_path)] == [
            "created",
            "extracted",
            "created",
        ]

    @pytest.mark.parametrize(
        ("monotonic", "believed"),
        [("strict", "yynny"), (10, "yyyny"), ("off", "yyyyy")],
    )
    def test_order(self, tmp_path, monotonic, believed):
        times = [{"E": 1000}, {"E": 1005}, {"E": 996}, {"E": 3}, {"E": 1006}]
        found, _ = self.write(tmp_path, times, monotonic=monotonic)
        assert "".join("ny"[source == "extracted"] for _, source in found) == believed

    def test_order_continues_in_the_next_file_and_the_next_writer(self, tmp_path):
        self.write(tmp_path, [{"E": 100}, {"E": 200}], rotate_rows=1)
        found, _ = self.write(tmp_path, [{"E": 150}, {"E": 200}])
        assert [source for _, source in found[2:]] == ["created", "extracted"]

    def test_a_clock_that_goes_back(self, tmp_path, monkeypatch):
        """KR-T1: created times never go back by default."""
        for monotonic, wanted in (("strict", [50, 50, 60]), ("off", [50, 40, 60])):
            clock = [50]
            monkeypatch.setattr(
                time, "time_ns", lambda clock=clock: clock[0] * 1_000_000
            )
            directory = tmp_path / monotonic
            with headrace.LogWriter(directory, monotonic=monotonic) as log:
                for n, now in enumerate((50, 40, 60)):
                    clock[0] = now
                    log.append(n)
            assert [entry["messageTime"] for entry in entries(directory)] == wanted

    def test_a_time_expression_that_is_not_a_function_of_the_record_is_refused(
        self, tmp_path
    ):
        with pytest.raises(UsageError, match="cannot depend on now"):
            headrace.LogWriter(tmp_path / "log", time="now() - $.age")
        with pytest.raises(UsageError, match="about each row"):
            headrace.LogWriter(tmp_path / "log", time="$.rows().count()")
        assert not (tmp_path / "log").exists()


class TestTheLock:
    def test_a_second_writer_gets_an_error_that_names_the_first(self, tmp_path):
        """KR-G5, krupton 3."""
        with headrace.LogWriter(tmp_path) as log:
            with pytest.raises(
                LogLockedError, match=f"process {os.getpid()} on .* one writer"
            ):
                headrace.LogWriter(tmp_path)
            with pytest.raises(LogLockedError):
                headrace.Log(tmp_path).recover()
            log.append(1)
        with headrace.LogWriter(tmp_path) as log:
            assert log.append(2) == 2

    def test_each_writer_has_its_epoch(self, tmp_path):
        for epoch in (1, 2, 3):
            with headrace.LogWriter(tmp_path):
                assert load(LogNames(tmp_path)).epoch == epoch
                assert json.loads((tmp_path / "LOCK").read_bytes())["epoch"] == epoch

    def test_a_writer_with_an_old_epoch_writes_no_more(self, tmp_path):
        """Without working locks, the epoch in the manifest protects the log."""
        with headrace.LogWriter(tmp_path) as log:
            log.append(1)
            (tmp_path / "LOCK").unlink()
            with headrace.LogWriter(tmp_path) as other:
                other.append(2)
            before = (tmp_path / "manifest.json").read_bytes()
            with pytest.raises(LogFailedError, match="a later writer, of epoch 2"):
                log.append(3)
        assert (tmp_path / "manifest.json").read_bytes() == before
        assert list(headrace.Log(tmp_path)) == [1, 2]

    def test_a_file_that_another_process_wrote_to(self, tmp_path):
        log = headrace.LogWriter(tmp_path)
        log.append(1)
        with (tmp_path / FIRST).open("ab") as file:
            file.write(b"2\n")
        with pytest.raises(LogFailedError, match="changed by another process"):
            log.append(3)
        log.close()
        assert (tmp_path / FIRST).read_bytes() == b"1\n2\n"

    def test_a_file_that_another_process_removed(self, tmp_path):
        log = headrace.LogWriter(tmp_path)
        log.append(1)
        (tmp_path / FIRST).unlink()
        with pytest.raises(LogFailedError, match="was removed"):
            log.append(2)
        log.close()

    def test_a_forked_child_has_no_writer(self, tmp_path):
        with headrace.LogWriter(tmp_path) as log:
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    log.append(1)
                except UsageError:
                    log.close()
                    code = 0
                finally:
                    os._exit(code)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
            assert log.append(1) == 1

    def test_a_closed_writer_takes_no_more(self, tmp_path):
        log = headrace.LogWriter(tmp_path)
        log.close()
        log.close()
        for call in (lambda: log.append(1), log.flush):
            with pytest.raises(UsageError, match="was closed"):
                call()


class TestDirectories:
    def test_logs_lie_in_each_other(self, tmp_path):
        """KR-Q1: each log has its own line numbers."""
        outer, inner = (
            tmp_path / "storage/binance",
            tmp_path / "storage/binance/trades/BTC",
        )
        with headrace.LogWriter(inner) as one, headrace.LogWriter(outer) as other:
            one.append_many(range(3))
            assert other.append(["x"]) == 1
        assert list(headrace.Log(inner)) == [0, 1, 2]
        assert list(headrace.Log(outer)) == [["x"]]

    def test_other_files_are_left_alone(self, tmp_path):
        (tmp_path / "notes.txt").write_text("mine")
        (tmp_path / ".hidden.tmp-1-00000000").write_text("mine")
        with headrace.LogWriter(tmp_path) as log:
            log.append(1)
        headrace.Log(tmp_path).recover()
        assert (tmp_path / "notes.txt").read_text() == "mine"
        assert (tmp_path / ".hidden.tmp-1-00000000").read_text() == "mine"

    @pytest.mark.parametrize(
        "name", ["a.jsonl", "a.ndjson.gz", "rows.meta-00000001.json"]
    )
    def test_a_directory_with_other_data_is_refused(self, tmp_path, name):
        (tmp_path / name).write_bytes(b"1\n")
        with pytest.raises(UsageError, match="give the log another directory"):
            headrace.LogWriter(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == [name]

    def test_a_foreign_manifest_is_not_touched(self, tmp_path):
        (tmp_path / "manifest.json").write_text('{"name": "my web app"}')
        (tmp_path / "LOCK").touch()
        for repair in (False, True):
            with pytest.raises(headrace.HeadraceError, match="not a log's manifest"):
                headrace.Log(tmp_path).recover(repair=repair)
        assert (tmp_path / "manifest.json").read_text() == '{"name": "my web app"}'

    @pytest.mark.parametrize(
        "options",
        [
            {"durability": "most"},
            {"tail": "cut"},
            {"rotate_rows": 0},
            {"rotate_bytes": "many"},
            {"rotate_seconds": -1},
            {"interval": 0},
            {"monotonic": "loose"},
            {"monotonic": -1},
            {"max_record": 0},
            {"max_record": "2GiB"},
            {"max_depth": 1001},
        ],
        ids=str,
    )
    def test_invalid_options(self, tmp_path, options):
        with pytest.raises(UsageError):
            headrace.LogWriter(tmp_path / "log", **options)
        assert not (tmp_path / "log").exists()
