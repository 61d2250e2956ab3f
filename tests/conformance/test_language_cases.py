"""The language cases of this repository pass in every mode and use every construct."""

import json
from enum import StrEnum

import pytest

from headrace.errors import HeadraceError
from headrace.kernel.values import builtins
from headrace.language import ast, traversal
from headrace.language.parser import parse
from tests.conformance.generators.__main__ import families
from tests.conformance.language_cases import (
    FOLDER,
    RUNS,
    files,
    load,
    modes_of,
    problem_of,
)
from tests.conformance.test_reference import compare
from tests.reference.language.evaluate import answer
from tests.reference.language.values import read

MODES = list(RUNS)
NAMES = [path.stem for path in files()]

NOT_CALLED = {
    # The parser makes them of other names: `.join(other, on: key)` and the like.
    "join on", "diff on", "intersect on",
    # It needs --allow-env, and is refused here.
    "env",
}  # fmt: skip


def cases_of(name):
    return load(FOLDER / f"{name}.jsonl")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", NAMES)
def test_the_cases(name, mode):
    problems = {
        f"{case['id']}: {case['query']}": problem
        for case in cases_of(name)
        if mode in modes_of(case) and (problem := problem_of(case, mode))
    }
    assert problems == {}


def test_every_mode_has_many_cases():
    every = [case for name in NAMES for case in cases_of(name)]
    assert len({case["id"] for case in every}) == len(every) >= 1000
    assert all(
        ("error" in case) != ("expected" in case or "expected_text" in case)
        for case in every
    )
    for mode in MODES:
        assert sum(mode in modes_of(case) for case in every) >= 500, mode


def test_the_generated_files_equal_the_output_of_their_generators():
    for name, text in families().items():
        file = FOLDER / f"{name}.jsonl"
        remedy = f"run python -m tests.conformance.generators for {file.name}"
        assert file.read_text("utf-8") == text, remedy


def trees():
    """Yield the trees of all queries that can be read."""
    for name in NAMES:
        for case in cases_of(name):
            for query in (case["query"], *queries_beside(case)):
                try:
                    yield parse(query)
                except HeadraceError:
                    assert "error" in case or "args" in case.get("options", {}), case


def queries_beside(case):
    options = case.get("options", {})
    return [options[key] for key in ("where", "distinct_by") if key in options]


@pytest.fixture(scope="module")
def parts():
    return [part for tree in trees() for part in traversal.walk(tree)]


def test_every_builtin_is_called(parts):
    called = {
        part.name
        for part in all_located(parts)
        if isinstance(part, ast.Method | ast.Call | ast.DeepMethod | ast.Name)
    }
    assert set(builtins()) - called - NOT_CALLED == set()


def all_located(parts):
    """Yield expressions and their parts: steps, arguments, entries, patterns."""
    seen = set()
    stack = list(parts)
    while stack:
        part = stack.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        for field in getattr(part, "__dataclass_fields__", {}):
            value = getattr(part, field)
            several = value if isinstance(value, tuple) else (value,)
            stack += [each for each in several if isinstance(each, ast.Located)]


def constructs():
    """Return every kind of node, and every operator and kind of value."""
    nodes = {
        thing
        for thing in vars(ast).values()
        if isinstance(thing, type)
        and issubclass(thing, ast.Located)
        and thing is not ast.Located
    }
    words = {
        # Words of two kinds can be equal: `number` is one to `is` and to `as`.
        (thing, member)
        for thing in vars(ast).values()
        if isinstance(thing, type)
        and issubclass(thing, StrEnum)
        and thing is not StrEnum
        for member in thing
    }
    return nodes, words


def test_every_construct_occurs(parts):
    nodes, words = constructs()
    every = list(all_located(parts))
    assert nodes - {type(part) for part in every} == set()
    found = {
        (type(value), value)
        for part in every
        for field in part.__dataclass_fields__
        if isinstance(value := getattr(part, field), StrEnum)
    }
    assert words - found == set()


def test_the_reference_gives_the_same_answers():
    known, wrong = compare(
        (
            f"{case['id']}: {case['query']}",
            lambda case=case: answer(case["query"], read(json.dumps(case["input"]))),
            "error" if "error" in case else [case["expected"]],
        )
        for name in NAMES
        for case in cases_of(name)
        if "input" in case and "options" not in case and not case.get("refused")
    )
    assert wrong == {}
    assert known > 1900
