"""Every candidate of the suite `engine` answers the same query, and answers it rightly."""

import json
from collections import Counter, defaultdict
from importlib import import_module

import pytest

from benchmarks import engines, tools
from benchmarks.answers import answer
from benchmarks.candidate import Ref
from benchmarks.generate import Extent, data_file
from benchmarks.rows import USERS
from benchmarks.runner import run_once
from benchmarks.suite import Settings
from benchmarks.suites import engine, linear

PROGRAMS = engine.Programs(
    tools.program("qj"), tools.program("rg"), tools.SIMDJSON_WALK
)
ROWS = {
    "events": 3000,
    "fewer events": 1000,
    "users": USERS,
    "wide": 400,
    "tweets": 200,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    return {
        name: data_file(name.rpartition(" ")[2], Extent(rows, "rows"), folder=folder)
        for name, rows in ROWS.items()
    }


@pytest.fixture(autouse=True)
def _written_elsewhere(monkeypatch, tmp_path):
    def elsewhere(*wanted):
        return data_file(*wanted, folder=tmp_path)

    monkeypatch.setattr(engine, "WRITTEN", tmp_path / "engine.out")
    monkeypatch.setattr(engine, "data_file", elsewhere)
    monkeypatch.setattr(engines, "data_file", elsewhere)
    monkeypatch.setenv("POLARS_MAX_THREADS", "1")


def answer_of(candidate):
    """The answer of a candidate; a function runs in this process."""
    if candidate.argv[1:3] != ("-m", "benchmarks.probe"):
        return run_once(candidate).answer
    where, arguments = candidate.argv[3:]
    module, _, name = where.partition(":")
    outcome = getattr(import_module(module), name)(*json.loads(arguments))
    assert outcome.figures["cpu"] > 0
    record = {"answer": outcome.answer, "figures": outcome.figures}
    return candidate.outcome(json.dumps(record).encode()).answer


def grouped(rows, key, *aggregates):
    groups = defaultdict(list)
    for row in rows:
        groups[row[key]].append(row["ms"])
    reduced = {"n": len, "total": sum}
    return [
        {key: value} | {name: reduced[name](found) for name in aggregates}
        for value, found in groups.items()
    ]


def joined(rows, others):
    users = {each["user"]: each for each in others}
    return [row | users[row["user"]] for row in rows]


def by_trace(rows):
    return sorted(rows, key=lambda row: row["trace"])


SLOWLY = {
    "one field, narrow": lambda rows: [row["id"] for row in rows],
    "1 % of the rows, narrow": lambda rows: [r for r in rows if r["level"] == "fatal"],
    "0.002 % of the rows, narrow": lambda rows: [
        row for row in rows if row["level"] == "panic"
    ],
    "objects of 3 fields, narrow": lambda rows: [
        {key: row[key] for key in ("id", "user", "ms")} for row in rows
    ],
    "sum, narrow": lambda rows: [sum(row["ms"] for row in rows)],
    "count by 7 groups, narrow": lambda rows: grouped(rows, "country", "n"),
    "count and sum by 7 groups, narrow": lambda rows: grouped(
        rows, "country", "n", "total"
    ),
    "count and sum by 54,000 groups, narrow": lambda rows: grouped(
        rows, "user", "n", "total"
    ),
    "top 10, narrow": lambda rows: by_trace(rows)[:-11:-1],
    "full sort, fewer narrow": by_trace,
    "join with 54,000 rows, fewer narrow": joined,
    "one field, wide": lambda rows: [row["col_25"] for row in rows],
    "1 % of the rows, wide": lambda rows: [r for r in rows if r["col_05"] >= 990000000],
    "one nested field, tweets": lambda rows: [
        row["user"]["followers_count"] for row in rows
    ],
    "1 % of the rows, tweets": lambda rows: [
        row for row in rows if row["filter_level"] == "high"
    ],
}
AS_LINES = [work for work in engine.WORKS if work.form in ("values", "rows")]
AS_TABLES = [work for work in engine.WORKS if work not in AS_LINES]


def rows_of(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def slow_answer(work, files, folder):
    values = SLOWLY[work.label](*(rows_of(files[name]) for name in work.files))
    assert values
    path = folder / "slow.out"
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return answer(path, work.order)


@pytest.mark.parametrize("work", AS_LINES, ids=lambda work: work.label)
def test_every_candidate_gives_the_right_answer(work, files, tmp_path):
    candidates = engine.question(work, files, PROGRAMS).candidates
    if work.jq:
        candidates += engine.jq_question(work, files).candidates
    present = [each for each in candidates if each.missing() is None]
    answers = {each.name: answer_of(each) for each in present}
    assert {"Headrace", "Headrace, 2 threads"} <= set(answers)
    expected = slow_answer(work, files, tmp_path)
    assert answers == dict.fromkeys(answers, expected)


@pytest.mark.parametrize("work", AS_TABLES, ids=lambda work: work.label)
def test_every_table_has_the_values_of_the_file(work, files, tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    candidates = engine.question(work, files, PROGRAMS).candidates
    present = [each for each in candidates if each.missing() is None]
    answers = {each.name: answer_of(each) for each in present}
    table = pa.Table.from_pylist(rows_of(files[work.files[0]]))
    pq.write_table(table, tmp_path / "slow.out")
    expected = answer(tmp_path / "slow.out", content="parquet")
    assert answers == dict.fromkeys(answers, expected)


def test_a_hundredth_of_the_rows_is_not_none_of_them(files):
    events, tweets = rows_of(files["events"]), rows_of(files["tweets"])
    assert 15 < Counter(row["level"] for row in events)["fatal"] < 60
    assert Counter(row["filter_level"] for row in tweets)["high"] == 2


@pytest.fixture
def built(monkeypatch, files):
    monkeypatch.setattr(
        engine.tools, "installed", lambda *_names: [PROGRAMS.qj, PROGRAMS.rg]
    )
    monkeypatch.setattr(engine.tools, "simdjson", lambda: PROGRAMS.walk)
    monkeypatch.setattr(engine, "files_of", lambda _size: files)
    return engine.build(Settings(size=500_000_000, large=0, rounds=1))


def test_goals_are_about_candidates_that_run(built):
    known = {
        Ref(question.label, each.name)
        for question in built.questions
        for each in question.candidates
    }
    named = {target.subject for target in built.targets}
    named |= {
        target.reference for target in built.targets if hasattr(target, "reference")
    }
    assert named <= known
    assert {name for each in built.overviews for name in each.candidates} <= {
        ref.candidate for ref in known
    }


def test_goals_are_those_of_this_size(built):
    limits = {
        target.subject.question: target.limit
        for target in built.targets
        if getattr(target, "metric", "") == "cpu" and hasattr(target, "limit")
    }
    assert limits["one field, narrow"] == pytest.approx(1.1 / 2)
    assert len(limits) == len([work for work in engine.WORKS if work.goal])


@pytest.mark.parametrize("name", ["events", "tweets"])
def test_every_candidate_counts_the_rows(files, name):
    question = engine.count(name, files[name], PROGRAMS.rg)
    present = [each for each in question.candidates if each.missing() is None]
    assert {run_once(each).answer for each in present} == {ROWS[name]}


def test_costs_are_compared_over_sizes_that_grow(files, monkeypatch):
    monkeypatch.setattr(linear, "data_file", lambda *_: files["events"])
    made = linear.build(Settings(size=200_000_000, large=0, rounds=1))
    sizes = ["10 MB", "100 MB", "200 MB"]
    assert [each.label for each in made.questions] == [
        f"{work}, {size}" for size in sizes for work in linear.LABELS
    ]
