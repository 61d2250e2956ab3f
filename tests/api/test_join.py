"""Joins from Python."""

import gzip
import json

import pytest

import headrace
from headrace.engines.local import join
from headrace.errors import (
    HeadraceWarning,
    JoinTooLargeError,
    KeyIndexError,
    UsageError,
)
from headrace.physical import joins
from tests.reference.compressed import FORMS


@pytest.fixture(autouse=True)
def no_side_is_small(monkeypatch):
    monkeypatch.setattr(joins, "SMALL_BYTES", -1)


def written(path, rows):
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    return path


@pytest.fixture
def sides(tmp_path):
    left = written(tmp_path / "left.jsonl", [{"k": n % 7, "l": n} for n in range(50)])
    right = written(tmp_path / "right.jsonl", [{"k": n, "r": n} for n in range(1000)])
    return left, right


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("form", [{}, {"target": "t"}, {"how": "inner"}])
def test_a_key_with_more_rows_than_are_held_is_read_when_it_is_needed(
    tmp_path, version, form
):
    many = [{"k": "hub", "n": n, "pad": "x" * 50} for n in range(20_000)]
    few = [{"k": n, "n": n} for n in range(500)]
    right = written(
        tmp_path / "r.jsonl", [*many[:9000], *few, *many[9000:], {"k": "last"}]
    )
    keys = [3, "hub", 4, "hub", "absent", "last"]
    left = written(tmp_path / "l.jsonl", [{"k": key} for key in keys])
    headrace.KeyIndex.build(right, "k", index_version=version)
    by_index = headrace.open(left).join(right, "k", index=True, **form)
    in_memory = headrace.open(left).join(right, "k", index=False, **form)
    assert by_index.plan.strategy == "index"
    pieces = list(by_index.lines())
    assert b"".join(pieces) == b"".join(in_memory.lines())
    assert by_index.stats.counts == in_memory.stats.counts
    if not form:
        assert max(map(len, pieces)) < 2 * join.MAX_BYTES


@pytest.mark.parametrize("version", [1, 2])
def test_keys_with_more_rows_than_one_batch(tmp_path, version):
    right = written(
        tmp_path / "r.jsonl",
        [{"k": n % 300, "n": n, "pad": "é" * (n % 90)} for n in range(60_000)],
    )
    left = written(tmp_path / "l.jsonl", [{"k": n % 310} for n in range(400)])
    headrace.KeyIndex.build(right, "k", index_version=version)
    by_index = headrace.open(left).join(right, "k", index=True)
    in_memory = headrace.open(left).join(right, "k", index=False)
    assert b"".join(by_index.lines()) == b"".join(in_memory.lines())
    # Rows that are near each other are read together.
    assert by_index.stats.reads < 2000


def test_long_rows_are_not_all_held(tmp_path):
    rows = [{"k": n % 20, "pad": "x" * 2_000_000} for n in range(40)]
    right = written(tmp_path / "r.jsonl", rows)
    left = written(tmp_path / "l.jsonl", [{"k": n % 20} for n in range(40)])
    headrace.KeyIndex.build(right, "k")
    by_index = headrace.open(left).join(right, "k", index=True)
    in_memory = headrace.open(left).join(right, "k", index=False)
    for one, other in zip(by_index, in_memory, strict=True):
        assert one == other
    assert by_index.stats.counts.lines == 80


@pytest.mark.parametrize(
    "form", ["plain", "gzip, blocks of lines", "zstd, cut anywhere"]
)
def test_a_right_side_in_blocks_is_joined_by_its_index(sides, form):
    left, right = sides
    data = right.read_bytes()
    in_memory = b"".join(headrace.open(left).join(right, "k", index=False).lines())
    right.write_bytes(FORMS[form](data))
    headrace.KeyIndex.build(right, "k")
    joined = headrace.open(left).join(right, "k", index=True)
    assert joined.plan.strategy == "index"
    assert b"".join(joined.lines()) == in_memory


def test_a_right_side_that_cannot_be_seeked_is_held(sides):
    left, right = sides
    right.write_bytes(gzip.compress(right.read_bytes()))
    with pytest.warns(HeadraceWarning, match="only one seekable file"):
        joined = headrace.open(left).join(right, "k", index=True)
    assert joined.count() == 50
    with pytest.raises(KeyIndexError, match="only one seekable file"):
        headrace.open(left).join(right, "k", index=True, require_index=True)


