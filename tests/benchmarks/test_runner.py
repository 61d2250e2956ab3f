"""Candidates are timed only after all agree, and the figures are right."""

import platform
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.candidate import (
    ROOT,
    AtLeast,
    AtMost,
    AtMostAbove,
    AtMostTimes,
    Benchmark,
    Overview,
    Question,
    Ref,
    probe,
    program,
)
from benchmarks.figures import (
    Summary,
    difference,
    ratio,
    summary,
    throughput,
    throughput_ratio,
    verdict,
)
from benchmarks.machine import facts
from benchmarks.probe import Meter, Outcome
from benchmarks.report import record, render, render_run
from benchmarks.runner import (
    CandidateFailedError,
    DisagreementError,
    Result,
    Run,
    run,
    run_once,
)
from benchmarks.table import SUITES

MB = 1_000_000


def shell(name, script, *words):
    return program(name, "sh", "-c", script, name, *words)


def asking(*candidates):
    return Benchmark("made up", "For the tests.", (Question("how many", candidates),))


def made_up(question_sizes, **times):
    """Return a result with these times of candidates, called `question__name`."""
    refs = {Ref(*name.split("__")): found for name, found in times.items()}
    questions = tuple(Question(label, (), s) for label, s in question_sizes.items())
    runs = {
        ref: tuple(
            Run(1, {"time": value, "cpu": value, "peak_rss": value * MB}, 0)
            for value in found
        )
        for ref, found in refs.items()
    }
    return Result(Benchmark("made up", "", questions), runs, {})


def answer_and_read(size):
    with Meter() as meter, Path("/dev/zero").open("rb", buffering=0) as file:
        file.read(size)
    return Outcome(size, meter.figures)


def test_candidates_that_disagree_are_not_timed(tmp_path):
    log = tmp_path / "log"
    script = 'echo "$0" >>"$1"; echo "$2"'
    benchmark = asking(shell("a", script, log, 3), shell("b", script, log, 4))
    with pytest.raises(DisagreementError) as caught:
        run(benchmark, rounds=5)
    assert "a: 3" in str(caught.value)
    assert "b: 4" in str(caught.value)
    assert log.read_text().split() == ["a", "b"]


def test_an_answer_that_changes_later_is_refused(tmp_path):
    count = 'echo >>"$1"; wc -l <"$1"'
    with pytest.raises(DisagreementError, match="a later one: 2"):
        run(asking(shell("a", count, tmp_path / "log")), rounds=1)


def test_different_questions_may_have_different_answers():
    questions = (
        Question("one", (program("a", "echo", 1), program("b", "echo", 1))),
        Question("two", (program("a", "echo", 2),)),
    )
    result = run(Benchmark("made up", "", questions), rounds=2)
    assert {ref: len(runs) for ref, runs in result.runs.items()} == {
        Ref("one", "a"): 2,
        Ref("one", "b"): 2,
        Ref("two", "a"): 2,
    }


def test_rounds_interleave_the_candidates(tmp_path):
    log = tmp_path / "log"
    script = 'echo "$0" >>"$1"; echo 7'
    run(asking(*(shell(name, script, log) for name in "abc")), rounds=2)
    assert log.read_text().split() == list("abc" * 3)


def test_a_missing_program_is_left_out_and_reported():
    there, absent = program("there", "echo", 1), program("gone", "no-such-program", 1)
    no_module = probe("no module", answer_and_read, 1, modules=("no_such_module",))
    result = run(asking(absent, there, no_module), rounds=1)
    assert list(result.runs) == [Ref("how many", "there")]
    text = render(result)
    assert "Left out: gone (no-such-program is not installed)." in text
    assert "Left out: no module (no_such_module is not installed)." in text


def test_a_candidate_that_fails_ends_the_measuring():
    with pytest.raises(
        CandidateFailedError, match=r"a: ended with exit code 3\nno luck"
    ):
        run(asking(shell("a", "echo no luck >&2; exit 3")), rounds=1)


def test_the_error_of_a_killed_candidate_names_the_signal():
    with pytest.raises(CandidateFailedError, match="a: ended with SIGKILL"):
        run(asking(shell("a", "kill -9 $$")), rounds=1)


def test_an_answer_that_cannot_be_read_is_a_failure():
    with pytest.raises(CandidateFailedError, match="a: ended with exit code 0"):
        run(asking(program("a", "echo", "not a number")), rounds=1)


def test_a_run_knows_its_time_its_cpu_and_its_peak():
    script = "import time; b = bytes(range(256)) * 400_000; time.sleep(0.2); print(1)"
    figures = run_once(program("a", sys.executable, "-c", script)).figures
    assert 0.2 < figures["time"] < 20
    assert 0 < figures["cpu"] < figures["time"] + 1
    assert 100 * MB < figures["peak_rss"] < 200 * MB


