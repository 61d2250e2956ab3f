"""Stream queries: values of names, refusals, and lines or one value as output."""

import json

import pytest

import headrace
from headrace.errors import QueryMeaningError, RowFailedError, UsageError
from tests.reference.engines import BY_TASKS

ROWS = [{"id": 0, "v": 32}, {"id": 1, "v": 14}, {"id": 2, "v": 73}]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("all_rows") / "w.jsonl"
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in ROWS))
    with headrace.open(path, index=False) as dataset:
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
        # In a stage, names in a lambda are fields of the row, wherever the path stands.
        ("[1, 2].map([@, $.rows().count(e => e.id == id)])", [[1, 3], [2, 3]]),
        ("{id: 9} | [id, ...$.rows().map(e => [e.id, id, @.v])]", [[9, [0, 0, 32], [1, 1, 14], [2, 2, 73]]]),
        # The branch after else must not fail where it is not needed.
        ("try {n: 2} else $.rows().filter(id + nope).count()", [{"n": 2}]),
        ("let s = $.rows() in s.map($.id)", [0, 1, 2]),
        ("let v = $.rows().filter(v > 20) in v.map($.v)", [32, 73]),
        ("let v = $.rows().filter(v > 20) in {v, n: v.count()}", [{"v": [ROWS[0], ROWS[2]], "n": 2}]),
        ("let v = 2, s = $.rows().map(v) in $.rows().map([v, s.count()])", [[2, 3]] * 3),
        ("let v = v => v + 1 in $.rows().map(v(@.v))", [33, 15, 74]),
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
        ("$.rows().v.sum()", "row", 9, "$.rows().sum(v)"),
        ("$.rows().filter(k).v", "row", 19, "$.rows().map(v)"),
        ("{n: $.count(), k}", "stream", 16, "$.map(k)"),
        ("id", "stream", 1, "$.map(id)"),
        ("$.id", "stream", 2, "@id"),
        ("$.join(p, on: id)", "stream", 8, "@p"),
    ],
)
def test_a_field_of_no_row_is_refused(rows, query, mode, column, cure):
    with pytest.raises(QueryMeaningError) as refused:
        rows.query(query, stream=mode == "stream")
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
    assert rows.query(query, stream=True).to_list() == expected


# Lines or one value

LINES = [
    "$.rows().map(id)",
    "$.rows()[*].id",
    "$.rows(){id >= 0}[*].id",
    "let t = 9 in $.rows().map(id)",
    "let t = $.rows().count() in $.rows().map(id)",
    "let t = $.rows().count() in $.rows().filter(id < t).map(id)",
    "9 -> t | $.rows().map(id)",
    "$.rows() -> s | s.map(id)",
    "$.rows().map(id) | @",
    "$.rows() | @.map(id)",
    "($.rows().map(id))",
    "$.rows().map(id) if 1 < 2 else null",
    "null if $.rows().count() == 0 else $.rows().map(id)",
    "$.rows().map(id) ?? []",
    "null ?? $.rows().map(id)",
    "try $.rows().map(id) else []",
    "try $.rows().map(id + 0) else []",
    "match $.rows().count() with {0 -> 0, _ -> $.rows().map(id)}",
    "$.rows().map(id) + []",
    "[] + $.rows().map(id)",
    "[x for x in $.rows().map(id)]",
    "$.rows().take(2).map(id).append(2)",
    "$.rows().map(id).union([0])",
    "union($.rows().map(id), [0])",
]
VALUES = [
    ("$.rows().count()", 3),
    ("let t = 9 in $.rows().count()", 3),
    ("[...$.rows().map(id)]", [0, 1, 2]),
    ("$.rows().group_by(v).values().len()", 3),
    ("$.rows().map(id).fold([], (all, x) => all + [x])", [0, 1, 2]),
    ("[1, 2].map(@) == $.rows().map(id)", False),
    ("$.rows().count() if 1 < 2 else $.rows().count()", 3),
]


@pytest.mark.parametrize("query", LINES)
def test_a_tail_that_gives_elements_gives_lines(rows, query):
    divided = {**BY_TASKS, "partition_bytes": 20}
    for shape in (None, "lines", "array"):
        local = b"".join(rows.query(query, shape=shape).lines())
        assert b"".join(rows.query(query, shape=shape, **divided).lines()) == local
    assert rows.query(query).to_list() == [0, 1, 2]
    whole = rows.query(query.replace("$.rows()", "$"), stream=True)
    assert whole.to_list() == [0, 1, 2]
    (array,) = rows.query(query, shape="array").lines()
    assert json.loads(array) == [0, 1, 2]


