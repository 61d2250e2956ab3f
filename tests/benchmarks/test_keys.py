"""All candidates of the key index suites give the same answer to the same question."""

import json

import pytest

from benchmarks.generate import Extent, data_file
from benchmarks.suites import key_get, key_index, set_index


@pytest.fixture
def narrow(tmp_path, monkeypatch):
    monkeypatch.setattr(key_get, "DATA", tmp_path)
    monkeypatch.setattr(key_get, "MANY", 20)
    monkeypatch.setattr(key_get, "COLD", 4)
    return data_file("narrow", Extent(500, "rows"), folder=tmp_path)


def test_all_candidates_index_all_rows(narrow):
    found = [
        key_index.headrace_build(str(narrow), version, threads)
        for version in (1, 2)
        for threads in (1, 2)
    ]
    found.append(key_index.store_load(str(narrow), "SQLite"))
    assert [outcome.answer for outcome in found] == [500] * 5
    assert all(outcome.figures["bytes_written"] > 0 for outcome in found)
    assert not list(narrow.parent.glob("tmp*"))


def test_all_candidates_find_the_same_rows(narrow):
    candidates = key_get.candidates(narrow)
    answers = set()
    for candidate in candidates:
        where, arguments = candidate.argv[3:]
        if candidate.missing() is None:
            function = getattr(key_get, where.partition(":")[2])
            outcome = function(*json.loads(arguments))
            answers.add(outcome.answer)
            assert outcome.figures["time"] > 0
    rows = [json.loads(line) for line in narrow.read_bytes().splitlines()]
    expected = [[rows[key]] for key in key_get.wanted(500, key_get.FEW)]
    assert answers == {key_get.value_digest(expected)}


def test_sets_and_files_have_the_same_rows(narrow, monkeypatch):
    monkeypatch.setattr(set_index, "data_file", lambda *_: narrow)
    made = set_index.build(key_index.Settings(1000, 1000, 1))
    for question in made.questions:
        answers = set()
        for candidate in question.candidates:
            where, arguments = candidate.argv[3:]
            function = getattr(set_index, where.partition(":")[2])
            answers.add(function(*json.loads(arguments)).answer)
        assert len(answers) == 1, question.label


def test_targets_name_candidates_of_the_suite(narrow, monkeypatch):
    for suite in (key_index, key_get, set_index):
        monkeypatch.setattr(suite, "data_file", lambda *_: narrow)
        made = suite.build(key_index.Settings(1000, 1000, 1))
        names = {
            each.name for question in made.questions for each in question.candidates
        }
        assert made.targets
        assert {target.subject.candidate for target in made.targets} <= names
