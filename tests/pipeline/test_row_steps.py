"""Row steps: output, rejected rows with reasons, and counts."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.engines.query.options import QueryOptions
from headrace.engines.rows import row_steps
from headrace.engines.rows.row_steps import (
    Check,
    Condition,
    QueryStep,
    RowSteps,
    row_by_row,
)
from headrace.errors import UsageError
from headrace.kernel.rows import Decoding, rows_of
from headrace.pipeline import Validate
from headrace.pipeline.plan.lowering import step_of
from headrace.store.files.opened import Keeping
from headrace.store.rows.row_file import RowOptions
from tests.pipeline.slow_steps import is_good

READING = RowOptions(1 << 20, Keeping(), Decoding())
OPTIONS = QueryOptions(on_error="skip")


def taken(steps, text):
    """Run steps over a text; return lines, rejected rows with step and reason, and counts."""
    going = RowSteps(steps, READING, OPTIONS)
    written, rejected = b"", []
    for batch in rows_of(text):
        lines, bad = going.take(batch)
        written += lines
        rejected += [
            (batch.first_row + each.position, each.offset, each.step, each.reason)
            for each in bad
        ]
    return written, rejected, going.counts


def test_a_row_rejected_by_a_late_step_has_its_place_in_the_file():
    text = b'{"id":1}\n{"id":2}\n{"id":3}\n{"id":4}\n'
    steps = [
        Check("validate"),
        QueryStep("odd", "$.rows().filter(id != 2).flat_map([$, $])"),
        QueryStep("divide", "$.rows().map(12 / (id - 3))"),
    ]
    lines, rejected, counts = taken(steps, text)
    assert lines == b"-6.0\n-6.0\n12.0\n12.0\n"
    reason = "division by zero (column 14 of the query)"
    assert rejected == [(2, 18, "divide", reason)] * 2
    assert [
        (count.read, count.rejected, count.filtered, count.kept, count.written)
        for count in counts
    ] == [(4, 0, 0, 4, 4), (4, 0, 1, 3, 6), (6, 2, 0, 4, 4)]


def test_few_rows_are_run_again_to_find_the_place_of_a_rejected_one(monkeypatch):
    text = b"".join(b'{"id":%d}\n' % number for number in range(4000))
    steps = [
        Check("validate"),
        QueryStep("twice", "$.rows().filter(id % 10 < 9).flat_map([$, $])"),
        QueryStep("divide", "1 / (id - 3141)"),
    ]
    (batch,) = rows_of(text)
    calls = []
    take = row_steps._QueryRun.take
    monkeypatch.setattr(
        row_steps._QueryRun, "take", lambda *given: calls.append(1) or take(*given)
    )
    _lines, rejected = RowSteps(steps, READING, OPTIONS).take(batch)
    assert [each.position for each in rejected] == [3141, 3141]
    assert len(calls) < 50


def test_the_reason_is_that_of_the_first_condition_that_fails():
    step = Check(
        "check",
        (
            Condition("id != null", "no id"),
            Condition("id.type() == 'number'", "id is {}", "id.type()"),
            Condition("id.floor() == id", "not whole: {}", "id"),
        ),
    )
    text = b'{"id":1}\n{}\n{"id":"x"}\n{"id":1.5}\nx\n\n{"id":2}\n'
    lines, rejected, (counts,) = taken([step], text)
    assert lines == b'{"id":1}\n{"id":2}\n'
    assert [(row, reason) for row, _offset, _step, reason in rejected] == [
        (1, "no id"),
        (2, "id is string"),
        (3, "not whole: 1.5"),
        (4, "expected a value"),
    ]
    assert (counts.read, counts.blank, counts.rejected, counts.kept) == (7, 1, 4, 2)


def test_a_failed_rule_is_named_and_kinds_of_reasons_have_no_values():
    rules = ["id != 9", "1 / id > 0"]
    stage = Validate(types={"at": "date"}, rules=rules, max_bytes=40)
    going = RowSteps([step_of(stage, "validate", {})], READING, OPTIONS)
    texts = ["x", "y", '"z"\n']
    rows = [
        {"id": 0},
        {"id": 9},
        *({"id": 1, "at": at} for at in texts),
        {"s": "x" * 40},
    ]
    (batch,) = rows_of("".join(f"{json.dumps(row)}\n" for row in rows).encode())
    _lines, rejected = going.take(batch)
    fails, breaks = "the rule 1 / id > 0 fails", "it breaks the rule id != 9"
    wrong, long = "`at` is …, not a date", "over the limit of 40"
    assert [(each.reason, each.kind) for each in rejected] == [
        (f"{fails}: division by zero", fails),
        (breaks, breaks),
        ("`at` is x, not a date", wrong),
        ("`at` is y, not a date", wrong),
        ('`at` is \\"z\\"\\n, not a date', wrong),
        (f"49 bytes long, {long}", long),
    ]


def test_one_text_is_a_list_of_one():
    text = b'{"id":1}\n{"i":1,"d":1}\n{"id":-1}\n'
    lines, rejected, _counts = taken(
        [step_of(Validate(required="id", rules="id > 0"), "validate", {})], text
    )
    assert lines == b'{"id":1}\n'
    assert [reason for *_where, reason in rejected] == [
        "`id` is missing",
        "it breaks the rule id > 0",
    ]


def test_rows_pass_as_they_are_written():
    text = b'{ "a" : 1.0e0,  "a": "\\u0041" }\n[1,  2]\n"x"\nnull\nfalse\n'
    lines, rejected, _counts = taken([Check("validate")], text)
    assert (lines, rejected) == (text, [])


@pytest.mark.parametrize(
    "query", ["$.rows().sort(a)", "$.rows().count()", "$.rows().unique()", "@a.count()"]
)
def test_a_stream_query_as_a_row_step_is_refused(query):
    with pytest.raises(UsageError, match="more than one row"):
        row_by_row(query)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False, width=32)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=4,
)
ROWS = st.one_of(
    st.dictionaries(st.sampled_from(["a", "b", "x"]), VALUES, max_size=3).map(
        lambda value: json.dumps(value).encode()
    ),
    VALUES.map(lambda value: json.dumps(value).encode()),
    st.sampled_from([b"", b" ", b"{", b"nul", b'{"a":1}x', b"\xff", b'{"a":01}']),
)
PATHS = st.sampled_from(["a", "b", "a.b"])
KINDS = st.sampled_from(["string", "number", "integer", "boolean", "array", "object"])


@given(
    st.lists(ROWS, max_size=12),
    st.lists(PATHS, max_size=2),
    st.dictionaries(PATHS, KINDS, max_size=2),
    st.none() | st.integers(1, 30),
)
def test_validation_equals_validation_row_by_row(several, required, types, limit):
    stage = Validate(required, types, ["x != 1"], limit)
    text = b"".join(row + b"\n" for row in several)
    lines, rejected, (counts,) = taken([step_of(stage, "validate", {})], text)
    lines_in = [row for row in several if row.strip()]
    good = [
        row
        for row in lines_in
        if is_good(
            row,
            required=required,
            types=types,
            rules=[
                lambda value: (
                    not isinstance(value, dict) or not is_one(value.get("x", None))
                )
            ],
            max_bytes=limit,
        )
    ]
    assert lines == b"".join(row + b"\n" for row in good)
    assert len(rejected) == len(lines_in) - len(good)
    assert counts.add_up
    assert (counts.read, counts.blank) == (len(several), len(several) - len(lines_in))
    starts = [sum(len(row) + 1 for row in several[:at]) for at in range(len(several))]
    for row, offset, _step, _reason in rejected:
        assert starts[row] <= offset <= starts[row] + len(several[row])


def is_one(value):
    return value == 1 and not isinstance(value, bool)
