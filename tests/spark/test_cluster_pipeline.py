"""A pipeline on a real cluster, of which an executor dies in every job: each row once."""

import json
import sys
from hashlib import sha256

import pytest

import headrace
from tests.spark.cluster import SETTINGS, cluster, run_driver

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

DRIVER = f"""
import json, sys
import headrace, headrace.spark
from headrace.pipeline import jobs
from tests.spark.sabotage import VARIABLE, Sabotage

master, path, directory = sys.argv[1:]
sabotage = Sabotage(directory)
sabotage.give("nothing")
spark = headrace.spark.session(master, **{SETTINGS}, **{{
    "spark.python.daemon.module": "tests.spark.sabotage",
    "spark.executorEnv." + VARIABLE: directory,
    "spark.python.worker.reuse": False,
    "spark.sql.shuffle.partitions": 2,
}})
done = []

class Job(jobs.PassJob):
    def run(self, *arguments):
        sabotage.give("executor")
        try:
            return super().run(*arguments)
        finally:
            done.append(sabotage.done())

import headrace.pipeline.running
headrace.pipeline.running.PassJob = Job
report = headrace.Pipeline.from_toml(path).run(spark=spark)
print(json.dumps([done, report.adds_up, [each.tasks for each in report.passes]]))
spark.stop()
"""


def test_each_row_is_there_once_though_an_executor_dies_in_each_job(tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "events.toml").write_text(PIPELINE)
    rows = [
        # What cannot be compressed, so that there are several tasks in each pass.
        {"id": n, "word": "né" * (n * 7 % 50), "x": sha256(b"%d" % n).hexdigest()}
        for n in range(ROWS)
    ]
    for name in "ab":
        lines = [json.dumps(row) for row in rows]
        lines[ROWS // 2 : ROWS // 2] = ['{"id": "x"}', "bad"]
        (tmp_path / "raw" / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    with cluster(tmp_path) as master:
        printed = run_driver(
            DRIVER, master, str(tmp_path / "events.toml"), str(tmp_path)
        )
    done, adds_up, tasks = json.loads(printed.splitlines()[-1])
    assert (done, adds_up) == ([1, 1, 1], True)
    assert min(tasks) > 2
    found = headrace.open(tmp_path / "out/result").query("$").to_list()
    assert found == sorted(rows, key=lambda row: row["word"])
    bad = headrace.open(tmp_path / "out/quarantine").query("[line, raw]").to_list()
    middle = ROWS // 2 + 1
    assert bad == [[middle, '{"id": "x"}'], [middle + 1, "bad"]] * 2
    assert list((tmp_path / "out").rglob(".*")) == []
