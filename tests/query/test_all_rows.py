"""Questions to all rows: what a name stands for, what is refused, lines or one value."""

import json

import pytest

import headrace
from headrace.logical.errors import QueryMeaningError

ROWS = [{"id": 0, "v": 32}, {"id": 1, "v": 14}, {"id": 2, "v": 73}]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("all_rows") / "w.jsonl"
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in ROWS))
    with headrace.open(path, persist=False) as dataset:
        yield dataset


SHARES = [[0, 32 / 119], [1, 14 / 119], [2, 73 / 119]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("let s = $.rows().sum(v), n = $.rows().count() in {s, n}", [{"s": 119, "n": 3}]),
        ("let s = $.rows().sum(v) in {s, n: $.rows().count()}", [{"s": 119, "n": 3}]),
        ("let s = $.rows().sum(v) in {s?: s}", [{"s": 119}]),
        ("let s = $.rows().sum(v) in {a: {s}}", [{"a": {"s": 119}}]),
        ("let s = $.rows().sum(v) in [{s}]", [[{"s": 119}]]),
        ("$.rows().sum(v) -> s | {s}", [{"s": 119}]),
        ("let s = $.rows().filter(v > 20) in {n: s.count(), s}", [{"n": 2, "s": [ROWS[0], ROWS[2]]}]),
        ("let s = $.rows().sum(v) in $.rows().map([id, v / s])", SHARES),
        ("let m = $.rows().max(v) in $.rows().find(v == m)", [ROWS[2]]),
        ("$.rows().max(v) -> m | $.rows().filter(v == m)", [ROWS[2]]),
        ("let s = $.rows().sum(v) in $.rows().map({id, s})", [{"id": n, "s": 119} for n in range(3)]),
        ("let s = $.rows().filter(v > 20), v = 5 in s.count()", [2]),
        ("let v = 5, s = $.rows().filter(v > 20) in s.count()", [0]),
        ("let f = x => x / $.rows().sum(v) in $.rows().map(v).map(f).count()", [3]),
        ("let s = $.rows() in s.map($.id)", [0, 1, 2]),
        ("[1, 2].map(@ * $.rows().count())", [3, 6]),
        ('f"{$.rows().count()} of {$.rows().sum(v)}"', ["3 of 119"]),
        ("match $.rows().count() with {3 -> $.rows().max(v), _ -> 0}", [73]),
        ("try $.rows().map(v / id).count() else 'none'", ["none"]),
        ("$.rows().find(v > 99) ?? $.rows().count()", [3]),
        ("$.rows().count() if $.rows().any(v > 72) else 0", [3]),
    ],
)  # fmt: skip
def test_a_name_stands_for_the_value_of_all_rows(rows, query, expected):
    assert rows.query(query).to_list() == expected


@pytest.mark.parametrize(
    ("query", "mode", "column", "cure"),
    [
        ("$.rows().filter(v == $.rows().max(v))", "row", 22, "--stream"),
        ("$.rows().map({id, share: v / $.rows().sum(v)})", "row", 30, "-> m |"),
        ("$.rows().take($.rows().count())", "row", 15, "-> m |"),
        ("$.rows().filter(v == $.rows().max(v))", "stream", 22, "-> m |"),
        ("{n: $.rows().count(), k}", "row", 23, "$.rows().map(k)"),
        ("{n: $.rows().count(), k: id}", "row", 26, "$.rows().map(id)"),
        ("$.rows().count() + $.id", "row", 20, "-> n |"),
        ("[$.rows().count(), @]", "row", 20, "-> n |"),
        ("$.rows().count() + len()", "row", 20, "-> n |"),
        ("$.rows().take(id)", "row", 15, "$.rows().map(id)"),
        ("$.rows().take($.id)", "row", 15, "-> n |"),
        ("{n: $.count(), k}", "stream", 16, "$.map(k)"),
        ("id", "stream", 1, "$.map(id)"),
        ("$.id", "stream", 2, "@id"),
        ("$.join(p, on: id)", "stream", 8, "@p"),
    ],
)
def test_what_no_row_has_is_refused(rows, query, mode, column, cure):
    with pytest.raises(QueryMeaningError) as refused:
        rows.query(query, mode=mode)
    assert (refused.value.column, cure in refused.value.hint) == (column, True), str(
        refused.value
    )


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("$[0].v.set(5)", [{"id": 0, "v": 5}, ROWS[1], ROWS[2]]),
        ("$[*].v.set(0)", [{**row, "v": 0} for row in ROWS]),
        ("$[* if v > 20].v.set(0)", [{**ROWS[0], "v": 0}, ROWS[1], {**ROWS[2], "v": 0}]),
        ("$[-1].delete()", ROWS[:2]),
        ('$[1].unset("v")', [ROWS[0], {"id": 1}, ROWS[2]]),
        ("$[0].update({v: v + 1})", [{"id": 0, "v": 33}, ROWS[1], ROWS[2]]),
        ("$..v.modify(@ + 1)", [{**row, "v": row["v"] + 1} for row in ROWS]),
        ("$[0].v.set(5).sum(v)", [92]),
        ("{n: $.count(), all: $[0].v.set(5)}", [{"n": 3, "all": [{"id": 0, "v": 5}, *ROWS[1:]]}]),
    ],
)  # fmt: skip
def test_a_write_over_a_stream_is_all_rows_with_a_change(rows, query, expected):
    assert rows.query(query, mode="stream").to_list() == expected
