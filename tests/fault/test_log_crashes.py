"""Logs whose writers are killed and whose machines lose power, a few times each.

``make crash N=1000`` and ``make sweep`` do it many times. Each harness must find a planted bug.
"""

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.kernel.checksum import crc32c
from headrace.kernel.log import LogChecking
from headrace.store.log.recover import indexes, recovery
from tests.fault import power_log
from tests.fault.disk_model import Recorder
from tests.fault.killing import KILLS

CUTS = int(os.environ.get("HEADRACE_CUTS", "100"))
EXT4_CUTS = max(5, KILLS // 10)
ROOT = Path(__file__).parents[2]


def test_power_cuts_lose_nothing_that_was_acknowledged():
    assert len(power_log.run(CUTS, seed=1)) == CUTS


class NoSync(Recorder):
    def sync_data(self, descriptor):
        pass


class NoSyncOfData(Recorder):
    """Data is not synchronised before it is acknowledged, everything else is."""

    def create(self, path):
        descriptor = super().create(path)
        if path.suffix == ".jsonl":
            self.data = getattr(self, "data", set()) | {self._open[descriptor]}
        return descriptor

    def sync_data(self, descriptor):
        if self._open[descriptor] not in getattr(self, "data", ()):
            super().sync_data(descriptor)


class NoSyncOfNames(Recorder):
    def sync_directory(self, path):
        pass


@pytest.mark.parametrize("make", [NoSync, NoSyncOfData, NoSyncOfNames])
def test_a_writer_that_does_not_sync_is_caught(make):
    with pytest.raises(AssertionError, match=r"cut .* of seed 1"):
        power_log.run(10 * CUTS, 1, make)


COMPRESSING = tuple(each for each in power_log.CHOICES if "codec" in each)


class PlainRemovedEarly(Recorder):
    """The plain file is removed when the compressed one is renamed, before the manifest names it."""

    def rename(self, source, target):
        super().rename(source, target)
        if target.suffix in (".zst", ".gz"):
            super().unlink(target.with_suffix(""))

    def unlink(self, path):
        if path.exists():
            super().unlink(path)


class CompressedNotSynced(Recorder):
    """The compressed file is not synchronised before it replaces the plain one."""

    def create(self, path):
        descriptor = super().create(path)
        if ".jsonl.zst." in path.name:
            self.packed = getattr(self, "packed", set()) | {self._open[descriptor]}
        return descriptor

    def sync_data(self, descriptor):
        if self._open[descriptor] not in getattr(self, "packed", ()):
            super().sync_data(descriptor)


class RemovedFirst(Recorder):
    """Old files are removed before the manifest without them is durable."""

    def sync_directory(self, path):
        manifest = path / "manifest.json"
        if not manifest.exists() or b'"removing"' not in manifest.read_bytes():
            super().sync_directory(path)


@pytest.mark.parametrize("make", [PlainRemovedEarly, CompressedNotSynced, RemovedFirst])
def test_compressing_and_removing_in_the_wrong_order_is_caught(make):
    assert len(COMPRESSING) == 3
    assert len(power_log.run(60, 1, choices=COMPRESSING)) == 60
    with pytest.raises(AssertionError, match=r"cut .* of seed 1"):
        power_log.run(10 * CUTS, 1, make, COMPRESSING)


SALT = b"any salt"


class NewlineIsProof:
    """Accepts every line as a record because it ends with a newline."""

    def __init__(self, file, offset, size, **_options):
        self.data = file.read_at(offset, size - offset)

    def next(self, _enough):
        whole = self.data[: self.data.rfind(b"\n") + 1]
        torn = len(whole) < len(self.data)
        stop = ("torn" if torn else "end", 0, "it has no newline")
        return UncheckedLines(whole.split(b"\n")[:-1]), stop


class UncheckedLines(list):
    def entries(self, _start, _end, place, clock, *, created, **_options):
        good, _refusal = LogChecking(max_depth=1, max_line=1).lines(b"1\n" * len(self))
        good.entries(0, len(self), place, clock, created=created, **_options)
        made = []
        for line in self:
            salt, number, base, rows, begin = place
            end = begin + len(line) + 1
            place = (salt, number, base, rows + 1, end)
            numbers = (begin, end, clock.times[0], base + rows + 1, rows + 1, number)
            entry = struct.pack("<QQqQIIxxxxII", *numbers, crc32c(line + b"\n"), 0)
            made.append(entry + struct.pack("<I", crc32c(SALT + entry)))
        return b"".join(made), place[3:]


def test_taking_a_newline_for_proof_is_caught(monkeypatch):
    monkeypatch.setattr(recovery, "_new_salt", lambda: crc32c(SALT))
    assert power_log.run(20, seed=1)
    monkeypatch.setattr(indexes, "LogTail", NewlineIsProof)
    with pytest.raises(AssertionError, match="not the first that were sent"):
        power_log.run(10 * CUTS, seed=1)


def killed(*arguments, module="crash_log"):
    return subprocess.run(
        [sys.executable, "-m", f"tests.fault.{module}", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_killed_writer_loses_nothing_that_was_acknowledged():
    done = killed(str(KILLS), "1")
    assert done.returncode == 0, done.stderr
    assert f"{KILLS} kills, seed 1: no acknowledged record lost" in done.stdout


def test_cuts_of_a_real_file_system_lose_nothing_that_was_acknowledged():
    done = killed(str(EXT4_CUTS), "1", module="power_ext4")
    if "no cuts of a real file system" in done.stdout:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stderr
    assert f"{EXT4_CUTS} cuts of ext4, seed 1: none lost a record" in done.stdout
    # It ends with the first cut that loses a record.
    done = killed("40", "1", "no-sync", module="power_ext4")
    assert done.returncode == 1
    assert re.search("AssertionError|LogDamagedError", done.stderr)
