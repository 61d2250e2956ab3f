"""What the manual of the language says is what happens."""

import json
import re
from pathlib import Path

import pytest

from headrace.api.query import evaluate
from headrace.errors import HeadraceError

MANUAL = (Path(__file__).parents[2] / "docs/language.md").read_text()
EXAMPLE = re.compile(r"^- `(.+?)` on `(.+?)` (?:gives `(.+?)`|fails)$", re.MULTILINE)
EXAMPLES = [pytest.param(*groups, id=groups[0]) for groups in EXAMPLE.findall(MANUAL)]


def test_every_example_is_found():
    assert len(EXAMPLES) > 50
    assert len(EXAMPLES) == MANUAL.count("\n- `")


@pytest.mark.parametrize(("query", "document", "answer"), EXAMPLES)
def test_an_example_holds(query, document, answer):
    if not answer:
        with pytest.raises(HeadraceError):
            evaluate(query, document.encode())
        return
    given = evaluate(query, document.encode())
    assert json.loads(given) == json.loads(answer)
    if "." in answer and answer[0].isdigit():
        assert given.decode() == answer
