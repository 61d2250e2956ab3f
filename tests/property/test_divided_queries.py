"""Queries divided into tasks in any way give what one run gives."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headrace
from tests.property.test_query_modes import ROWS, STREAMS, VALUES
from tests.reference.engines import in_process, outcome

BAD = st.sampled_from([b"{", b"", b"  ", b'{"id": 1} 2', b"\xff", b"x" * 300])
OPTIONS = st.fixed_dictionaries(
    {"on_error": st.sampled_from(["abort", "skip", "collect"])},
    optional={
        "limit": st.integers(0, 5),
        "nulls": st.booleans(),
        "lanes": st.booleans(),
        "mode": st.sampled_from(["row", "stream"]),
    },
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("divided")


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    query=st.sampled_from(VALUES + STREAMS),
    rows=ROWS,
    bad=st.lists(st.tuples(st.integers(0, 30), BAD), max_size=3),
    options=OPTIONS,
    size=st.integers(1, 400),
    cut=st.integers(0, 30),
)
def test_any_division(folder, monkeypatch, query, rows, bad, options, size, cut):
    monkeypatch.setattr("headrace.api.spark_query._start", lambda _master: in_process)
    lines = [json.dumps(row).encode() for row in rows]
    for at, line in bad:
        lines.insert(at, line)
    paths = [folder / "1.jsonl", folder / "2.jsonl"]
    for path, part in zip(paths, [lines[:cut], lines[cut:]], strict=True):
        path.write_bytes(b"\n".join(part))
    with headrace.open(paths, persist=False, max_line=250) as dataset:
        expected = outcome(dataset, query, **options)
        divided = outcome(
            dataset, query, engine="spark", partition_bytes=size, **options
        )
    assert divided == expected
