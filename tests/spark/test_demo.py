"""The sample data and ``headrace demo``."""

import gzip
import hashlib
import os
import subprocess
import sys

import pytest

from headrace.demo.demonstration import local_steps, pipeline_steps, spark_steps
from headrace.demo.sample import LEAST_ROWS, MAX_LINE, ODD_LINES, write_sample
from headrace.errors import UsageError
from headrace.pipeline import Pipeline
from headrace.pipeline.report.report import accounts
from tests.docs.markdown import ROOT, blocks
from tests.reference.slow_rows import slow_rows

pytestmark = pytest.mark.spark


def demo(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "headrace", "demo", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | environment,
        timeout=100,
        check=False,
    )


def checked(steps):
    checks = [check for step in steps for check in step.checks]
    assert checks
    assert [check for check in checks if not check.holds] == []
    return checks


def test_the_sample_is_the_same_everywhere(tmp_path):
    sample = write_sample(tmp_path, 1000)
    digests = {
        file.path.name: hashlib.sha256(file.path.read_bytes()).hexdigest()[:16]
        for file in (sample.events, sample.customers, sample.orders)
    }
    assert digests == {
        "customers.jsonl": "6d158978e6ae267a",
        "events.jsonl": "87d33dcd8d11da10",
        "orders.jsonl": "387d3468fdf8f32d",
    }


def test_the_sample_has_the_described_rows(tmp_path):
    sample = write_sample(tmp_path, 1000)
    data = sample.events.path.read_bytes()
    assert gzip.decompress(sample.events_gzip.path.read_bytes()) == data
    assert not data.endswith(b"\n")
    assert 90 <= data.count(b"\r\n") <= 110
    lines = [content for _offset, content in slow_rows(data)]
    assert len(lines) == sample.events.lines == 1000
    assert [line for line in lines if len(line) > MAX_LINE] == [
        ODD_LINES["too long"].content
    ]
    for odd in ODD_LINES.values():
        assert odd.content in lines
    events = sample.events
    kinds = events.records + events.blank + events.bad + events.too_long
    assert kinds == events.lines


@pytest.mark.parametrize("rows", [LEAST_ROWS, 1234])
def test_a_dataset_and_spark_read_the_written_rows(spark, tmp_path, rows):
    sample = write_sample(tmp_path, rows)
    checked(local_steps(sample))
    checked(spark_steps(sample, spark))
    checked(pipeline_steps(sample, spark))


def test_the_manual_shows_the_output_of_a_run(spark, tmp_path):
    write_sample(tmp_path, 20_000)
    shown = {
        tuple(block.words): block.text for block in blocks(ROOT / "docs/pipeline.md")
    }
    (tmp_path / "events.toml").write_text(shown["text", "events.toml"])
    report = Pipeline.from_toml(tmp_path / "events.toml").run(spark=spark)
    assert accounts(report).startswith(shown[("text",)])


def test_too_few_rows_for_all_the_odd_lines(tmp_path):
    with pytest.raises(UsageError, match="at least 100 rows"):
        write_sample(tmp_path, LEAST_ROWS - 1)


def test_a_sample_replaces_only_a_sample(tmp_path):
    write_sample(tmp_path, 100)
    assert write_sample(tmp_path, 200).events.lines == 200


def test_a_foreign_directory_is_left_alone(tmp_path):
    (tmp_path / "events.jsonl").write_bytes(b"precious\n")
    with pytest.raises(UsageError, match="not a sample"):
        write_sample(tmp_path, 100)
    assert (tmp_path / "events.jsonl").read_bytes() == b"precious\n"
    assert len(list(tmp_path.iterdir())) == 1
    assert write_sample(tmp_path, 100, force=True).events.lines == 100


def test_the_command(tmp_path):
    done = demo(tmp_path / "demo", "--rows", 500, "--master", "local[2,4]")
    assert done.returncode == 0, done.stderr
    assert "events.jsonl with Spark" in done.stdout
    assert "500 lines, splits: 8" in done.stdout
    assert "500 lines, splits: 1" in done.stdout
    assert "every line is accounted for" in done.stdout
    assert (tmp_path / "demo/pipeline/report.html").exists()
    assert done.stdout.endswith("all checks hold\n")


def test_the_command_without_spark(tmp_path):
    done = demo(tmp_path, "--no-spark", JAVA_HOME="/nowhere")
    assert done.returncode == 0, done.stderr
    assert "20,000 lines" in done.stdout
    assert "Spark" not in done.stdout
    assert done.stderr == ""


def test_the_command_without_java(tmp_path):
    done = demo(tmp_path / "demo", JAVA_HOME="/nowhere")
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "JAVA_HOME=/nowhere" in line
    assert "install" in line
    assert not (tmp_path / "demo").exists()
