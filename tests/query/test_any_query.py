"""Every query over every document gives JSON or one of our errors."""

import json
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.api.results import evaluate
from headrace.errors import HeadraceError
from headrace.kernel.values import MAX_DEPTH, parse
from headrace.language.unparse import unparse
from tests.examples import often
from tests.query.trees import BUILTINS, FIELDS, QUESTIONS

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.sampled_from(
        ["a b-c", "2024-02-29", "1,2", "[1]", "a=1&b", "<i>", "%41", "YQ=="]
    ),
)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda values: st.one_of(
        st.lists(values, max_size=4), st.dictionaries(FIELDS, values, max_size=4)
    ),
    max_leaves=12,
)
ARGUMENTS = st.sampled_from(
    [
        *["0", "1", "2", "-1", "1.5", "1e3", "9223372036854775807", "1e300", "null"],
        *['""', '"a"', '","', '"(a*)*"', '"%Y"', "true", "[]", "[1, [2]]", "{a: 1}"],
        *["@", "@ + 1", "@.a", "a", "$", "x => x", "(a, b) => a", "(a, b) => [a, b]"],
        *["@ is number", "-@", '"x".repeat(100)', "range(50)", "$.a ?? $"],
    ]
)
MANY = often(5)


def ask(query, document):
    """Run a query; its answer must be JSON, and it may raise only our own errors."""
    try:
        answer = evaluate(query, json.dumps(document).encode())
    except HeadraceError:
        return False
    parse(answer, MAX_DEPTH)
    return True


@MANY
@given(QUESTIONS, DOCUMENTS)
def test_any_query_over_any_document(tree, document):
    ask(unparse(tree), document)


@MANY
@given(st.data())
def test_any_builtin_over_any_value(data):
    """A single call, so that no other part fails first."""
    builtin = data.draw(st.sampled_from(BUILTINS))
    count = data.draw(st.integers(builtin.required, len(builtin.parameters) + 1))
    args = [data.draw(ARGUMENTS) for _ in range(count)]
    document = data.draw(DOCUMENTS)
    ask(f"$.{builtin.name}({', '.join(args)})", document)


def test_most_builtins_are_reached_and_answer():
    """Enough of the generated queries must have an answer."""
    answered = Counter()

    @settings(max_examples=300, database=None, derandomize=True)
    @given(st.data())
    def count(data):
        builtin = data.draw(st.sampled_from(BUILTINS))
        args = ", ".join(data.draw(ARGUMENTS) for _ in range(builtin.required))
        if ask(f"$.{builtin.name}({args})", data.draw(DOCUMENTS)):
            answered[builtin.name] += 1

    count()
    assert len(answered) > 50
