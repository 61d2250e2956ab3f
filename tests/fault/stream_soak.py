"""Kill a streaming query repeatedly: the set gets each record of the logs exactly once.

``python -m tests.fault.stream_soak MINUTES SEED [local]``. A process appends numbered
records to logs that rotate and are compressed; a query in other processes streams them into
a set. Its driver, its Python workers, and on a cluster its executors are killed in turn, at
random moments, and it is restarted from its checkpoint directory. In the end the set must
have all acknowledged records, each once and in the order of its log. The query runs on a
separate cluster, or with ``local`` in the driver.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import headrace
from headrace.api.shards.check import check_shards
from tests.fault.stream_parts import LOGS
from tests.spark.cluster import cluster, environment
from tests.spark.processes import kill, processes, until

LOCAL = "local[2,4]"
PATIENCE = 300
UNEXPECTED = (
    "StreamNotContinuedError",
    "StreamReplacedError",
    "StreamLossError",
    "BadSetError",
    "LogDamagedError",
    "AssertionError",
)
"""Errors that no kill may cause: with these, a record was lost or doubled."""

MARKS = {"worker": b"pyspark.daemon", "executor": b"ExecutorBackend"}
"""Marks in the command lines of the processes to kill besides the driver."""


def program(*arguments, **options):
    """Start one of the programs of `stream_parts`, in a new session."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.fault.stream_parts", *map(str, arguments)],
        env=environment(),
        start_new_session=True,
        **options,
    )


class Soak:
    """A query with its directories; it can be restarted after any kill."""

    def __init__(self, directory, master, seed):
        self.directory = directory
        self.out = directory / "out"
        self.master = master
        self.chance = random.Random(seed)
        self.kinds = ["worker", "driver"]
        if master != LOCAL:
            self.kinds.insert(0, "executor")
        self.killed = Counter()
        self.starts = 0
        self.query = None

    def start(self, *now):
        self.starts += 1
        self.log = self.directory / f"query-{self.starts}.log"
        places = (self.directory / "logs", self.out, self.directory / "checkpoint")
        with self.log.open("wb") as said:
            self.query = program(
                "query", self.master, *places, *now, stdout=said, stderr=said
            )

    def stop(self):
        """Kill all processes of the driver, as if its machine had died."""
        if self.query is not None:
            kill(self.query.pid)
            self.query.wait()
            self.query = None
            self.look_for_what_must_not_be()

    def look_for_what_must_not_be(self):
        said = self.log.read_text(errors="replace")
        for name in UNEXPECTED:
            assert f"{name}: " not in said, said[-20_000:]

    def newest(self):
        return max(
            (each.name for each in self.out.glob("rows.meta-*.json")), default=""
        )

    def wait_at_random(self):
        """Mostly wait for some progress: early kills matter as well."""
        before = self.newest()
        if self.chance.random() < 0.8:
            until(lambda: self.newest() > before or self.over(), PATIENCE)
            time.sleep(self.chance.uniform(0, 3))
        else:
            time.sleep(self.chance.uniform(0, 15))

    def over(self):
        return self.query is None or self.query.poll() is not None

    def strike(self):
        """Kill the next kind of process, if it exists: a new query has no workers yet."""
        kind = self.kinds[self.killed.total() % len(self.kinds)]
        if kind == "driver":
            self.stop()
        else:
            until(lambda: self.over() or self.there(kind), PATIENCE)
            if self.over():
                return
            os.kill(self.chance.choice(self.there(kind)), signal.SIGKILL)
        self.killed[kind] += 1

    def there(self, kind):
        """Return the processes of a kind."""
        return sorted(
            pid
            for session in self.sessions()
            for pid, called in processes(session).items()
            if MARKS[kind] in called
        )

    def sessions(self):
        """Return the sessions of the driver and of the workers of the cluster."""
        found = {self.query.pid}
        for called in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(FileNotFoundError, ProcessLookupError):
                content = called.read_bytes()
                if (
                    b"deploy.worker.Worker" in content
                    and self.master.encode() in content
                ):
                    found.add(os.getsid(int(called.parent.name)))
        return found

    def run(self, minutes):
        """Kill and restart for some minutes, and each kind at least once."""
        deadline = time.monotonic() + 60 * minutes
        while time.monotonic() < deadline or len(self.killed) < len(self.kinds):
            if self.over():
                # The query ends when the process that plans its batches was killed.
                self.stop()
                self.start()
            self.wait_at_random()
            if not self.over():
                self.strike()
        self.stop()

    def finish(self):
        """Let the query read the rest, without kills."""
        self.start("now")
        done = self.query.wait(PATIENCE)
        said = self.log.read_text(errors="replace")
        self.stop()
        assert done == 0, said[-20_000:]


@contextmanager
def master_of(kind, directory):
    if kind == "local":
        yield LOCAL
    else:
        with cluster(directory) as url:
            yield url


def compare(soak, acknowledged):
    """Raise unless the set has each record once, and in order; return their number."""
    shards = headrace.ShardSet(soak.out)
    assert not any(found.faults for found in check_shards(shards))
    found = {name: [] for name in LOGS}
    for row in headrace.open(soak.out):
        found[row["log"]].append(row["n"])
    for name, numbers in found.items():
        lines = headrace.Log(soak.directory / "logs" / name)
        assert numbers == [record["n"] for record in lines], name
        assert numbers == list(range(len(numbers))), name
        assert len(numbers) >= acknowledged, (name, len(numbers), acknowledged)
    return shards.metadata


def soak(minutes, seed, kind="cluster"):
    with tempfile.TemporaryDirectory(prefix="stream-soak-") as place:
        directory = Path(place)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        writer = program("write", directory / "logs", **pipes)
        soaked = None
        try:
            with master_of(kind, directory) as master:
                soaked = Soak(directory, master, seed)
                try:
                    until((directory / "logs" / LOGS[-1] / "manifest.json").exists)
                    soaked.run(minutes)
                    output, _ = writer.communicate()
                    soaked.finish()
                finally:
                    soaked.stop()
            acknowledged = int(output.split()[-1])
            metadata = compare(soaked, acknowledged)
        finally:
            writer.kill()
            writer.wait()
    killed = ", ".join(
        f"{kind} {count}" for kind, count in sorted(soaked.killed.items())
    )
    return (
        f"{metadata.total_records} records of {len(LOGS)} logs in {metadata.generation} batches, "
        f"each once and in order; killed: {killed}; started {soaked.starts} times"
    )


if __name__ == "__main__":
    minutes, seed, *kind = sys.argv[1:]
    sys.stdout.write(soak(float(minutes), int(seed), *kind) + "\n")
