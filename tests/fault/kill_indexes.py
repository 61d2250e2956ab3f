"""Kill writers of an index at random moments: every answer equals that of a scan.

Run as ``python kill_indexes.py DIRECTORY KILLS SEED KIND``, as a separate process because
it forks. A child repeatedly appends rows and updates the index; sometimes it compacts base
and delta, or builds the index anew. `KIND` is ``keys`` or ``graph``.
"""

import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

import headrace
from headrace.errors import HeadraceWarning
from tests.reference.slow_graph import edges_in, expand
from tests.reference.slow_keys import slow_get

KEYS = ["0", "3", '"x"', "99"]


class Kind(NamedTuple):
    """Functions that write an index of a kind, and compare it with its file."""

    ending: str
    build: object
    update: object
    compact: object
    check: object
    compare: object


def compare_keys(path):
    index = headrace.KeyIndex.open(path, "from")
    assert index.usable
    data = path.read_bytes()
    for key in KEYS:
        answers = index.answers([index.request_of_json(key)])
        found = [line for _, rows in answers for line in rows.contents()]
        assert found == slow_get(data, ["from"], [key], typed=True), key


def compare_graph(path):
    with headrace.GraphIndex.open(path) as graph:
        edges = list(edges_in(path.read_bytes()))
        for seed in ["0", "3", "x", "99"]:
            for direction in ("out", "in"):
                options = {"hops": 2, "direction": direction, "emit": "edges"}
                found = [tuple(step) for step in graph.expand(seed, **options)]
                assert found == expand(edges, [seed], **options)[0], seed
        assert graph.plan().strategy == "graph"


KINDS = {
    "keys": Kind(
        ".jnx",
        lambda path, version: headrace.KeyIndex.build(
            path, "from", index_version=version, threads=1
        ),
        headrace.KeyIndex.update,
        headrace.KeyIndex.compact,
        headrace.KeyIndex.check,
        compare_keys,
    ),
    "graph": Kind(
        ".jnx.graph",
        lambda path, version: headrace.GraphIndex.build(
            path, "from", "pred", "to", incoming=True, index_version=version, threads=1
        ),
        headrace.GraphIndex.update,
        headrace.GraphIndex.compact,
        headrace.GraphIndex.check,
        compare_graph,
    ),
}
ROW = b'{"from":%d,"pred":"p%d","to":%d}\n'
ENDS = (b"", b'{"from":"x","pred":1,"to":3}\n', b'{"from":"x","pred":1,"to":3', b"}\n")


def write_until_killed(kind, path, version, seed):
    chance = random.Random(seed)
    while True:
        with path.open("ab") as file:
            for _ in range(chance.randrange(30)):
                number = chance.randrange(20)
                file.write(ROW % (number, number % 3, chance.randrange(20)))
            file.write(chance.choice(ENDS))
        kind.update(path, threads=1)
        if chance.random() < 0.2:
            kind.compact(path)
        if chance.random() < 0.1:
            kind.build(path, version)


def killed_after(kind, path, version, seed, seconds):
    pid = os.fork()
    if pid == 0:
        try:
            write_until_killed(kind, path, version, seed)
        finally:
            os._exit(1)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    _pid, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), "the child failed by itself"


def main(directory, kills, seed, kind):
    chance = random.Random(seed)
    path = directory / "rows.jsonl"
    index = directory / f"rows.jsonl{kind.ending}"
    delta = index.with_name(f"{index.name}.delta")
    longest = 0.05
    for kill in range(kills):
        version = 1 + kill // 20 % 2
        if kill % 20 == 0:
            path.write_bytes(ROW % (3, 0, 4) * 300)
            kind.build(path, version)
        killed_after(kind, path, version, chance.random(), longest * chance.random())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HeadraceWarning)
            kind.compare(path)
        # They should come to write a delta, on a busy machine too.
        longest *= 0.95 if delta.exists() else 1.1
    kind.update(path, full=True)
    checked = kind.check(path, deep=True)
    assert checked["valid"], checked
    assert checked["fresh"], checked
    left = sorted(each.name for each in directory.iterdir())
    assert left == [path.name, index.name], left
    sys.stdout.write(f"{kills}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), KINDS[sys.argv[4]])
