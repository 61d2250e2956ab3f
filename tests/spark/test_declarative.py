"""examples/declarative: our source in a Spark Declarative Pipeline."""

import importlib.util
import shutil
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from tests.spark.cluster import ROOT, SPARK_HOME, environment

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(400),
    pytest.mark.skipif(sys.platform == "win32", reason="it is a shell script"),
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("grpc", "yaml")),
        reason="needs pyspark[pipelines]",
    ),
]


def test_the_example_runs(tmp_path):
    place = tmp_path / "declarative"
    shutil.copytree(ROOT / "examples/declarative", place)
    spec = place / "spark-pipeline.yml"
    said = spec.read_text()
    assert said.count("/data/") == 2
    spec.write_text(said.replace("/data/", f"{tmp_path}/"))
    (tmp_path / "events").mkdir()
    (tmp_path / "events/a.jsonl").write_text(
        '{"id": 1, "level": "info", "ms": 1.5}\n'
        '{"id": 2, "level": "error", "ms": 2}\n'
        "bad\n"
        '{"id": 3, "level": "info", "_line": 7}\n'
    )
    run = [SPARK_HOME / "bin" / "spark-pipelines", "run", "--spec", spec]
    run += ["--conf", f"spark.sql.warehouse.dir={tmp_path / 'warehouse'}"]
    run += ["--conf", "spark.ui.enabled=false"]
    done = subprocess.run(
        run,
        capture_output=True,
        encoding="utf-8",
        env=environment() | {"SPARK_HOME": str(SPARK_HOME)},
        cwd=tmp_path,
        check=False,
    )
    assert "Run is COMPLETED" in done.stdout + done.stderr, done.stderr
    assert done.returncode == 0

    def rows(table):
        return pq.read_table(tmp_path / "warehouse" / table).to_pylist()

    path = str(tmp_path / "events/a.jsonl")
    events = sorted(rows("events"), key=lambda row: row["_line"])
    assert [list(row.values()) for row in events] == [
        [1, "info", 1.5, path, 1],
        [2, "error", 2.0, path, 2],
        [3, "info", None, path, 4],
    ]
    levels = {row["level"]: row["events"] for row in rows("levels")}
    assert levels == {"info": 2, "error": 1}