def test_a_candidate_keeps_its_compiled_modules(monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    script = "import sys; print(int(sys.dont_write_bytecode))"
    assert run_once(program("a", sys.executable, "-c", script)).answer == 0


def test_the_peak_of_a_small_program_is_not_that_of_the_runner():
    ballast = b"x" * (200 * MB)
    measured = run_once(program("a", "echo", 1))
    assert measured.figures["peak_rss"] < 50 * MB
    assert measured.floor < 50 * MB
    assert ballast


def test_figures_of_a_probe_replace_those_of_its_process():
    candidate = probe("a", answer_and_read, 5 * MB)
    assert candidate.argv[-2] == f"{__name__}:answer_and_read"
    figures = answer_and_read(5 * MB).figures
    assert 0 < figures["time"] < 5
    assert 5 * MB <= figures.get("bytes_read", 5 * MB) < 6 * MB
    done = run_once(probe("a", Outcome, 5))
    assert done.answer == 5


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([2.0], Summary(2.0, 2.0, 2.0, 2.0, 2.0), id="one"),
        pytest.param([3.0, 1.0], Summary(2.0, 1.0, 1.5, 2.5, 3.0), id="two"),
        pytest.param(
            [9.0, 1.0, 5.0, 3.0, 7.0], Summary(5.0, 1.0, 3.0, 7.0, 9.0), id="five"
        ),
    ],
)
def test_summary(values, expected):
    assert summary(values) == expected


def test_a_ratio_is_the_median_over_the_rounds():
    # The medians are 2 and 4, but in no round was b twice as slow.
    result = made_up({"q": None}, q__a=[1, 2, 6], q__b=[3, 4, 18])
    assert ratio(result, Ref("q", "a"), Ref("q", "b"), "time") == 3
    assert difference(result, Ref("q", "b"), Ref("q", "a"), "time") == 2


def test_throughput_is_per_byte():
    result = made_up({"big": 100 * MB, "small": 10 * MB}, big__a=[2], small__b=[1])
    assert throughput(result, Ref("big", "a")) == 50
    assert throughput_ratio(result, Ref("big", "a"), Ref("small", "b")) == 5


A, B, GONE = Ref("q", "a"), Ref("q", "b"), Ref("q", "gone")


@pytest.mark.parametrize(
    ("target", "figure", "met"),
    [
        pytest.param(AtLeast(A, B, 1.9), 2, True, id="fast enough"),
        pytest.param(AtLeast(A, B, 2.1), 2, False, id="too slow"),
        pytest.param(AtLeast(A, GONE, 0.1), None, None, id="nothing to compare with"),
        pytest.param(AtMost(A, "time", 3), 3, True, id="within the limit"),
        pytest.param(AtMost(A, "time", 2.9), 3, False, id="over the limit"),
        pytest.param(AtMost(A, "bytes_read", 9), None, None, id="not counted here"),
        pytest.param(AtMostAbove(B, A, "cpu", 3), 3, True, id="within the allowance"),
        pytest.param(AtMostAbove(B, A, "cpu", 2), 3, False, id="over the allowance"),
        pytest.param(AtMostTimes(B, A, "peak_rss", 2), 2, True, id="grew no more"),
        pytest.param(AtMostTimes(B, A, "peak_rss", 1.9), 2, False, id="grew more"),
    ],
)
def test_verdict(target, figure, met):
    held = verdict(made_up({"q": None}, q__a=[3, 3], q__b=[6, 6]), target)
    assert (held.figure, held.met) == (figure, met)


def test_a_target_that_is_not_met_is_shouted():
    question = Question("how many", (program("a", "echo", 1),), MB)
    target = AtMost(Ref("how many", "a"), "time", 0)
    text = render(run(Benchmark("made up", "", (question,), targets=(target,)), 1))
    assert "time at most 0 us; measured" in text
    assert "**NOT met**" in text


def test_an_overview_has_a_row_for_each_question_and_its_goals():
    one, other = shell("a", "echo 1"), shell("b", "echo 1")
    questions = (
        Question("both", (one, other)),
        Question("only a", (one,)),
        Question("a, with a goal", (one, program("gone", "no-such-program"))),
    )
    goals = (
        AtMost(Ref("a, with a goal", "a"), "cpu", 0),
        AtMostTimes(Ref("both", "a"), Ref("both", "b"), "cpu", 1e6),
        AtMost(Ref("both", "b"), "time", 1e6),
    )
    benchmark = Benchmark(
        "made up",
        "For the tests.",
        questions,
        targets=goals,
        overviews=(Overview("cpu", ("a", "b")),),
    )
    lines = render(run(benchmark, 1)).splitlines()
    header, _rule, both, with_goal = lines[4:8]
    assert header.split() == ["|", "CPU", "time", "|", "a", "|", "b", "|", "goals", "|"]
    assert both.startswith("| both ")
    assert "1e+06x b: **met**" in both
    assert with_goal.startswith("| a, with a goal ")
    assert "0 us: **NOT met**" in with_goal
    assert " - |" in with_goal
    listed = [line for line in lines if line.startswith("- `")]
    assert len(listed) == 1
    assert "time at most" in listed[0]


def test_a_record_contains_no_path_and_no_host_name():
    script = "print(1)"
    here = program("a", sys.executable, "-c", script, ROOT / "pyproject.toml")
    result = run(asking(here, program("gone", "/opt/no/such/program")), rounds=2)
    machine = facts()
    text = str(record(result)) + render_run([result], {"size": 1}, machine)
    assert str(ROOT) not in text
    assert "/opt" not in text
    assert platform.node() not in text.split()
    assert machine["cores"]


def test_suites_have_names_of_their_own():
    names = [suite.name for suite in SUITES]
    assert len(set(names)) == len(names) > 0
    assert all(suite.doc.endswith(".") for suite in SUITES)


def test_a_size_that_cannot_be_read_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--size", "much"])
    assert "not a size: 'much'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["../elsewhere", "a/b", ".hidden"])
def test_a_run_is_kept_in_its_folder_only(name, capsys):
    with pytest.raises(SystemExit):
        main(["--save", name])
    assert "is not a plain file name" in capsys.readouterr().err
