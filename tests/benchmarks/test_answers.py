"""Answers are equal if their values are, and only then."""

import pytest

from benchmarks.answers import answer


@pytest.fixture
def answered(tmp_path):
    def of(content, order="kept"):
        path = tmp_path / "out"
        path.write_bytes(content)
        found = answer(path, order)
        assert not path.exists()
        return found

    return of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(b"5\n", b"5.0\n", id="decimals of a whole number"),
        pytest.param(b"0.3\n", b"0.30000000000000004\n", id="order of adding"),
        pytest.param(b"1475543210.7\n", b"1475543210.69976\n", id="order, large"),
        pytest.param(b'{"a":1,"b":2}\n', b'{"b": 2, "a": 1}\n', id="order of keys"),
        pytest.param(b'"\\u00e9"\n', '"é"\n'.encode(), id="escapes"),
        pytest.param(b'"text"\n', b"text\n", id="raw text"),
        pytest.param(b"1\n2", b"1\n2\n", id="last newline"),
    ],
)
def test_equal_values_are_equal_answers(answered, one, other):
    assert answered(one) == answered(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(b"1\n2\n", b"2\n1\n", id="order"),
        pytest.param(b"1\n", b"1\n1\n", id="number of rows"),
        pytest.param(b"1\n", b"true\n", id="kind"),
        pytest.param(b"421099.1417\n", b"421099.1418\n", id="last digit"),
        pytest.param(b"9007199254740993\n", b"9007199254740992\n", id="large integers"),
        pytest.param(b'{"a":null}\n', b"{}\n", id="a null field"),
    ],
)
def test_other_values_are_other_answers(answered, one, other):
    assert answered(one) != answered(other)


def test_the_order_of_rows_may_be_of_no_account(answered):
    assert answered(b"1\n2\n", "any") == answered(b"2\n1\n", "any")


def test_an_answer_that_was_not_written_is_a_failure(tmp_path):
    with pytest.raises(ValueError, match="nothing was written to gone"):
        answer(tmp_path / "gone")
