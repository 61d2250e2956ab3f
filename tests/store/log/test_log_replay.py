"""Replay: speed, pause, steps and seeking; and the partitions of a directory."""

import threading
from itertools import islice

import pytest

import headrace
from headrace.api.log.replay import Replayed
from headrace.errors import LogDamagedError, UsageError
from headrace.store.files.units import Between
from headrace.store.log.read.find_partitions import find_partitions
from headrace.store.log.read.replay import Player, ReplayRange


def write(path, times, **options):
    with headrace.LogWriter(path, durability="os", time="$", **options) as log:
        log.append_many(times)


@pytest.fixture
def logs(tmp_path):
    write(tmp_path / "logs/a", [1000, 2000, 4000])
    write(tmp_path / "logs/b", [1500, 2000])
    return tmp_path / "logs"


ORDER = [("a", 1000), ("b", 1500), ("a", 2000), ("b", 2000), ("a", 4000)]


def seen(records):
    return [(each.partition, each.time) for each in records]


class TestPartitions:
    def test_they_are_called_by_their_paths(self, tmp_path):
        for name in ("x/b", "x", "x/b/c", "y"):
            write(tmp_path / "top" / name, [1])
        (tmp_path / "top/x/quarantine/deep").mkdir(parents=True)
        found = find_partitions([tmp_path / "top"])
        assert [each.name for each in found] == ["x", "x/b", "x/b/c", "y"]
        assert [each.directory for each in found] == [
            tmp_path / "top" / each.name for each in found
        ]
        found = find_partitions([tmp_path / "top/y", tmp_path / "top/x"])
        assert [each.name for each in found] == ["b", "b/c", "x", "y"]

    def test_here(self, tmp_path, monkeypatch):
        write(tmp_path / "log", [1])
        monkeypatch.chdir(tmp_path / "log")
        assert [each.name for each in find_partitions(["."])] == ["log"]

    @pytest.mark.parametrize(
        ("named", "said"),
        [
            ([], "no directory was given"),
            (["none"], "no such directory"),
            (["empty"], "no log in this directory or below it"),
            (["x/a", "y/a"], "would both be called 'a'"),
            (["x", "x/a"], "named twice"),
        ],
    )
    def test_invalid_partitions(self, tmp_path, named, said):
        (tmp_path / "empty").mkdir()
        write(tmp_path / "x/a", [1])
        write(tmp_path / "y/a", [1])
        with pytest.raises(UsageError, match=said):
            find_partitions([tmp_path / each for each in named])


