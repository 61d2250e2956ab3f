"""What docs/determinism.md promises and no single example can show."""

import gzip
import json
import math
import os
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.api.results import evaluate
from tests.docs.markdown import DOCUMENTS, ROOT

LINES = st.lists(
    st.sampled_from([b'{"a": 1}', b'{"a": 2.50, "b": []}', b"", b'{"b": 1}', b'"text"'])
)
QUERIES = ["$", "{a, b: b}", "$.rows().unique_by(a)", "$.rows().sum(a)"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("determinism")


def written(paths, query, **options):
    return b"".join(headrace.open(paths).query(query, **options).lines())


@pytest.mark.parametrize("query", QUERIES)
@given(parts=st.lists(LINES, min_size=1, max_size=4))
def test_answers_are_in_the_order_of_rows_however_the_input_is_cut(
    folder, query, parts
):
    whole = folder / "whole.jsonl"
    whole.write_bytes(b"".join(line + b"\n" for part in parts for line in part))
    paths = []
    for number, part in enumerate(parts):
        content = b"".join(line + b"\n" for line in part)
        paths.append(folder / f"part-{number}.jsonl")
        paths[-1].write_bytes(gzip.compress(content) if number % 2 else content)
    assert written(paths, query) == written(whole, query)


FLOATS = st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20)


@given(data=st.data(), numbers=FLOATS)
def test_sums_are_rounded_once_in_any_order(folder, data, numbers):
    shuffled = data.draw(st.permutations(numbers))
    wanted = math.fsum(numbers)
    assert json.loads(evaluate("$.sum()", json.dumps(shuffled).encode())) == wanted
    cut = data.draw(st.integers(0, len(shuffled)))
    paths = [folder / "sum-1.jsonl", folder / "sum-2.jsonl"]
    for path, part in zip(paths, (shuffled[:cut], shuffled[cut:]), strict=True):
        path.write_text("".join(f"{json.dumps(number)}\n" for number in part))
    for query in ("$.rows().sum()", "$.rows().sum(@)"):
        assert headrace.open(paths).query(query).to_list() == [wanted]


def test_an_estimate_is_the_same_in_every_process(folder):
    path = folder / "distinct.jsonl"
    path.write_text("".join(f"{n}\n" for n in range(20_000)))
    command = [sys.executable, "-m", "headrace", "query"]
    estimates = {
        subprocess.check_output(
            [*command, "$.rows().approx_count_distinct()", str(path)],
            env=os.environ | {"PYTHONHASHSEED": seed},
        )
        for seed in ("1", "2")
    }
    assert len(estimates) == 1
    assert estimates.pop() != b"20000\n", "it is no estimate, so this shows nothing"


BAD = [b"{", b'{"a": yes}', b'"\\ud800"', b'{"b": "\xff"}', b"[" * 300 + b"]" * 300]
MIXED = st.lists(st.sampled_from([b'{"a": 1}', b"", b" ", *BAD]), max_size=30)


@given(lines=MIXED)
def test_the_same_rows_are_bad_in_every_mode(folder, lines):
    path = folder / "bad.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    wanted = [number for number, line in enumerate(lines, 1) if line in BAD]
    ds = headrace.open(path)
    ways = [("a", {}), ("1", {}), ("$.rows().count()", {}), ("$.rows().sort(a)", {})]
    ways += [(query, {"reverse": True}) for query, _options in ways]
    for query, options in ways:
        result = ds.query(query, on_error="collect", **options)
        result.count()
        assert sorted(error.line for error in result.report.errors) == wanted
        assert result.report.counts.skipped == len(wanted)
        assert result.report.counts.blank == sum(not line.strip() for line in lines)
    stats = ds.stats()
    assert [bad.line for bad in stats.first_bad] == wanted[:10]
    assert stats.bad == len(wanted)


def test_every_test_a_document_names_is_there():
    named = []
    for path in DOCUMENTS:
        text = path.read_text()
        # A document may give a file of tests a short name, and then use that.
        short = dict(re.findall(r"`(\w+)`(?: is)?\s`(tests/[\w/]+\.py)`", text))
        named += [
            (path.name, short.get(file, file), test)
            for file, test in re.findall(r"`([\w/.]+)::(test_\w+)`", text)
        ]
    assert len(named) >= 100
    for document, file, test in named:
        assert f"def {test}(" in (ROOT / file).read_text(), (
            f"{document}: {file}::{test}"
        )
