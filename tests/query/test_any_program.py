"""The core runs or refuses any bytes as a program; it never crashes."""

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import HeadraceError
from headrace.kernel.programs import Program
from headrace.logical.encode.compiler import compile_query
from headrace.logical.resolution import read_query
from tests.examples import often

MANUAL = (Path(__file__).parents[2] / "docs/language.md").read_text()
QUERIES = [
    (query, document.encode())
    for query, document in re.findall(
        r"^- `(.+?)` on `(.+?)` gives", MANUAL, re.MULTILINE
    )
]
CODES = [
    (compile_query(query, read_query(query)), document) for query, document in QUERIES
]


def ask(code, document):
    """Run a program; it may raise only a `HeadraceError`."""
    try:
        return Program("", code).evaluate(document, 256)
    except HeadraceError:
        return None


def test_there_are_programs():
    assert len(CODES) > 50
    assert all(ask(code, document) is not None for code, document in CODES)


@often(6)
@given(data=st.data())
def test_a_changed_program_is_run_or_refused(data):
    code, document = data.draw(st.sampled_from(CODES))
    changed = bytearray(code)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(5, len(changed) - 1))
        changed[place] = data.draw(st.integers(0, 255))
    ask(bytes(changed), document)


@given(code=st.binary(max_size=200))
def test_any_bytes_are_refused(code):
    ask(b"HRQP\x02" + code, b"null")


@given(data=st.data())
def test_a_program_that_is_cut_is_refused(data):
    code, document = data.draw(st.sampled_from(CODES))
    length = data.draw(st.integers(0, len(code) - 1))
    assert ask(code[:length], document) is None
