"""An irregular file in a log is refused immediately: no command waits for a FIFO."""

import os
import signal

import pytest

import headrace
from headrace.api.log.recovery import open_recovered
from headrace.errors import LogDamagedError
from headrace.store.log.report.check import check_log
from headrace.store.log.report.stats import log_stats


@pytest.fixture
def log(tmp_path):
    with headrace.LogWriter(tmp_path / "log", rotate_rows=2) as writer:
        writer.append_many([{"i": i} for i in range(5)])
    return tmp_path / "log"


@pytest.fixture(autouse=True)
def _alarm():
    """End a test that hangs."""

    def ended(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ended)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def cat(log):
    reader, _actions = open_recovered(log)
    return list(reader.blocks(reader.first_line, reader.last_line))


def check(log):
    faults = [fault for each in check_log(log, deep=True) for fault in each.faults]
    if faults:
        raise LogDamagedError(str(log), 0, "; ".join(faults))


OPENED_BY = {
    "cat": cat,
    "recover": lambda log: headrace.Log(log).recover(),
    "write": lambda log: headrace.LogWriter(log).close(),
    "check": check,
    "stats": log_stats,
    "read": lambda log: [*headrace.Log(log)],
    "open": lambda log: [*headrace.open(log)],
    "count": lambda log: headrace.open(log).count(),
    "seal": lambda log: headrace.Log(log).seal(),
    "backup": lambda log: headrace.Log(log).backup(log.with_name("backup")),
}

FILES = [
    "manifest.json",
    f"{0:020d}.jsonl",
    f"{0:020d}.jsonl.idx",
    f"{4:020d}.jsonl",
    f"{4:020d}.jsonl.idx",
]

NOT_OPENED = {
    ("stats", f"{0:020d}.jsonl"),
    ("stats", f"{0:020d}.jsonl.idx"),
    ("stats", f"{4:020d}.jsonl"),
}


def fifo(path):
    path.unlink()
    os.mkfifo(path)


def link(path):
    """Replace a file by a link to the same content in another directory."""
    target = path.parent.parent / path.name
    path.rename(target)
    path.symlink_to(target)


@pytest.mark.filterwarnings("ignore::headrace.errors.HeadraceWarning")
@pytest.mark.parametrize("made", [fifo, link])
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("opened_by", OPENED_BY)
def test_an_irregular_file_is_refused(log, opened_by, name, made):
    made(log / name)
    if (opened_by, name) in NOT_OPENED:
        OPENED_BY[opened_by](log)
        return
    kind = "a symbolic link" if made is link else "no regular file"
    with pytest.raises(LogDamagedError, match=f"{name}.*{kind}"):
        OPENED_BY[opened_by](log)


def test_a_lock_that_is_a_fifo(log):
    (log / "LOCK").unlink()
    os.mkfifo(log / "LOCK")
    with pytest.raises(LogDamagedError, match="no regular file"):
        headrace.LogWriter(log)
