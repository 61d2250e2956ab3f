"""Limits of a query: memory up to a limit, time until it is interrupted."""

import os
import signal
import threading
from contextlib import contextmanager

import pytest

import headrace
from headrace.api.results import evaluate
from headrace.errors import QueryFailedError

DOUBLED = ", ".join(
    ["x0 = [1, 1]", *(f"x{n} = [x{n - 1}, x{n - 1}]" for n in range(1, 60))]
)
TEXT = 'let s = "\\u0001".repeat(2e8) in '

TOO_LARGE = {
    "used twice": f"let {DOUBLED} in x59",
    "compared": f"let {DOUBLED} in [x59][0] == x59",
    "as text": f"let {DOUBLED} in (x59 as string).len()",
    "in an f-string": f'let {DOUBLED} in f"{{x59}}".len()',
    "gone through": f"let {DOUBLED} in x59..a",
    "piped objects": "$" + " | {a: @, b: @}" * 60,
    "spread": "[1]" + " | [...@, ...@]" * 60,
    "joined arrays": "[1]" + " | @ + @" * 60,
    "joined texts": '"x"' + " | @ + @" * 60,
    "formatted texts": '"x"' + ' | f"{@}{@}"' * 60,
    "text that is escaped": TEXT + "[s, s, s]",
    "text in many places": TEXT + "range(100).map(s) as string",
    "elements on their way": "let x = range(1e5) in range(1e4).map(x).window(1e4).min()",
    "groups": "let x = range(1e5) in range(1e4).map(x).group_shape(true, @ as string)",
    "loops": "[1 for x in range(1e6) for y in range(1e6) if false]",
    "folded": "range(100).fold(1, (a, x) => [a, a])",
    "accumulated": "range(100).accumulate(1, (a, x) => [a, a]).last()",
    "walked": "$.walk([@, @, $])" + " | @.walk([@, @])" * 60,
    "walked down": "$.walk_pre([@, @])",
    "repeated": "1.rec([@, @])",
    "patched": "$" + " | patch {a: 1} {a: [@, @], b: $}" + " | [@, @]" * 60,
}
ENDLESS = "range(1e6).map(range(1e6).map(range(1e6).sum()).sum()).sum()"


@contextmanager
def interrupted():
    """Send SIGINT while the query runs."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    yield
    timer.join()


@pytest.mark.parametrize("query", TOO_LARGE.values(), ids=TOO_LARGE)
def test_a_query_with_a_too_large_result_fails(query):
    with pytest.raises(QueryFailedError, match=r"MiB|million|levels"):
        evaluate(query, b'{"a": [1]}')


@pytest.mark.parametrize("query", [ENDLESS, f"try {ENDLESS} else 1"])
def test_a_query_can_be_interrupted(query):
    with interrupted(), pytest.raises(KeyboardInterrupt):
        evaluate(query, b"null")


@pytest.mark.parametrize(
    "query", [ENDLESS, f"$.rows().map({ENDLESS})", f"$.rows().sort().map({ENDLESS})"]
)
def test_a_query_over_rows_can_be_interrupted(tmp_path, query):
    file = tmp_path / "rows.jsonl"
    file.write_text("1\n2\n")
    answers = headrace.open(file).query(query, on_error="skip")
    with interrupted(), pytest.raises(KeyboardInterrupt):
        answers.to_list()


def test_a_row_over_the_limit_does_not_affect_the_next(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text("true\nfalse\n")
    query = (
        "[1 for x in range(1e6) for y in range(1e6) if false] if $ else [1].map(@ + 1)"
    )
    answers = headrace.open(file).query(query, on_error="skip")
    assert answers.to_list() == [[2]]
    assert len(answers.report.errors) == 1
