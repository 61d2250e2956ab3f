"""Kill writers of a set at random moments: a reader finds a whole set each time.

Run as ``python kill_writers.py DIRECTORY KILLS SEED``, as a separate process because it
forks. A child writes one set after the other and reports each that is committed.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.fault.sets import read, write


def write_until_killed(directory, number, reports):
    while True:
        write(directory, number)
        os.write(reports, b"%d\n" % number)
        number += 1


def killed_after(directory, number, seconds):
    """Let a child write from this set on, kill it, and return the last that it reported."""
    reading, reports = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            write_until_killed(directory, number, reports)
        finally:
            os._exit(1)
    os.close(reports)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with os.fdopen(reading) as lines:
        return max(map(int, lines), default=number - 1)


def main(directory, kills, seed):
    write(directory, 0)
    began = time.monotonic()
    write(directory, 1)
    longest = 2 * (time.monotonic() - began)
    newest = 1
    chance = random.Random(seed)
    for _ in range(kills):
        reported = killed_after(directory, newest + 1, longest * chance.random())
        found = read(directory)
        # The next may be committed as well, if the child was killed before its report.
        assert reported <= found <= reported + 1, (reported, found)
        # About as many should commit as not, on a busy machine too.
        longest *= 0.9 if found > newest else 1.1
        newest = found
    write(directory, newest + 1)
    assert read(directory) == newest + 1
    hidden = {path.name for path in directory.iterdir() if path.name.startswith(".")}
    assert hidden <= {".rows.superseded"}, hidden
    parts = {path.name[-8:] for path in directory.rglob("rows.parts-*")}
    metas = {path.name[-13:-5] for path in directory.glob("rows.meta-*.json")}
    assert parts == metas, parts ^ metas
    sys.stdout.write(f"{kills}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
