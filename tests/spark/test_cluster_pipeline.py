"""A pipeline on a real cluster that loses an executor in every job: each row once."""

import json
import sys
from hashlib import sha256

import pytest

import headrace
from headrace.pipeline.run import job, runner

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform == "win32", reason="spark-class is a shell script"),
]

ROWS = 4000

PIPELINE = """
name = "events"
directory = "out"
[source]
paths = "raw"
partition_bytes = "64KiB"
[[stage]]
kind = "validate"
types = { id = "integer" }
[[stage]]
kind = "dedupe"
key = "id"
[[stage]]
kind = "sort"
by = "word"
"""


def run(context, path):
    """Run a pipeline, and kill an executor in each job; return the report."""
    done = []

    class Job(job.PassJob):
        def run(self, *arguments):
            context.sabotage.give("executor")
            try:
                return super().run(*arguments)
            finally:
                done.append(context.sabotage.done())

    context.patch.setattr(runner, "PassJob", Job)
    report = headrace.Pipeline.from_toml(path).run(spark=context.spark)
    return done, report.adds_up, [each.tasks for each in report.passes]


def test_each_row_is_there_once_though_an_executor_dies_in_each_job(driver, tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "events.toml").write_text(PIPELINE)
    rows = [
        # Incompressible rows, so that each pass has several tasks.
        {"id": n, "word": "né" * (n * 7 % 50), "x": sha256(b"%d" % n).hexdigest()}
        for n in range(ROWS)
    ]
    for name in "ab":
        lines = [json.dumps(row) for row in rows]
        lines[ROWS // 2 : ROWS // 2] = ['{"id": "x"}', "bad"]
        (tmp_path / "raw" / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    done, adds_up, tasks = driver(run, tmp_path / "events.toml")
    assert (done, adds_up) == ([1, 1, 1], True)
    assert min(tasks) > 2
    found = headrace.open(tmp_path / "out/result").query("$").to_list()
    assert found == sorted(rows, key=lambda row: row["word"])
    bad = headrace.open(tmp_path / "out/quarantine").query("[line, raw]").to_list()
    middle = ROWS // 2 + 1
    assert bad == [[middle, '{"id": "x"}'], [middle + 1, "bad"]] * 2
    assert list((tmp_path / "out").rglob(".*")) == []