class Clock:
    """A clock that the test advances."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class TestPlayer:
    def test_lines_come_when_they_are_due(self, logs):
        clock = Clock()
        playing = ReplayRange(find_partitions([logs]), Between())
        player = Player(playing, 2.0, clock)
        times = []
        while (found := player.poll()) is not None:
            if isinstance(found, float):
                clock.now += found
            else:
                times += [(clock.now - 100, int(line)) for line in found.data.split()]
            assert player.lag == 0
        player.close()
        assert times == [
            (0.0, 1000),
            (0.25, 1500),
            (0.5, 2000),
            (0.5, 2000),
            (1.5, 4000),
        ]

    def test_lag(self, logs):
        clock = Clock()
        player = Player(ReplayRange(find_partitions([logs]), Between()), 1.0, clock)
        assert player.poll() == 0.0
        clock.now += 2.25
        found = player.poll()
        assert (found.rows, player.position, player.lag) == (4, 2000, 1.25)
        assert player.poll() == 0.75
        player.close()

    def test_an_empty_log(self, tmp_path):
        write(tmp_path / "log", [])
        for speed in (None, 1.0):
            player = Player(ReplayRange(find_partitions([tmp_path]), Between()), speed)
            assert player.poll() is None
            assert player.step() is None
            player.close()


class TestReplay:
    def test_records(self, logs):
        with headrace.Log(logs).replay() as replay:
            assert replay.partitions == ["a", "b"]
            assert (replay.position, replay.next_lines) == (None, {})
            found = list(replay)
            assert found[1] == Replayed("b", 1, 1500, 1500)
            assert seen(found) == ORDER
            assert (replay.position, replay.next_lines) == (4000, {"a": 4, "b": 3})
        with headrace.Log(logs).replay(raw=True) as replay:
            assert next(iter(replay)).record == b"1000"

    def test_the_position_is_that_of_the_record_that_was_given(self, logs):
        with headrace.Log(logs).replay() as replay:
            for record in replay:
                assert replay.position == record.time

    def test_continuing_at_the_old_position_after_seeking(self, logs):
        with headrace.Log(logs).replay() as replay:
            records = iter(replay)
            played = [next(records) for _ in range(4)]
            replay.seek(1500)
            again = next(records)
            assert (again, replay.position) == (played[1], 1500)
            with headrace.Log(logs).replay(from_line=replay.next_lines) as following:
                assert seen([again, *following]) == ORDER[1:]
        with headrace.Log(logs).replay(from_line=2) as replay:
            next(iter(replay))
            assert replay.next_lines == {"a": 3, "b": 2}

    def test_blank_lines(self, tmp_path):
        with headrace.LogWriter(tmp_path / "log") as log:
            log.append_lines(b"1\n\n2\n")
        with headrace.Log(tmp_path).replay() as replay:
            assert [each.record for each in replay] == [1, None, 2]

    def test_lines_appended_later_are_not_replayed(self, logs):
        with headrace.Log(logs).replay() as replay:
            write(logs / "a", [5000])
            write(logs / "c", [1])
            assert seen(replay) == ORDER

    @pytest.mark.parametrize("speed", ["max", 1e6, 50_000])
    def test_any_speed(self, logs, speed):
        with headrace.Log(logs).replay(speed=speed) as replay:
            assert seen(replay) == ORDER
            assert replay.speed == speed

    def test_pause_and_step(self, logs):
        with headrace.Log(logs).replay(speed=0.001) as replay:
            replay.pause()
            assert replay.paused
            records = iter(replay)
            replay.step(2)
            assert seen([next(records), next(records)]) == ORDER[:2]
            replay.step()
            assert seen([next(records)]) == ORDER[2:3]
            replay.speed = "max"
            replay.resume()
            assert not replay.paused
            assert seen(records) == ORDER[3:]

    def test_pause_between_records_that_are_due(self, logs):
        with headrace.Log(logs).replay() as replay:
            records = iter(replay)
            assert seen([next(records)]) == ORDER[:1]
            replay.pause()
            replay.step()
            assert seen([next(records)]) == ORDER[1:2]
            resumed = threading.Timer(0.05, replay.resume)
            resumed.start()
            assert seen(records) == ORDER[2:]
            resumed.join()

    def test_seek(self, logs):
        with headrace.Log(logs).replay() as replay:
            records = iter(replay)
            assert seen([next(records)]) == ORDER[:1]
            replay.seek(2000)
            assert seen([next(records)]) == ORDER[2:3]
            replay.seek("1970-01-01T00:00:01Z")
            assert seen(records) == ORDER
            replay.seek(4000)
            assert seen(replay) == ORDER[4:]

    def test_seek_wakes_one_that_waits(self, logs):
        with headrace.Log(logs).replay(speed=1e-6) as replay:
            records = iter(replay)
            assert seen([next(records)]) == ORDER[:1]
            sought = threading.Timer(0.05, replay.seek, [4000])
            sought.start()
            assert seen([next(records)]) == ORDER[4:]
            sought.join()

    def test_close_wakes_one_that_waits(self, logs):
        with headrace.Log(logs).replay(speed=1e-6) as replay:
            records = iter(replay)
            next(records)
            closed = threading.Timer(0.05, replay.close)
            closed.start()
            assert list(records) == []
            closed.join()

    def test_times_that_go_back(self, tmp_path):
        """A partition keeps its order: line 3 of a does not come before line 2."""
        write(tmp_path / "a", [10, 50, 20, 60], monotonic="off")
        write(tmp_path / "b", [15, 30, 55])
        with headrace.Log(tmp_path).replay() as replay:
            assert seen(replay) == [
                ("a", 10),
                ("b", 15),
                ("b", 30),
                ("a", 50),
                ("a", 20),
                ("b", 55),
                ("a", 60),
            ]
        with headrace.Log(tmp_path).replay(since=20, until=50) as replay:
            assert seen(replay) == [("a", 20), ("b", 30)]

    def test_many_partitions(self, tmp_path):
        """More partitions than are read in large batches."""
        for n in range(20):
            write(tmp_path / f"{n:02}", range(n, 1000, 20), rotate_rows=17)
        with headrace.Log(tmp_path).replay(raw=True) as replay:
            assert [int(each.record) for each in replay] == list(range(1000))

    def test_damage(self, logs):
        path = logs / f"b/{0:020d}.jsonl"
        path.write_bytes(path.read_bytes().replace(b"2000", b"2001"))
        for threads in (0, 2):
            with headrace.Log(logs).replay(threads=threads) as replay:
                assert seen(islice(replay, 2)) == ORDER[:2]
                with pytest.raises(LogDamagedError, match="line 2"):
                    list(replay)

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"speed": 0}, "speed 0"),
            ({"speed": "fast"}, "speed 'fast'"),
            ({"speed": float("inf")}, "speed inf"),
            ({"since": "soon"}, "not a time"),
            ({"from_line": {"c": 1}}, "no partition 'c'; there are a, b"),
        ],
        ids=str,
    )
    def test_invalid_options(self, logs, options, said):
        with pytest.raises(UsageError, match=said):
            headrace.Log(logs).replay(**options)

    def test_steps_are_counted_from_1(self, logs):
        with (
            headrace.Log(logs).replay() as replay,
            pytest.raises(UsageError, match="step 0"),
        ):
            replay.step(0)
