"""Every system call of backup and restore fails in turn: the old backup remains, or the new."""

from contextlib import suppress
from itertools import count

import pytest

import headrace
from headrace.errors import HeadraceError
from tests.fault.failing_system import FailingSystem, dying
from tests.fault.power_log import scratch


@pytest.fixture
def root():
    """Return a directory in memory: nothing here depends on the disk."""
    with scratch() as directory:
        yield directory


def append(log, first, last):
    with headrace.LogWriter(log, rotate_rows=4) as writer:
        writer.append_many([{"n": n} for n in range(first, last)])


def lines_of(backup, target):
    """Return the lines of a sound backup, None if there is none yet."""
    if not (backup / "backup.json").exists():
        return None
    assert not any(file.faults for file in headrace.Log.verify(backup))
    headrace.Log.restore(backup, target)
    return [row["n"] for row in headrace.Log(target)]


@pytest.mark.parametrize("fault", ["before", "within", "error", "half"])
def test_a_backup_that_fails_at_any_call(root, fault):
    failures = 0
    for at in count(1):
        log, backup = root / f"{at}", root / f"{at}.backup"
        append(log, 0, 6)
        headrace.Log(log).backup(backup)
        append(log, 6, 11)
        system = FailingSystem(at, fault)
        with dying(system), suppress(HeadraceError):
            headrace.Log(log).backup(backup)
        found = lines_of(backup, root / f"{at}.back")
        assert found in (list(range(6)), list(range(11)))
        failures += len(found) == 6
        headrace.Log(log).backup(backup)
        assert lines_of(backup, root / f"{at}.again") == list(range(11))
        assert {path.name for path in backup.iterdir()} <= {
            "backup.json",
            "segments",
        } | {path.name for path in backup.glob(".backup.json.tmp-*")}
        if system.failed is None:
            break
    assert failures > 5


@pytest.mark.parametrize("fault", ["before", "error"])
def test_a_first_backup_that_fails_at_any_call(root, fault):
    log = root / "log"
    append(log, 0, 6)
    for at in count(1):
        backup = root / f"{at}.backup"
        system = FailingSystem(at, fault)
        with dying(system), suppress(HeadraceError):
            headrace.Log(log).backup(backup)
        assert lines_of(backup, root / f"{at}.back") in (None, list(range(6)))
        headrace.Log(log).backup(backup)
        assert lines_of(backup, root / f"{at}.again") == list(range(6))
        if system.failed is None:
            break
    assert at > 10


@pytest.mark.parametrize("fault", ["before", "error"])
def test_a_restore_that_fails_at_any_call(root, fault):
    log, backup = root / "log", root / "backup"
    append(log, 0, 6)
    headrace.Log(log).backup(backup)
    for at in count(1):
        target = root / str(at)
        system = FailingSystem(at, fault)
        with dying(system), suppress(HeadraceError):
            headrace.Log.restore(backup, target)
        if target.exists():
            assert len(headrace.Log(target)) == 6
        else:
            assert lines_of(backup, target) == list(range(6))
        if system.failed is None:
            break
    assert at > 10
