"""The profile of a query, where perf cannot be used."""

import subprocess
import sys

import pytest

from benchmarks import profile_query


def test_a_profile_needs_a_query_and_a_file():
    with pytest.raises(SystemExit, match="make profile QUERY="):
        profile_query.main(["$.id"])


@pytest.mark.parametrize(
    ("tool", "reason"), [(None, "perf is missing"), ("false", "perf may not count")]
)
def test_the_reason_not_to_use_perf_is_one_line(tmp_path, monkeypatch, tool, reason):
    monkeypatch.setattr(profile_query.shutil, "which", lambda _name: tool)
    run = subprocess.run

    def failing(_line, **options):
        return run(["false"], **options)

    monkeypatch.setattr(profile_query.subprocess, "run", failing)
    said = profile_query.with_perf(["$.id"], tmp_path / "samples")
    assert said.startswith(reason)
    assert "\n" not in said


def test_a_command_runs_a_query_in_a_process_of_its_own():
    line = profile_query.command("$.id", "a.jsonl")
    module = "benchmarks.profile_query"
    assert line == [sys.executable, "-m", module, "--query", "$.id", "a.jsonl"]


def test_the_functions_of_a_report_are_its_lines_without_comments():
    line = "    80.00%  _native.so  [.] next_batch"
    report = f"# Samples: 7\n#\n\n{line}  \n\n"
    assert profile_query.functions_in(report * 2) == [line, line]