def test_the_right_side_may_be_several_files(sides, tmp_path):
    left, right = sides
    other = written(tmp_path / "other.jsonl", [{"k": 3, "r": "again"}])
    joined = headrace.open(left).join([right, other], "k", how="inner").to_list()
    assert [row["r"] for row in joined if row["k"] == 3][:2] == [3, "again"]


def test_an_index_with_other_limits_is_not_used(sides):
    left, right = sides
    headrace.KeyIndex.build(right, "k")
    short = headrace.open(left, max_line=100)
    with pytest.warns(HeadraceWarning, match="rows over max_line"):
        joined = short.join(right, "k", index=True)
    assert joined.plan.strategy == "hash"
    longer = headrace.open(left, max_line="1GiB").join(right, "k", index=True)
    assert longer.plan.strategy == "index"


def test_an_index_found_damaged_during_the_join_is_abandoned(tmp_path):
    rows = [{"k": n, "r": n} for n in range(20_000)]
    right = written(tmp_path / "r.jsonl", rows)
    left = written(tmp_path / "l.jsonl", [{"k": n} for n in range(20_000)])
    index = headrace.KeyIndex.build(right, "k").path
    content = bytearray(index.read_bytes())
    # A block in the middle: the join reads others before it.
    content[len(content) // 3] ^= 1
    index.write_bytes(content)
    joined = headrace.open(left).join(right, "k", index=True)
    with pytest.warns(HeadraceWarning, match="checksum"):
        found = joined.to_list()
    assert found == rows
    counts = joined.stats.counts
    assert (counts.rows, counts.emitted, counts.hits) == (20_000, 20_000, 20_000)
    assert joined.stats.mode == joined.plan.strategy == "hash"
    strict = headrace.open(left).join(right, "k", index=True, require_index=True)
    with pytest.raises(KeyIndexError, match="checksum"):
        strict.count()


def test_memory_has_a_limit(sides):
    left, right = sides
    with pytest.raises(JoinTooLargeError, match="index build") as caught:
        headrace.open(left).join(right, "k", memory="10KiB").count()
    assert caught.value.limit == 10 << 10
    headrace.KeyIndex.build(right, "k")
    joined = headrace.open(left).join(right, "k", memory="10KiB")
    assert joined.plan.reason == "the right side does not fit into memory"
    assert joined.count() == 50


def test_a_join_can_be_written_and_read_again(sides, tmp_path):
    left, right = sides
    joined = headrace.open(left).join(right, "k")
    assert joined.write(tmp_path / "out.jsonl.zst") == 50
    assert headrace.open(tmp_path / "out.jsonl.zst")[:] == joined.to_list()
    assert joined.to_arrow().column_names == ["k", "l", "r"]


def test_bad_rows_go_to_a_function_or_a_file(sides, tmp_path):
    left, right = sides
    left.write_bytes(b"oops\n" + left.read_bytes())
    rejected = []
    joined = headrace.open(left).join(
        right, "k", on_error="collect", errors=rejected.append
    )
    assert joined.count() == 50
    assert [(row.error.line, row.raw) for row in rejected] == [(1, b"oops")]
    assert joined.stats.bad == 1
    assert joined.stats.errors[0].line == 1
    kept = headrace.open(left).join(
        right, "k", on_error="collect", errors=tmp_path / "bad.jsonl"
    )
    assert kept.count() == 50
    assert headrace.open(tmp_path / "bad.jsonl")[0]["line"] == 1
    remembered = headrace.open(left).join(right, "k", on_error="collect")
    assert remembered.count() == 50
    assert len(remembered.stats.errors) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "name the key"),
        ({"left_on": "k"}, "name the key"),
        ({"on": "k", "how": "outer"}, "how is one of"),
        ({"on": "k", "index": False, "require_index": True}, "index=False uses none"),
        ({"on": "k", "on_error": "stop"}, "on_error is one of"),
        ({"on": "k", "pick": "r"}, "pick is a list"),
        ({"on": "k", "errors": "bad.jsonl"}, "collect"),
        ({"on": ["k", "k"]}, "each field once"),
        ({"left_on": ["k", "l"], "right_on": "k"}, "as many fields"),
    ],
)
def test_invalid_options(sides, options, says):
    left, right = sides
    with pytest.raises(UsageError, match=says):
        headrace.open(left).join(right, **options)
