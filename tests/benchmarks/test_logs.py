"""All candidates of the log suites give the same answer to the same question."""

import json

import pytest

from benchmarks.suite import Settings
from benchmarks.suites import log_read, log_write

SMALL = Settings(size=1_000_000, large=1, rounds=1)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    for suite in (log_read, log_write):
        monkeypatch.setattr(suite, "DATA", tmp_path)
    monkeypatch.setattr(log_write, "COMMITS", 3)
    monkeypatch.setattr(log_read, "MANY", 20)
    monkeypatch.setattr(log_read, "SEGMENT", 20_000)


def answers(question):
    for candidate in question.candidates:
        where, arguments = candidate.argv[3:]
        module, _, function = where.partition(":")
        suite = {each.__name__: each for each in (log_read, log_write)}[module]
        outcome = getattr(suite, function)(*json.loads(arguments))
        assert outcome.figures["time"] > 0
        yield outcome.answer


def test_records_have_the_stated_length():
    made = log_write.records(1000)
    assert {len(record) + 1 for record in made} == {200}
    assert [json.loads(record)["id"] for record in made] == list(range(1000))


def test_all_candidates_write_the_same(tmp_path):
    made = log_write.build(SMALL)
    expected = [3 * 200_000, 200_000, 5000]
    assert [set(answers(question)) for question in made.questions] == [
        {n} for n in expected
    ]
    assert [file.name for file in tmp_path.iterdir()] == ["log-1000000"]


def test_all_candidates_read_the_same():
    line, opening, replay = log_read.build(SMALL).questions
    assert len(set(answers(line))) == 1
    last = log_write.records(log_read.LAST)[-1]
    assert set(answers(opening)) == {log_read.digest([last])}
    (checksum,) = set(answers(replay))
    assert checksum


@pytest.mark.parametrize("suite", [log_read, log_write])
def test_targets_name_candidates_of_the_suite(suite):
    made = suite.build(SMALL)
    names = {each.name for question in made.questions for each in question.candidates}
    assert made.targets
    assert {target.subject.candidate for target in made.targets} <= names
