"""Kill writers of a set index at random moments: every answer equals that of a scan.

Run as ``python kill_set_indexes.py DIRECTORY KILLS SEED``, as a separate process because it
forks. A child repeatedly appends parts and updates the index; sometimes it replaces the
set, compacts the layers, or builds the index anew.
"""

import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import headrace
from headrace.errors import HeadraceWarning, KeyIndexError
from tests.reference.shard_sets import write
from tests.reference.slow_keys import slow_get

KEYS = ["0", "3", '"x"', "99"]


def some_lines(chance):
    keys = [*map(str, range(20)), '"x"']
    return [f'{{"k":{chance.choice(keys)}}}' for _ in range(chance.randrange(1, 30))]


def write_until_killed(path, seed):
    chance = random.Random(seed)
    while True:
        replaced = chance.random() < 0.1
        write(path, some_lines(chance), most=9, overwrite=replaced)
        headrace.KeyIndex.update(path, "k", threads=1, full=replaced)
        if chance.random() < 0.2:
            compact(path)
        if chance.random() < 0.1:
            headrace.KeyIndex.build(path, "k", threads=1)


def compact(path):
    try:
        headrace.KeyIndex.compact(path, "k")
    except KeyIndexError as error:
        # With four times the rows of its build, it must be built anew.
        if error.reason != "buckets_full":
            raise
        headrace.KeyIndex.build(path, "k", threads=1)


def killed_after(path, seed, seconds):
    pid = os.fork()
    if pid == 0:
        try:
            write_until_killed(path, seed)
        finally:
            os._exit(1)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    _pid, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), "the child failed by itself"


def compare(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadraceWarning)
        index = headrace.KeyIndex.open(path, "k")
    rows = headrace.open(path).raw
    data = b"".join(row + b"\n" for row in rows)
    for key in KEYS:
        answers = index.answers([index.request_of_json(key)])
        found = [line for _, rows in answers for line in rows.contents()]
        assert found == slow_get(data, ["k"], [key], typed=True), key
    return index.usable


def main(directory, kills, seed):
    chance = random.Random(seed)
    path = directory / "set"
    longest = 0.1
    for kill in range(kills):
        if kill % 20 == 0:
            write(path, ['{"k":3}'] * 100, most=40, overwrite=True)
            headrace.KeyIndex.build(path, "k")
        killed_after(path, chance.random(), longest * chance.random())
        if not compare(path):
            headrace.KeyIndex.update(path, "k", full=True)
        stats = headrace.KeyIndex.stats(path, "k")
        # They should come to write a delta, on a busy machine too.
        longest *= 0.95 if "delta" in stats else 1.1
    headrace.KeyIndex.update(path, "k", full=True)
    checked = headrace.KeyIndex.check(path, "k", deep=True)
    assert checked["valid"], checked
    assert checked["fresh"], checked
    left = sorted(each.name for each in (path / "rows.jnx.k").iterdir())
    assert len(left) == 2, left
    sys.stdout.write(f"{kills}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
