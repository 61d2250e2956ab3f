"""Each case as the middle of three lines: every access has one verdict, and both neighbours."""

import gzip

import pytest

import headrace
from headrace.errors import BadRowError
from headrace.kernel.values import InvalidJsonError, parse
from tests.conformance.test_json_verdicts import ACCEPTED, FILES, REFUSED

FIRST, LAST = b'{"first": true}', b'{"last": true}'

OURS = [pytest.param(case.values[0], id=case.id) for case in (*ACCEPTED, *REFUSED)]
SUITE = [pytest.param(path.read_bytes(), id=path.name) for path in FILES]
LINES = [
    case
    for case in (*OURS, *SUITE)
    # A raw newline ends a line; a case that ends with \r makes a CRLF line here.
    if b"\n" not in case.values[0] and not case.values[0].endswith(b"\r")
]


def test_there_are_lines():
    assert len(LINES) > 60
    assert not FILES or len(LINES) > 360


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("line", LINES)
def test_one_verdict_on_every_path(tmp_path, line, compress):
    path = tmp_path / "three.jsonl"
    path.write_bytes(compress(b"\n".join([FIRST, line, LAST]) + b"\n"))
    ds = headrace.open(path)
    assert (ds[0], ds[2], len(ds)) == ({"first": True}, {"last": True}, 3)
    assert ds.raw[1] == line
    records = list(ds.records(on_error="skip"))
    stats = ds.stats()
    assert stats.lines == 3
    assert len(records) == stats.records
    refusal = refused(line)
    if refusal is None:
        assert (stats.bad, stats.records + stats.blank) == (0, 3)
        assert ds[1] == parse(line)
    else:
        place = len(FIRST) + 1 + refusal.offset
        (bad,) = stats.first_bad
        assert (stats.bad, len(records)) == (1, 2)
        assert (bad.line, bad.offset, bad.reason) == (2, place, refusal.reason)
        with pytest.raises(BadRowError) as caught:
            ds[1]
        assert (caught.value.line, caught.value.offset) == (2, place)


def refused(line):
    try:
        parse(line)
    except InvalidJsonError as refusal:
        return refusal
    return None
