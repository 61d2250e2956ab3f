"""``headrace pipeline``: output, messages and exit codes."""

import json

import pytest

from headrace.cli.console import PATIENCE
from headrace.pipeline.run.session import Session

PIPELINE = """
name = "events"
directory = "out"
[source]
paths = "raw.jsonl"
[[stage]]
kind = "validate"
required = ["id"]
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A pipeline with its input; its tasks run in this process."""
    monkeypatch.setattr(
        Session,
        "run_each",
        lambda _session, do, count, tell=None: [do(task) for task in range(count)],
    )
    (tmp_path / "events.toml").write_text(PIPELINE)
    (tmp_path / "raw.jsonl").write_text('{"id": 1}\n\n{"x": 2}\nbad\n')
    return tmp_path


def test_a_run_prints_the_metadata_file_and_the_account_of_rows(headrace, files):
    done = headrace("pipeline", "run", "events.toml")
    assert done.code == 0, done.err
    path = files / "out/result/rows.meta-00000001.json"
    assert done.out.decode() == f"{path}\n"
    said = done.err.splitlines()
    assert said.pop(0) == "headrace: pass 1 of 1, validate"
    assert said[0] == "headrace: pass 1 (validate): made, for the first time"
    assert said[1] == "headrace: 1 row in 1 file: 10 B as 48 B"
    assert said[2].split() == ["stage", "read", "blank", "rejected", "filtered", "kept", "written"]  # fmt: skip
    assert said[3].split() == ["validate", "4", "1", "2", "0", "1", "1"]
    assert "2 rejected rows are in" in said[4]
    assert said[-1] == f"every line is accounted for; report: {files}/out/report.html"
    assert headrace("shard", "check", "out/result").code == 0
    again = headrace("pipeline", "run", "events.toml")
    assert again.out == done.out
    assert "pass 1 (validate): up to date\n" in again.err
    fresh = headrace("pipeline", "run", "events.toml", "--fresh")
    assert fresh.out.decode().endswith("rows.meta-00000002.json\n")


def test_a_run_can_be_read_by_a_program(headrace, files):
    done = headrace("pipeline", "run", "events.toml", "--progress", "--events", "json")
    begun, passed, written, accounts = done.events
    assert (begun["event"], begun["title"]) == ("begun", "validate")
    assert (passed["event"], passed["status"], passed["rows"]) == ("pass", "made", 1)
    assert (written["event"], written["records"]) == ("written", 1)
    assert accounts["adds_up"] is True
    assert accounts["stages"] == [
        {
            "stage": "validate",
            "read": 4,
            "blank": 1,
            "rejected": 2,
            "filtered": 0,
            "kept": 1,
            "written": 1,
        }
    ]
    report = json.loads((files / "out/report.json").read_text())
    assert (report["run"], report["adds_up"]) == (1, True)
    assert report["result"]["rows"] == 1
    assert (files / "out/reports/000001.json").read_text() == (
        files / "out/report.json"
    ).read_text()


def test_quiet_prints_only_the_account(headrace, files):
    done = headrace("pipeline", "run", "events.toml", "--quiet")
    assert done.err.startswith("stage")


def test_explain_prints_the_passes_and_writes_nothing(headrace, files):
    done = headrace("pipeline", "explain", "events.toml")
    assert done.code == 0
    assert "├─ validate: rows are JSON, have id\n" in done.out.decode()
    assert not (files / "out").exists()


def test_init_writes_a_pipeline_that_can_be_explained(headrace, files):
    done = headrace("pipeline", "init", "my events.toml")
    assert (done.code, done.out) == (0, b"my events.toml\n")
    text = (files / "my events.toml").read_text()
    assert 'name = "my-events"' in text
    (files / "raw").mkdir()
    (files / "raw/a.jsonl").write_text("{}\n")
    assert headrace("pipeline", "explain", "my events.toml").code == 0
    again = headrace("pipeline", "init", "my events.toml")
    assert again.code == 2
    assert "is there already" in again.err
    assert (files / "my events.toml").read_text() == text
    assert b"[[stage]]" in headrace("pipeline", "init", "-").out
    assert headrace("pipeline", "init", "nowhere/a.toml").code == 1


@pytest.mark.parametrize("command", ["run", "explain"])
@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (("required", "requires"), 2, "events.toml: stage 1 (validate): there is no"),
        (("raw.jsonl", "gone.jsonl"), 1, "gone.jsonl"),
        (('"events"', "7"), 2, "events.toml: name is 7; must be a text"),
    ],
)
def test_mistakes_in_a_pipeline_are_reported(
    headrace, files, command, change, code, said
):
    (files / "events.toml").write_text(PIPELINE.replace(*change))
    done = headrace("pipeline", command, "events.toml")
    assert (done.code, done.out) == (code, b"")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_a_long_run_shows_how_far_it_is(headrace, files, monkeypatch):
    def slow(_session, do, count, tell=None):
        if tell is not None:
            import time

            time.sleep(PATIENCE + 0.1)
            tell(0, count)
        return [do(task) for task in range(count)]

    monkeypatch.setattr(Session, "run_each", slow)
    done = headrace("pipeline", "run", "events.toml", "--progress", "--events", "json")
    shown = [event for event in done.events if event["event"] == "progress"]
    assert [(event["done"], event["total"]) for event in shown] == [(0, 1)]
