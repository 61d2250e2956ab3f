"""examples/declarative: our source and our sink in a Spark Declarative Pipeline."""

import importlib.util
import shutil
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

import headrace
from tests.spark.cluster import SPARK_HOME, environment
from tests.stores import ROOT

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
    assert said.count("/data/") == 3
    spec.write_text(said.replace("/data/", f"{tmp_path}/"))
    (tmp_path / "events").mkdir()
    (tmp_path / "events/a.jsonl").write_text(
        '{"id": 1, "level": "info", "ms": 1.5}\n'
        '{"id": 2, "level": "error", "ms": 2}\n'
        "bad\n"
        '{"id": 3, "level": "info", "_line": 7}\n'
    )
    run(tmp_path, spec)
    path = str(tmp_path / "events/a.jsonl")
    assert [list(row.values()) for row in table(tmp_path, "events", "_line")] == [
        [1, "info", 1.5, path, 1],
        [2, "error", 2.0, path, 2],
        [3, "info", None, path, 4],
    ]
    levels = table(tmp_path, "levels", "level")
    assert levels == [
        {"level": "error", "events": 1},
        {"level": "info", "events": 2},
    ]
    # A streaming table has the lines of the file unchanged, bad ones too.
    lines = [row["_raw"] for row in table(tmp_path, "seen", "_offset")]
    assert lines == (tmp_path / "events/a.jsonl").read_bytes().splitlines()
    errors = list(headrace.open(tmp_path / "errors"))
    assert errors == [{"id": 2, "level": "error", "ms": 2.0}]


def run(directory, spec):
    """Run the pipeline to its end."""
    command = [SPARK_HOME / "bin" / "spark-pipelines", "run", "--spec", spec]
    command += ["--conf", f"spark.sql.warehouse.dir={directory / 'warehouse'}"]
    command += ["--conf", "spark.ui.enabled=false"]
    done = subprocess.run(
        command,
        capture_output=True,
        encoding="utf-8",
        env=environment() | {"SPARK_HOME": str(SPARK_HOME)},
        cwd=directory,
        check=False,
    )
    said = done.stdout + done.stderr
    assert "Run is COMPLETED" in said, said
    assert done.returncode == 0


def table(directory, name, *order):
    """Return the rows of a table, by these columns."""
    rows = pq.read_table(directory / "warehouse" / name).to_pylist()
    return sorted(rows, key=lambda row: [row[column] for column in order])