@pytest.mark.parametrize(("query", "value"), VALUES)
def test_any_other_tail_gives_one_value(rows, query, value):
    divided = {**BY_TASKS, "partition_bytes": 20}
    for shape in (None, "lines", "array"):
        local = b"".join(rows.query(query, shape=shape).lines())
        assert b"".join(rows.query(query, shape=shape, **divided).lines()) == local
    assert rows.query(query).to_list() == [value]
    lines = rows.query(query, shape="lines").to_list()
    assert lines == (value if isinstance(value, list) else [value])


def test_a_limit_with_shape_array_is_refused(rows):
    with pytest.raises(UsageError, match=r"write \.take\(n\)"):
        rows.query("$.rows().map(id)", shape="array", limit=2)


def test_a_shape_is_that_of_all_rows(rows):
    with pytest.raises(UsageError, match=r"write \$\.rows\(\)\.map"):
        rows.query("id", shape="array")
    with pytest.raises(UsageError, match="shape"):
        rows.query("$.rows()", shape="table")


@pytest.mark.parametrize(
    "query",
    [
        "let t = 2 in $.rows().filter(id > t).count()",
        "let t = 1 + 1, u = t in $.rows().filter(id > u).count()",
        "let f = x => x + 1 in $.rows().filter(f(id) > 3).count()",
        "let t = 'a'.len() + 1 in try $.rows().filter(id > t).count() else 0",
        "2 -> t | $.rows().filter(id > t) | count",
        "$.rows().filter(id > 2) -> s | s.count()",
        "$.rows() -> s | {n: s.count(), m: s.max(id)} | n - 3",
        "($.rows().filter(id > 2).count() if 2 > 1 else null) ?? 0",
        "let s = $.rows().filter(id > 2) in s.count()",
        "let n = $.rows().count() in n - 3",
    ],
)
def test_sub_queries_computed_beforehand_hold_no_rows(tmp_path, query):
    path = tmp_path / "many.jsonl"
    path.write_bytes(b"".join(b'{"id": %d}\n' % number for number in range(5000)))
    with headrace.open(path, index=False) as dataset:
        assert dataset.query(query, memory="10KiB").to_list() == [4997]


# Keys that cannot be computed


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("$.rows().sort(v / (id - 1)).map(id)", [0, 2]),
        ("$.rows().sort(-(v / (id - 1))).map(id)", [2, 0]),
        ("$.rows().sort(r => r.v / (r.id - 1)).take(2).map(id)", [0, 2]),
        ("$.rows().group_by(v / (id - 1)).values().flat_map(@).map(id)", [0, 2]),
        ("$.rows().index_by(v / (id - 1)).values().map(id)", [0, 2]),
        ("$.rows().min_by(v / (id - 1)).id", [0]),
        ("$.rows().max_by(v / (id - 1)).id", [2]),
        ("$.rows().partition(v / (id - 1) > 0).map(@.map(id))", [[2], [0]]),
    ],
)
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_row_whose_key_fails_is_one_bad_row(rows, query, kept, engine):
    options = {**BY_TASKS, "partition_bytes": 20} if engine == "spark" else {}
    with pytest.raises(RowFailedError) as failed:
        rows.query(query, **options).to_list()
    assert (failed.value.line, failed.value.offset) == (2, 19)
    assert "division by zero" in failed.value.reason
    result = rows.query(query, on_error="skip", **options)
    assert result.to_list() == kept
    assert result.stats.bad == 1


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("$.rows().min_by(xs.count(@ > 1)).id", 0),
        ("$.rows().sort(xs.filter(@ > 1)).first().id", 0),
        ("$.rows().find(id == 1) -> row | (try row.xs.filter(@ > 1) else 7)", 7),
    ],
)
def test_a_key_fails_on_a_value_without_elements(tmp_path, query, kept):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": 0, "xs": [1]}\n{"id": 1, "xs": 3}\n')
    with headrace.open(path, index=False) as dataset:
        if "try" not in query:
            with pytest.raises(RowFailedError) as failed:
                dataset.query(query).to_list()
            assert failed.value.line == 2
        assert dataset.query(query, on_error="skip").to_list() == [kept]


def test_distinct_by_with_a_query_over_all_rows_is_refused(rows):
    with pytest.raises(QueryMeaningError, match="distinct_by is a key of each row"):
        rows.query("id", distinct_by="$.rows()")
