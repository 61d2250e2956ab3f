"""Kill runs of a pipeline at random moments: in the end the output has each row once.

Run as ``python kill_pipelines.py DIRECTORY KILLS SEED``, as a separate process because it
forks. Files are added, changed, extended and removed between runs. Tasks run in the child
itself, and Python deduplicates rows there, so that no run starts Spark.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import headrace
from headrace.engines.spark.shuffle.row_moves import MoveResult
from headrace.pipeline import Dedupe, Pipeline, Source, Transform, Validate
from headrace.pipeline.plan.passes import passes
from headrace.pipeline.run import job as jobs
from headrace.pipeline.run.session import Session
from headrace.pipeline.state.layout import Layout


def run_each(_session, do, count, tell=None):
    return [do(task) for task in range(count)]


def move(_setting, _stage, job, names, chosen, _read, _tell):
    """Keep the first row of each id that the set does not have yet."""
    seen = set()
    if not job.overwrite:
        seen.update(headrace.open(names.directory).query("id").to_list())
    read = 0
    with job.attempt(0) as written:
        for _input, source in chosen:
            for row in headrace.open(source.location):
                read += 1
                if row["id"] not in seen:
                    seen.add(row["id"])
                    written.write(row)
        return [MoveResult(written.close(), read, written.records, written.records)]


def pipeline(directory):
    return Pipeline(
        "events",
        "out",
        Source("raw", partition_bytes=200, batch_bytes=600),
        [Validate(required=["id"]), Dedupe("id"), Transform("{id, file}")],
        base=str(directory),
    )


def change(directory, chance, number):
    """Add, change, extend or remove a file; at least one remains."""
    files = sorted((directory / "raw").glob("*.jsonl"))
    kind = chance.random()
    if len(files) > 3 and kind < 0.1:
        chance.choice(files).unlink()
        return
    name = f"{number:04}.jsonl"
    path = chance.choice(files) if files and kind < 0.2 else directory / "raw" / name
    rows = [json.dumps({"id": chance.randrange(100), "file": name}) for _ in range(20)]
    rows += ["bad", "{}"]
    chance.shuffle(rows)
    grows = files and kind > 0.8
    with (chance.choice(files) if grows else path).open("a" if grows else "w") as file:
        file.write("\n".join(rows) + "\n")


def expected(directory):
    """Return the ids of the expected output, and the number of rejected lines."""
    ids, bad = set(), 0
    for path in (directory / "raw").glob("*.jsonl"):
        for line in path.read_text().splitlines():
            row = {} if line == "bad" else json.loads(line)
            ids.update([row["id"]] if row else [])
            bad += not row
    return ids, bad


def killed_after(directory, seconds):
    """Run the pipeline in a child, and kill it; return whether it had ended."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            pipeline(directory).run()
            code = 0
        finally:
            os._exit(code)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    _pid, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, status
    return not os.WIFSIGNALED(status)


def check(directory):
    """Raise unless the committed state is whole."""
    made = pipeline(directory)
    place = Layout(made)
    for one in passes(made):
        found = place.current(one, made)
        if found is None:
            continue
        metadata, ledger = found
        counts = list(ledger.counts().values())
        assert all(count.add_up for count in counts)
        assert counts[-1].written == metadata.total_records
        rows = headrace.open(place.names(one).directory).query("id").to_list()
        assert len(rows) == metadata.total_records
        for job in ledger.jobs:
            for file in job.quarantine:
                lines = headrace.open(place.quarantine / file.name).count()
                assert lines == file.records


def main(directory, kills, seed):
    Session.run_each = run_each
    jobs.move = move
    (directory / "raw").mkdir()
    chance = random.Random(seed)
    change(directory, chance, 0)
    began = time.monotonic()
    pipeline(directory).run()
    longest = 3 * (time.monotonic() - began)
    for number in range(1, kills + 1):
        if chance.random() < 0.6:
            change(directory, chance, number)
        done = killed_after(directory, longest * chance.random())
        check(directory)
        # About as many should end as not, on a busy machine too.
        longest *= 0.9 if done else 1.1
        if number % 5 == 0:
            report = pipeline(directory).run()
            ids, bad = expected(directory)
            place = Layout(pipeline(directory))
            found = headrace.open(place.result).query("id").to_list()
            assert report.adds_up
            assert (sorted(found), report.quarantine.rows) == (sorted(ids), bad)
            files = sorted(place.quarantine.glob("*.jsonl.zst"))
            assert headrace.open(files).count() == bad
            hidden = list(place.root.rglob(".*"))
            assert {path.name for path in hidden} <= {".rows.superseded"}, hidden
    sys.stdout.write(f"{kills}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
