"""Kill writers of a key index at random moments: every answer is that of a scan each time.

Run as ``python kill_indexes.py DIRECTORY KILLS SEED``, in a process of its own because it
forks. A child appends rows and updates the index, again and again; now and then it makes
one of base and delta, or builds the index anew.
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
from headrace.errors import HeadraceWarning
from tests.reference.slow_keys import slow_get

KEYS = ["0", "3", '"x"', "99"]


def write_until_killed(path, version, seed):
    chance = random.Random(seed)
    while True:
        with path.open("ab") as file:
            for _ in range(chance.randrange(30)):
                file.write(b'{"k":%d}\n' % chance.randrange(20))
            file.write(chance.choice([b"", b'{"k":"x"}\n', b'{"k":"x"', b"}\n"]))
        headrace.update_lookup_index(path, threads=1)
        if chance.random() < 0.2:
            headrace.compact_lookup_index(path)
        if chance.random() < 0.1:
            headrace.build_lookup_index(path, "k", version=version, threads=1)


def killed_after(path, version, seed, seconds):
    pid = os.fork()
    if pid == 0:
        try:
            write_until_killed(path, version, seed)
        finally:
            os._exit(1)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    _pid, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), "the child failed by itself"


def compare(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadraceWarning)
        index = headrace.KeyIndex(path, "k")
    assert index.usable
    data = path.read_bytes()
    for key in KEYS:
        answers = index.answers([index.request_of_json(key)])
        found = [line for _, rows in answers for line in rows.contents()]
        assert found == slow_get(data, ["k"], [key], typed=True), key


def main(directory, kills, seed):
    chance = random.Random(seed)
    path = directory / "rows.jsonl"
    delta = directory / "rows.jsonl.jnx.delta"
    unfinished = deltas = 0
    longest = 0.05
    for kill in range(kills):
        version = 1 + kill // 20 % 2
        if kill % 20 == 0:
            path.write_bytes(b'{"k":3}\n' * 300)
            headrace.build_lookup_index(path, "k", version=version)
        killed_after(path, version, chance.random(), longest * chance.random())
        compare(path)
        # So that they come to write a delta, however busy the machine is.
        longest *= 0.95 if delta.exists() else 1.1
        unfinished += (directory / "rows.jsonl.jnx.lock").exists()
        deltas += delta.exists()
    headrace.update_lookup_index(path, full=True)
    checked = headrace.check_lookup_index(path, deep=True)
    assert checked["valid"], checked
    assert checked["fresh"], checked
    left = sorted(each.name for each in directory.iterdir())
    assert left == ["rows.jsonl", "rows.jsonl.jnx"], left
    sys.stdout.write(f"{kills} {unfinished} {deltas}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
