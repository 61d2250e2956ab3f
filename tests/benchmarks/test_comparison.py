"""The table of the README shows the kept comparison, and Headrace still behaves like it."""

import json

import pytest

from benchmarks.candidate import ROOT
from benchmarks.comparison import (
    KEPT,
    ROWS,
    TOOLS,
    Seen,
    bad_line,
    bad_line_trials,
    broken,
    cell,
    late,
    late_key,
    late_key_trials,
    look,
    mixed,
    mixed_type,
    mixed_type_trials,
    table,
    without_traceback,
    write_rows,
)

RUN = json.loads(KEPT.read_text())


def test_the_readme_shows_the_kept_run():
    assert table(RUN) in (ROOT / "README.md").read_text()


def test_every_tool_took_part_in_every_case():
    seen = {(trial["case"], trial["tool"]) for trial in RUN["trials"]}
    cases = {case for case, _tool in seen}
    assert len(cases) == 6
    assert len(seen) == 5 * len(TOOLS) + 1


def kept(case):
    trials = [trial for trial in RUN["trials"] if trial["tool"] == "Headrace"]
    return {
        trial["option"]: trial["words"] for trial in trials if trial["case"] == case
    }


@pytest.mark.parametrize(
    ("case", "odd", "trials", "words"),
    [
        pytest.param("a bad line", broken, bad_line_trials, bad_line, id="a bad line"),
        pytest.param("a late key", late, late_key_trials, late_key, id="a late key"),
        pytest.param(
            "a mixed type", mixed, mixed_type_trials, mixed_type, id="a mixed type"
        ),
    ],
)
def test_headrace_behaves_as_in_the_kept_comparison(tmp_path, case, odd, trials, words):
    path = write_rows(tmp_path / "rows.jsonl", odd)
    ours = [trial for trial in trials(path) if trial.tool == "Headrace"]
    done = {trial.option: words(look(trial.candidate)) for trial in ours}
    assert done == kept(case)


@pytest.mark.parametrize(
    ("words", "answer", "message", "expected"),
    [
        (bad_line, None, "x: line 12, byte 7: bad", "stops, names line 12 and byte"),
        (bad_line, None, "error at character 3", "stops, names no line"),
        (bad_line, "9 9", "warning: 1 bad row", "9 values, and says so"),
        (bad_line, "10 9", "", "9 values, a null for the bad line, silently"),
        (late_key, '[{"at": 1}]', "", "drops it silently"),
        (late_key, f'[{{"late": {ROWS - 1}}}]', "", "keeps it"),
        (mixed_type, '[{"id": "x-17"}, {"id": "150001"}]', "", "all become strings"),
    ],
)
def test_the_text_of_a_cell_follows_from_its_observation(
    words, answer, message, expected
):
    assert words(Seen(answer, message)) == expected


def test_an_option_that_changes_nothing_is_the_same():
    runs = [{"words": "stops", "option": ""}, {"words": "stops", "option": "-x"}]
    assert cell(runs) == "stops; `-x`: the same"
    assert cell(runs[:1]) == "stops"
    assert cell([]) == "not measured"


def test_of_a_traceback_the_error_is_kept():
    trace = (
        "Traceback (most recent call last):\n  line 198\nx.SomeError: in line 7\nmore\n"
    )
    assert without_traceback(trace) == "x.SomeError: in line 7\nmore\n"
    assert without_traceback("headrace: line 3\n") == "headrace: line 3\n"
