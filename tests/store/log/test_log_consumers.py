"""Consumers: no line is missed, and no line is repeated without a crash."""

import pickle

import pytest

import headrace
from headrace.errors import (
    CheckpointDamagedError,
    ConsumerBusyError,
    HeadraceWarning,
    LinesGoneError,
    LogReplacedError,
    UsageError,
)
from headrace.store.files import system
from headrace.store.log.read.consumers import ActiveConsumer
from headrace.store.log.read.reader import LogReader
from tests.store.log.test_log_following import remove_first


@pytest.fixture
def log(tmp_path):
    with headrace.LogWriter(tmp_path / "log", rotate_rows=4, time="$") as log:
        log.append_many(range(10))
    return tmp_path / "log"


def consumed(log, name="c", **options):
    with headrace.Log(log).consumer(name, **options) as consumer:
        return list(consumer)


def test_a_consumer_continues_at_its_position(log):
    assert consumed(log) == list(range(10))
    assert consumed(log) == []
    with headrace.LogWriter(log, time="$") as writer:
        writer.append(10)
    assert consumed(log) == [10]
    assert consumed(log, "another") == list(range(11))


def test_a_record_is_consumed_when_the_next_is_requested(log):
    with headrace.Log(log).consumer("c") as consumer:
        for record in consumer:
            if record == 3:
                break
        assert (consumer.line, consumer.committed) == (4, 0)
    assert consumer.committed == 3
    with pytest.raises(ZeroDivisionError), headrace.Log(log).consumer("c") as consumer:
        list(map((1).__floordiv__, (record - 5 for record in consumer)))
    assert consumed(log) == list(range(5, 10))


def test_commit(log):
    with headrace.Log(log).consumer("c") as consumer:
        records = iter(consumer)
        assert [next(records), next(records), next(records)] == [0, 1, 2]
        with pytest.raises(UsageError, match="from 0 to 3"):
            consumer.commit(4)
        consumer.commit(1)
        with pytest.raises(UsageError, match="line 0 cannot be committed"):
            consumer.commit(0)
        consumer.commit()
        assert consumer.committed == 3
    assert consumed(log) == list(range(3, 10))
    with pytest.raises(UsageError, match="is closed"):
        next(iter(consumer))


def test_positions_are_committed_automatically(log):
    saved = []
    now = [0.0]
    consuming = ActiveConsumer(
        LogReader(log), "c", every_lines=3, every_seconds=5.0, clock=lambda: now[0]
    )
    for line in range(1, 9):
        consuming.finish(line)
        saved.append(consuming.committed)
    assert saved == [0, 0, 3, 3, 3, 6, 6, 6]
    now[0] = 4.9
    consuming.commit_if_due()
    assert consuming.committed == 6
    now[0] = 5.0
    consuming.commit_if_due()
    assert consuming.committed == 8
    consuming.close()


def test_one_at_a_time(log):
    with headrace.Log(log).consumer("c"):
        with pytest.raises(ConsumerBusyError, match="reads as this consumer"):
            headrace.Log(log).consumer("c")
        with pytest.raises(ConsumerBusyError):
            headrace.Log(log).set_consumer("c", 0)
        headrace.Log(log).consumer("d").close()
    assert consumed(log) == list(range(10))


def test_a_commit_that_fails_is_raised(log, monkeypatch):
    class Full(system.System):
        def sync_data(self, descriptor):
            raise OSError(28, "No space left on device")

    with headrace.Log(log).consumer("c") as consumer:
        records = iter(consumer)
        next(records)
        with monkeypatch.context() as patched:
            patched.setattr(system, "calls", Full())
            with pytest.raises(OSError, match="No space left"):
                consumer.commit()
        assert consumer.committed == 0
        consumer.commit()
    assert consumed(log) == list(range(1, 10))
    assert [path.name for path in (log / "consumers").iterdir()] == ["c.json"]


def test_leftovers_of_a_dead_consumer_are_removed(log):
    consumed(log)
    (log / "consumers/.c.json.tmp-1-01234567").touch()
    (log / "consumers/.c.json.lock").touch()
    consumed(log)
    assert [path.name for path in (log / "consumers").iterdir()] == ["c.json"]


