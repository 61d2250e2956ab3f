"""Every text is a query or a syntax error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import QuerySyntaxError
from headrace.language.parser import parse
from headrace.language.tokens import _SIGNS, KEYWORDS
from headrace.language.unparse import unparse
from tests.query.samples import SAMPLES

PIECES = [
    *_SIGNS,
    *sorted(KEYWORDS),
    *["a", "b", "number", "int", "1", "2.5", "'s'", '"t"', "@n", 'f"', '"', "'"],
    *['f"{a}"', "\\", "é", "\n", "#", "1e9", ":2f}", "{{", "match!", "[*]", "=> "],
]


def read(text):
    """Parse `text`, and check the invariants of every query."""
    tree, error = None, None
    try:
        tree = parse(text)
    except QuerySyntaxError as raised:
        error = raised
    if tree:
        assert parse(unparse(tree)) == tree
    else:
        assert 0 <= error.offset <= len(text)
        assert error.reason in str(error)


@given(st.text())
def test_any_characters(text):
    read(text)


@given(st.lists(st.sampled_from(PIECES), max_size=30), st.sampled_from(["", " "]))
def test_any_tokens(pieces, separator):
    read(separator.join(pieces))


@given(st.data())
def test_a_query_with_random_edits(data):
    text = data.draw(st.sampled_from(SAMPLES))
    for _ in range(data.draw(st.integers(1, 3))):
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
        middle = data.draw(st.sampled_from(["", text[start:end] * 2, *PIECES]))
        text = text[:start] + middle + text[end:]
    read(text)


@pytest.mark.parametrize("query", SAMPLES)
def test_every_beginning_of_a_query(query):
    for end in range(len(query)):
        read(query[:end])
