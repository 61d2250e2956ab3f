"""Invalid values and arguments: an error, or the answer that the manual gives.

Refused queries stand in `test_refusals` and `test_mistakes`; arguments of the command line in
``tests/cli/test_query_arguments.py``.
"""

import pytest

from headrace.api.results import evaluate
from headrace.errors import HeadraceError

NO_SUCH = "there is no such date or time of day"
BEYOND = "the time is not in the years 1 to 9999"
PART = "the part must be a number from 0 to 1"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ('"2026-02-30".to_time()', NO_SUCH),
        ('"2026-13-01".to_time()', NO_SUCH),
        ('"0000-01-01".to_time()', NO_SUCH),
        ('"2026-01-01T24:00:01Z".to_time()', NO_SUCH),
        ('"10000-01-01".to_time()', "is no time of ISO 8601"),
        ('"9999-12-31T23:59:59Z".add_time("1s")', BEYOND),
        ('"0001-01-01".add_time("-1s")', BEYOND),
        ('99999999999999.to_time("s")', BEYOND),
        ('(-99999999999999).to_time("s")', BEYOND),
        ('1e30.to_time("s")', BEYOND),
        # A leap second is the last of a day in UTC.
        ('"2026-06-30T12:00:60Z".to_time()', "a second 60 is only there at the end"),
        ('"2026-06-30T23:59:61Z".to_time()', NO_SUCH),
        ('"2026-01-01".to_time(zone: "Mars/Base")', "there is no time zone"),
        ("[1].quantile(2)", PART),
        ("[1].quantile(-0.1)", PART),
        ('[1].quantile("x")', PART),
        ("[1].quantile(null)", PART),
        ("[1].histogram(0)", "buckets are a width above 0"),
        ('f"{1.5:d}"', "number 1.5 cannot be written as a whole number"),
        ("[...5]", "number 5 has no elements"),
        ("[...{a: 1}]", "an object has no elements"),
        ("[x for x in 5]", "number 5 has no elements"),
        ('[x for x in "ab"]', "string ab has no elements; write .len(), .chars()"),
        ("{k: 1 for k in true}", "bool true has no elements"),
        ("{...5}", "number 5 has no fields"),
        ("{a: 1, ...**[1]}", "array value has no fields"),
        ('"2026-01-01".format_time("YYYY-MM-DD")', "the pattern has no directive"),
        (
            '"2026-01-01".format_time(["YYYY"].first())',
            "the pattern has no directive",
        ),
        ("$.a-b", 'a field with a hyphen is written $."a-b"'),
        ("$.count()", "$.rows() for all rows, as in $.rows().count()"),
    ],
)
def test_an_error_names_the_mistake(query, reason):
    with pytest.raises(HeadraceError) as caught:
        evaluate(query, b'{"b": 1}')
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ('"2016-12-31T23:59:60Z".to_time()', '"2017-01-01T00:00:00+00:00"'),
        ('"23:59:60 2016-12-31".parse_time("%T %F")', '"2017-01-01T00:00:00+00:00"'),
        # Times that a zone skips are as long after the last one as they say.
        (
            '"2026-03-29T02:30:00".to_time(zone: "Europe/Berlin")',
            '"2026-03-29T01:30:00+00:00"',
        ),
        (
            '"2011-12-30T12:00:00".to_time(zone: "Pacific/Apia")',
            '"2011-12-30T22:00:00+00:00"',
        ),
        (
            '"2026-03-28T02:30:00+01:00".add_time("1d", zone: "Europe/Berlin")',
            '"2026-03-29T01:30:00+00:00"',
        ),
        # Of a local time that occurs twice, the first.
        (
            '"2026-10-25T02:30:00".to_time(zone: "Europe/Berlin")',
            '"2026-10-25T00:30:00+00:00"',
        ),
        # A day that begins at one o'clock.
        (
            '"2018-11-04T12:00:00Z".trunc_time("day", zone: "America/Sao_Paulo")',
            '"2018-11-04T03:00:00+00:00"',
        ),
        ("[].quantile(0.5)", "null"),
        ("[null].quantile(0.5)", "null"),
        ("[].median()", "null"),
        ("[].stddev()", "null"),
        ("[1].stddev()", "null"),
        ("[].variance()", "null"),
        ("[].mode()", "null"),
        ("[].histogram(3)", "[]"),
        ("[].count_distinct()", "0"),
        ("[...null, 1]", "[1]"),
        ("{...null, a: 1}", '{"a":1}'),
        ("[x for x in null]", "[]"),
        ('f"{2.0:d}"', '"2"'),
    ],
)
def test_the_answer_at_the_edge_of_a_range(query, answer):
    assert evaluate(query, b"null").decode() == answer


@pytest.mark.parametrize(
    "pattern", ["a", "[a-z]", "(a|b)?", "(", r"\w"], ids=lambda unit: f"{unit}..."
)
def test_a_regular_expression_of_a_million_characters_is_refused(pattern):
    pattern *= 1_000_000 // len(pattern)
    escaped = pattern.replace("\\", "\\\\")
    document = f'{{"text": "aaa", "pattern": "{escaped}"}}'.encode()
    for query in (f'text.re_match("{escaped}")', "text.re_match(pattern)"):
        with pytest.raises(HeadraceError, match="the pattern is longer than"):
            evaluate(query, document)


@pytest.mark.parametrize("pattern", ["a{1000000}", "(a{1000}){1000}"])
def test_a_regular_expression_that_takes_much_memory_is_refused(pattern):
    with pytest.raises(HeadraceError, match="the pattern is too large"):
        evaluate(f'"aaa".re_match("{pattern}")', b"null")
