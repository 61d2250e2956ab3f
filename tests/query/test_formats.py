"""Formats of f-strings write numbers and texts as Python does."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from headrace.api.results import evaluate
from headrace.errors import HeadraceError

INTEGERS = st.integers(-(2**63), 2**63 - 1)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
SIDES = st.sampled_from(["", "<", ">", "^", "=", "*<", "x>", "é^", "0=", "{"])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


def optional(*choices):
    return st.sampled_from(["", *choices])


@st.composite
def formats(draw, types):
    """Make a format; some combinations are invalid."""
    parts = [
        SIDES.filter(lambda side: "{" not in side),
        optional("+", "-", " "),
        optional("#"),
        optional("0"),
        optional("1", "7", "12", "20"),
        optional(",", "_"),
        optional(".0", ".1", ".3", ".10"),
        st.sampled_from(types),
    ]
    return "".join(draw(part) for part in parts)


def written(value, spec):
    try:
        answer = evaluate(f'f"{{$:{spec}}}"', json.dumps(value).encode())
    except HeadraceError:
        return None
    return json.loads(answer)


def in_python(value, spec):
    try:
        return format(value, spec)
    except (ValueError, OverflowError):
        return None


@given(INTEGERS, formats("dboxX"))
def test_integers(value, spec):
    assert written(value, spec) == in_python(value, spec)


@given(st.one_of(DOUBLES, st.floats(-1e6, 1e6)), formats("eEfFgG%"))
def test_doubles(value, spec):
    wanted = in_python(value, spec)
    # 100 times the largest doubles is no number: an error here, "inf%" in Python.
    is_finite = wanted is None or "inf" not in wanted.lower()
    assert written(value, spec) == (wanted if is_finite else None)


@given(TEXTS, formats(["s", ""]))
def test_texts(value, spec):
    wanted = in_python(value, spec)
    found = written(value, spec)
    # Python pads texts with zeros; the language pads only numbers.
    assert found == wanted or found is None


@given(
    INTEGERS,
    st.builds(str.__add__, SIDES.filter(lambda side: side != "{"), optional("5", "25")),
)
def test_numbers_without_a_type(value, spec):
    assert written(value, spec) == in_python(value, spec)


@example(1e20, ",")
@example(1e-7, ",")
@example(-1.5e16, "020_")
@given(
    st.one_of(DOUBLES, st.floats(-1e6, 1e6), st.floats(1e15, 1e17)).filter(bool),
    st.sampled_from([",", "_", "+", " ,", "020,", "*<+24", "*=24_"]),
)
def test_a_number_with_grouping_is_written_as_in_python(value, spec):
    # A number without a fraction is written without a point.
    is_whole = value.is_integer() and abs(value) < 1e16
    assert written(value, spec) == in_python(int(value) if is_whole else value, spec)
