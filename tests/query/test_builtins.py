"""Every example in the table of builtins holds."""

import json
from pathlib import Path

import pytest

from headrace.api.functions import manual
from headrace.api.results import evaluate
from headrace.errors import HeadraceError
from headrace.kernel.values import builtins
from tests.conformance.cases import same

ROOT = Path(__file__).parents[2]

EXAMPLES = [
    pytest.param(example, id=f"{builtin.name}-{number}")
    for name, builtin in builtins().items()
    if name == builtin.name
    for number, example in enumerate(builtin.examples)
]


def test_there_are_builtins():
    assert len({builtin.name for builtin in builtins().values()}) > 180
    assert len(EXAMPLES) > 300


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_holds(example):
    if example.answer == "error":
        with pytest.raises(HeadraceError):
            evaluate(example.query, example.document.encode())
        return
    answer = evaluate(example.query, example.document.encode())
    assert same(json.loads(answer), json.loads(example.answer)), answer


def test_the_manual_is_up_to_date():
    path = ROOT / "docs/functions.md"
    assert path.read_text() == manual(), (
        "run: python -m headrace.api.functions > docs/functions.md"
    )


def test_an_alias_gives_the_same_answer():
    table = builtins()
    assert table["distinct"] is table["unique"]
    assert table["reduce"] is table["fold"]
