"""Kill ``headrace log append --ack`` at random moments: acknowledged lines are never lost.

Run as ``python -m tests.fault.crash_log KILLS SEED``, as a separate process because it
forks. Each child is the command itself, killed with -9 while records are fed to it;
sometimes the process that recovers the log is killed as well, or one that compresses and
removes segments. Another log is begun before one gets long.
"""

import os
import random
import signal
import sys
import threading
import time

import headrace
from headrace.cli.app import main as command
from headrace.kernel.log import ENTRY_BYTES, HEADER_BYTES
from tests.fault.logs import none, record, refuse_unless_sound
from tests.fault.power_log import scratch

LONGEST_LOG = 1500
MOST_KILLS = 15
"""Kills of one log; the next log is maintained differently."""
OPTIONS = (
    ("--durability", "data", "--rotate-rows", "7"),
    ("--durability", "always", "--rotate-bytes", "20KiB", "--time", "$.E"),
    ("--durability", "os", "--rotate-rows", "50"),
    ("--durability", "interval", "--rotate-rows", "100"),
    ("--durability", "data", "--rotate-rows", "1"),
)
KEPT_BYTES = 60_000
KEEPING = (
    ("--durability", "data", "--codec", "zstd"),
    ("--durability", "os", "--codec", "gzip", "--retain-bytes", str(KEPT_BYTES)),
    ("--durability", "always", "--codec", "zstd", "--retain-bytes", str(KEPT_BYTES)),
)
"""Options of logs whose segments are compressed and removed, with this many rows each."""
KEPT_ROWS = 7


class Child:
    """A command in a child process, with pipes for its input and output."""

    def __init__(self, arguments, plant=lambda: None):
        stdin, self._feed = os.pipe()
        self._acks, stdout = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.dup2(stdin, 0)
                os.dup2(stdout, 1)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                for descriptor in (stdin, self._feed, self._acks, stdout):
                    os.close(descriptor)
                plant()
                command(arguments)
            finally:
                os._exit(1)
        os.close(stdin)
        os.close(stdout)

    def feed(self, start):
        """Feed records from `start` on until it dies; return a function for the number sent."""
        sent = [start]

        def write():
            try:
                while True:
                    chance = random.Random(sent[0])
                    count = chance.choice([1, 1, 3, 40])
                    numbers = range(sent[0], sent[0] + count)
                    lines = b"".join(record(number) + b"\n" for number in numbers)
                    sent[0] += count  # any part of them may arrive
                    rest = memoryview(lines)
                    while rest:
                        rest = rest[os.write(self._feed, rest) :]
            except OSError:
                return

        self._writer = threading.Thread(target=write)
        self._writer.start()
        return lambda: sent[0]

    def kill(self):
        """Kill it, and return the last number that it acknowledged."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        with os.fdopen(self._acks) as lines:
            acks = [int(line.split()[1]) for line in lines if line.endswith("\n")]
        self._writer.join()
        os.close(self._feed)
        return acks[-1] if acks else 0


def recovering(directory):
    headrace.Log(directory).recover()


def keeping(directory):
    headrace.Log(directory).seal()
    headrace.Log(directory).retain(retain_bytes=KEPT_BYTES)


def killed_while(act, directory, seconds):
    pid = os.fork()
    if pid == 0:
        try:
            act(directory)
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def may_be_removed(last):
    """Return how many lines retention may have removed when the log ends with line `last`.

    With the last removed segment the log was larger than its limit, and plain lines take at
    least as much space as compressed ones.
    """
    size, line = 2 * HEADER_BYTES, last
    while line > 0 and size <= KEPT_BYTES:
        line -= 1
        size += len(record(line)) + 1 + ENTRY_BYTES + -(-HEADER_BYTES // KEPT_ROWS)
    return range(line + KEPT_ROWS + 1)


def run(kills, seed):
    """Kill `kills` times; return how many had acknowledged lines, and how many left more."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    chance = random.Random(seed)
    longest = 0.05
    acknowledging = unacknowledged = 0
    done, kept = 0, True
    while done < kills:
        with scratch() as root:
            directory, there = root / "log", 0
            kept, begun = not kept, done
            while done < min(kills, begun + MOST_KILLS) and there < LONGEST_LOG:
                options = chance.choice(KEEPING if kept else OPTIONS)
                if kept:
                    options += ("--rotate-rows", str(KEPT_ROWS))
                child = Child(["log", "append", str(directory), "--ack", *options])
                sent = child.feed(there)
                time.sleep(longest * chance.random())
                acknowledged = child.kill()
                if (directory / "manifest.json").exists() and chance.random() < 0.25:
                    act = chance.choice([recovering, keeping] if kept else [recovering])
                    killed_while(act, directory, 0.02 * chance.random())
                wanted = there + acknowledged
                removable = may_be_removed if kept else none
                there = refuse_unless_sound(directory, wanted, sent(), removable)
                acknowledging += acknowledged > 0
                unacknowledged += there > wanted
                # Most should have begun and few have done much, on a busy machine too.
                longest *= 0.95 if acknowledged else 1.2
                done += 1
    return acknowledging, unacknowledged


def main(kills, seed):
    acknowledging, unacknowledged = run(kills, seed)
    sys.stdout.write(
        f"{kills} kills, seed {seed}: no acknowledged record lost, doubled or out of order; "
        f"{acknowledging} came after an acknowledgement, {unacknowledged} left more than "
        "was acknowledged\n"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
