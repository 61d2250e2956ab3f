"""Cut the power of a real file system while a log is written to it.

Run as ``python -m tests.fault.power_ext4 CUTS SEED [PLANT]``, as root where ext4 can be
mounted from a file. Each cut shuts the file system down without writing its journal: data
that was not synchronised never reaches its file. Then it is mounted again, as after a power
failure.
"""

import errno
import fcntl
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from headrace.store.files import system
from tests.fault.crash_log import KEEPING, KEPT_ROWS, OPTIONS, Child, may_be_removed
from tests.fault.logs import none, refuse_unless_sound

SHUTDOWN = 0x8004587D
"""EXT4_IOC_SHUTDOWN."""
WITHOUT_JOURNAL = 2
PROMISING = ("data", "always")
LONGEST_LOG = 1500
MOST_CUTS = 5


def why_not():
    """Return why this cannot run here, None if it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "only root can mount a file system, on Linux"
    missing = [tool for tool in ("mkfs.ext4", "mount") if shutil.which(tool) is None]
    if missing:
        return f"no {missing[0]}"
    try:
        with image() as root, mounted(root):
            return None
    except subprocess.CalledProcessError as error:
        return f"ext4 cannot be mounted from a file: {error}"


@contextmanager
def image():
    """Yield a directory with an empty file system in a file."""
    with tempfile.TemporaryDirectory(prefix="headrace-") as root:
        disk = Path(root) / "disk"
        with disk.open("wb") as file:
            file.truncate(64 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", disk], check=True)
        (Path(root) / "mounted").mkdir()
        yield Path(root)


@contextmanager
def mounted(root):
    """Mount it, and yield the mount point."""
    where = root / "mounted"
    mount(root, where)
    while not is_alive(where):
        # Another process still uses the old mount, and the same one is mounted again.
        subprocess.run(["umount", where], check=True)
        time.sleep(0.1)
        mount(root, where)
    try:
        yield where
    finally:
        subprocess.run(["umount", where], check=True)


def mount(root, where):
    command = ["mount", "-o", "loop", root / "disk", where]
    subprocess.run(command, check=True, capture_output=True)


def is_alive(where):
    """Whether a file system can be written; one that was shut down cannot."""
    try:
        (where / "alive").touch()
    except OSError as error:
        if error.errno == errno.EIO:
            return False
        raise
    return True


def pull_the_plug(where):
    descriptor = os.open(where, os.O_RDONLY)
    try:
        fcntl.ioctl(descriptor, SHUTDOWN, struct.pack("I", WITHOUT_JOURNAL))
    finally:
        os.close(descriptor)


def cut(where, there, options, seconds, plant):
    """Cut the power of a writer; return the number acknowledged, and the most it was sent."""
    arguments = ["log", "append", str(where / "log"), "--ack", *options]
    child = Child(arguments, plant)
    sent = child.feed(there)
    time.sleep(seconds)
    # Nothing is acknowledged after the cut.
    os.kill(child.pid, signal.SIGSTOP)
    pull_the_plug(where)
    return child.kill(), sent()


def run(cuts, seed, plant=lambda: None):
    """Cut `cuts` times; return how many came after an acknowledgement."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    chance = random.Random(seed)
    done = acknowledging = 0
    kept = True
    longest = 0.2
    while done < cuts:
        kept, there, begun = not kept, 0, done
        with image() as root:
            while done < min(cuts, begun + MOST_CUTS) and there < LONGEST_LOG:
                options = chance.choice(KEEPING if kept else OPTIONS)
                promised = options[1] in PROMISING
                if kept:
                    options += ("--rotate-rows", str(KEPT_ROWS))
                with mounted(root) as where:
                    seconds = longest * chance.random()
                    acknowledged, sent = cut(where, there, options, seconds, plant)
                # Earlier lines are durable: they were recovered, and unmounted properly.
                wanted = there + acknowledged if promised else there
                with mounted(root) as where:
                    removable = may_be_removed if kept else none
                    there = refuse_unless_sound(where / "log", wanted, sent, removable)
                acknowledging += acknowledged > 0
                longest *= 0.95 if acknowledged else 1.2
                done += 1
    return acknowledging


def no_sync():
    """Plant a bug: nothing is made durable."""
    system.calls.sync_data = system.calls.sync_directory = lambda _what: None


PLANTS = {"": lambda: None, "no-sync": no_sync}


def main(cuts, seed, plant=""):
    reason = why_not()
    if reason is not None:
        sys.stdout.write(f"no cuts of a real file system: {reason}\n")
        return
    acknowledging = run(cuts, seed, PLANTS[plant])
    sys.stdout.write(
        f"{cuts} cuts of ext4, seed {seed}: none lost a record that was acknowledged; "
        f"{acknowledging} came after an acknowledgement\n"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