def test_lines_that_are_gone(log):
    headrace.Log(log).set_consumer("c", 2)
    remove_first(log, 2)
    (state,) = headrace.Log(log).consumers()
    assert (state.line, state.lag_lines, state.gone_lines) == (2, 8, 6)
    with pytest.raises(LinesGoneError, match="lines 3 to 8 are gone, 6 lines"):
        consumed(log)
    with (
        pytest.warns(HeadraceWarning, match="lines 3 to 8"),
        headrace.Log(log).consumer("c", gone="skip") as consumer,
    ):
        assert list(consumer) == [8, 9]
    assert (consumer.gone, consumer.committed) == (6, 10)
    assert consumed(log) == []
    assert consumed(log, "new") == [8, 9]


def test_every_byte_of_a_checkpoint_is_checked(log):
    consumed(log)
    path = log / "consumers/c.json"
    content = path.read_bytes()
    for at in range(len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(CheckpointDamagedError):
            consumed(log)
    for end in range(len(content)):
        path.write_bytes(content[:end])
        with pytest.raises(CheckpointDamagedError, match="--set NAME=LINE"):
            consumed(log)
    headrace.Log(log).set_consumer("c", 9)
    assert consumed(log) == [9]


def test_a_checkpoint_of_another_consumer_or_log(log, tmp_path):
    consumed(log)
    (log / "consumers/c.json").rename(log / "consumers/d.json")
    with pytest.raises(CheckpointDamagedError, match="not as a checkpoint is written"):
        consumed(log, "d")
    with headrace.LogWriter(tmp_path / "two") as two:
        two.append_many(range(3))
    consumed(tmp_path / "two", "d")
    (tmp_path / "two/consumers/d.json").replace(log / "consumers/d.json")
    with pytest.raises(LogReplacedError, match="another log"):
        consumed(log, "d")


def test_a_checkpoint_ahead_of_the_log(log):
    consuming = ActiveConsumer(LogReader(log), "c")
    consuming.given = 12
    consuming.commit(12)
    consuming.close()
    with pytest.raises(
        LogReplacedError, match="'c' is at line 12, but it ends with 10"
    ):
        consumed(log)
    with pytest.raises(UsageError, match="the last is line 10"):
        headrace.Log(log).set_consumer("c", 11)


@pytest.mark.parametrize(
    "name", ["", "a/b", "..", ".a", "a b", "x" * 101, "ü", 7, None]
)
def test_invalid_names_are_refused(log, name):
    with pytest.raises(UsageError, match="a name is up to 100 letters"):
        consumed(log, name)
    assert not (log / "consumers").exists()


@pytest.mark.parametrize(
    "options", [{"every_lines": 0}, {"every_seconds": 0}, {"gone": "no"}], ids=str
)
def test_invalid_options_are_refused(log, options):
    with pytest.raises(UsageError):
        consumed(log, **options)
    assert consumed(log) == list(range(10))


def test_listing_setting_and_removing(log):
    assert headrace.Log(log).consumers() == []
    headrace.Log(log).set_consumer("b", 4)
    consumed(log, "a")
    one, two = headrace.Log(log).consumers()
    assert (one.consumer, one.line, one.lag_lines, one.lag_ms) == ("a", 10, 0, 0)
    assert (two.consumer, two.line, two.lag_lines, two.lag_ms) == ("b", 4, 6, 6)
    headrace.Log(log).remove_consumer("a")
    assert [each.consumer for each in headrace.Log(log).consumers()] == ["b"]
    with pytest.raises(UsageError, match="no consumer 'a'"):
        headrace.Log(log).remove_consumer("a")


def test_a_log_with_consumers_is_a_log(log):
    consumed(log)
    with headrace.LogWriter(log, time="$") as writer:
        assert writer.recovered.actions == []
        writer.append(10)
    assert consumed(log) == [10]


@pytest.mark.parametrize(
    "error",
    [
        LinesGoneError("log", 1, 4),
        LogReplacedError("log", "why"),
        ConsumerBusyError("log", "who"),
        CheckpointDamagedError("log", "why"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_can_be_sent(error):
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
