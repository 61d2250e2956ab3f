"""Writes: their results, and ambiguous ones, which are refused.

`tests/features/queries/test_writes.py` compares them with the reference.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.api.results import evaluate
from headrace.errors import HeadraceError, QueryMeaningError
from tests.reference.generated.writes import DOCUMENTS

ROW = {
    "id": 0, "v": 32, "u": {"n": "Ada"}, "us": [{"k": "x", "v": 1}, {"k": "y", "v": 2}],
    "xs": [3, 1, 2], "t": "2026-01-02",
}  # fmt: skip
ROWS = [{"id": 0, "v": 32}, {"id": 1, "v": 14}, {"id": 2, "v": 73}]


def result_of(query, document=ROW):
    return json.loads(evaluate(query, json.dumps(document).encode()))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('$.update({"u.n": n.upper()}) | u', {"n": "ADA"}),
        ('$.update({"u.n": $.u.n.upper()}) | u', {"n": "ADA"}),
        ("$.update({v: @ + 1}) | v", 33),
        ("$.update({v: v + 1, w: v}) | [v, w]", [33, 32]),
        ("$.update({v: 1 when v > 40, id: 9 when v > 30}) | [v, id]", [32, 9]),
        ("$.us[*].v.set(k) | us[*].v", ["x", "y"]),
        ("patch $ {us[*].w: v} | us[*].w", [1, 2]),
        ("patch $ {us[*].w: 0 when v > 1} | us[*].w", [None, 0]),
        ("patch $ {u.m: n} | u", {"n": "Ada", "m": "Ada"}),
        ("$.us[*].modify({w: k}) | us", [{"w": "x"}, {"w": "y"}]),
        ("$.u.merge({w: v}) | u", {"n": "Ada", "w": 32}),
        ("$.u.modify(u => {n: u.n, w: v}) | u", {"n": "Ada", "w": 32}),
        ("let f = x => [x, v] in $.id.modify(f) | id", [0, 32]),
        ("$.us[*].v.set([x + 1 for x in [@]]) | us[*].v", [[2], [3]]),
        ("patch $ {w: 1 when has(v), x: 1 when has(nope)} | [w, x]", [1, None]),
        ("$.us[*].w.set(has(k)) | us[*].w", [True, True]),
        ("$.xs[id].set(7) | xs", [7, 1, 2]),
        ("us.map($.xs[v].set(0)) | @[*].xs", [[3, 0, 2], [3, 1, 0]]),
        ("us.map(u => u.update({v: v + 1})) | @[*].v", [2, 3]),
        ("$.us[*].w.set(nope ?? 0) | us[*].w", [0, 0]),
        ("$.us[*].w.set(try nope else 0) | us[*].w", [0, 0]),
        ("$.us[*].w.set({a?: nope}) | us[*].w", [{}, {}]),
        ("$.us[*].w.set(nope == 1) | us[*].w", [False, False]),
        # Lambdas and loops leave names and @ alone, in a change as elsewhere.
        ("$.us[*].v.set([[x, k] for x in [1]]) | us[*].v", [[[1, "x"]], [[1, "y"]]]),
        (
            "$.us[*].v.set([0].map(x => [x, k, @])) | us[*].v",
            [[[0, "x", 1]], [[0, "y", 2]]],
        ),
        ("patch $ {us[*].w: [k + x for x in ['z']]} | us[*].w", [["xz"], ["yz"]]),
        (
            "let d = $.id.set(1) in d.u.n.set([n + x for x in ['a']]) | [id, u.n]",
            [1, ["Adaa"]],
        ),
        (
            "us.map(o => o.v.set(k) | o.w.set([k + x for x in ['z']])) | @[*].w",
            [["xz"], ["yz"]],
        ),
        ("us.map(u => $.us[0].v.set(u.v).us[0].v)", [1, 2]),
    ],
)
def test_names_are_fields_beside_the_one_that_is_changed(query, expected):
    assert result_of(query) == expected


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ('$.update({"u.n": u.n.upper()})', r"no field u .*write \$\.u"),
        ("patch $ {u.n: v}", r"no field v beside .*write \$\.v"),
        ("$.u.modify({id, n: n})", r"no field n beside .*@\.n"),
        ("$.us[*].w.set(nope)", r"no field nope .*nope \?\? null"),
        ("$.us[*].w.set([id])", "no field id"),
        ("$.us[*].w.set({id})", "no field id"),
        ("$.us[*].w.set(1 if k == 'z' else id)", "no field id"),
        ("$.xs[*].modify(@ * v)", r"v is looked up in number 3; write \$\.v"),
        ("$.new.w.set(v)", r"v is looked up in null; write \$\.v"),
        ("$.us.v.set(0)", r"us is an array; write us\[\*\]\.v"),
        ("$.us.v.delete()", r"us is an array; write us\[\*\]\.v"),
        ("$.us.update({v: 0})", r"us is an array; write us\[\*\]\.v"),
        ("patch $ {us.v.w: 0}", r"us is an array; write us\[\*\]\.v\.w"),
        ('$.set_path("us.v", 0)', r"us is an array; write us\[\*\]\.v"),
        ("$.t.x.set(1)", "t is no object but string, so x cannot be changed"),
        ('$.t["a b"].x.set(1)', "t is no object but string"),
        ("$.u[0].set(1)", r"u is no array but object, so \[0\] cannot be changed"),
        ("$.u[*].v.set(1)", r"\[\*\] wants an array, not object"),
    ],
)
def test_no_null_is_written_and_nothing_replaced_by_mistake(query, reason):
    with pytest.raises(HeadraceError, match=reason):
        result_of(query)


def test_a_row_that_cannot_be_changed_has_its_place(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"us": {"v": 1}}\n{"us": [{"v": 1}]}\n{}\n')
    result = headrace.open(path).query("$.us.v.set(0)", on_error="collect")
    assert list(result) == [{"us": {"v": 0}}, {"us": {"v": 0}}]
    (error,) = result.report.errors
    assert (error.path, error.line, error.offset) == (str(path), 2, 17)


@pytest.mark.parametrize(
    ("query", "column", "reason", "hint"),
    [
        ("$.xs[1:].delete()", 5, "a slice is not a place", "[* if ...].delete(...)"),
        ("$.xs[0:2].set(9)", 5, "a slice is not a place", ".modify(@[...])"),
        (
            "$.us.find(k == 'x').v.set(0)",
            5,
            "the result of find()",
            "[* if ...].set(...)",
        ),
        ("$.us.first().v.set(0)", 5, "the result of first()", "| set(...)"),
        ("$.us.filter(v > 1).unset(v)", 5, "the result of filter()", "| unset(...)"),
        ("$.us{v > 1}.v.set(0)", 5, "a filter in braces", "[* if ...].set(...)"),
        ("$.xs!.set(0)", 5, "a path goes through fields and elements", "[* if"),
        ("$.a.set(1).us.first().set(0)", 14, "the result of first()", "| set(...)"),
        ("{a: [$.us.first().set(0)]}", 10, "the result of first()", "| set(...)"),
        ("$.rows()[0].v.set(5)", 2, "rows() is not a place", "$.rows().map($.v.set("),
        ("$.rows().first().delete()", 2, "rows() is not a place", "--stream"),
        ("$.rows().count().set(3)", 2, "rows() is not a place", "--stream"),
        ("u.n.set(5)", 1, "does not begin with $", "write $.u.n.set(...)"),
        ("v.modify(@ + 1)", 1, "does not begin with $", "patch @ {v: ...}"),
        ("us.map(v.set(5))", 8, "does not begin with $", "write $.v.set(...)"),
        ("@.u.delete()", 1, "does not begin with $", "write $.u.delete(...)"),
        ("$.update(t, 1)", 10, "update takes its path in quotes", "$.set_path(p"),
        ("$.update({...u})", 11, "update takes keys", "update({key: value})"),
        ("$.update({a?: u})", 11, "update takes keys", "update({key: value})"),
        ("$.a.set(x => 1)", 9, "set takes a value", "write modify(x => ...)"),
        ("$.a.set(other: 1)", 9, "set has no argument other", "there is value"),
    ],
)
def test_a_write_that_is_about_no_place_is_refused(
    tmp_path, query, column, reason, hint
):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROW) + "\n")
    with pytest.raises(QueryMeaningError) as refused:
        headrace.open(path).query(query).to_list()
    shown = str(refused.value)
    assert f"column {column}:" in shown
    assert reason in shown
    assert hint in shown


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("$[0].v.set(5)", [{"id": 0, "v": 5}, *ROWS[1:]]),
        ("$[*].v.set(0)", [{**row, "v": 0} for row in ROWS]),
        ("$[*].v.set(id)", [{**row, "v": row["id"]} for row in ROWS]),
        ("$[* if v > 20].v.set(0)", [{**ROWS[0], "v": 0}, ROWS[1], {**ROWS[2], "v": 0}]),
        ("$[-1].delete()", ROWS[:2]),
        ("$[*].delete()", []),
        ("$[* if v > 20].delete()", [ROWS[1]]),
        ('$[1].unset("v")', [ROWS[0], {"id": 1}, ROWS[2]]),
        ("$[0].update({v: v + 1})", [{"id": 0, "v": 33}, *ROWS[1:]]),
        ("$..v.modify(@ + 1)", [{**row, "v": row["v"] + 1} for row in ROWS]),
        ("$[*].v.set($.count())", [{**row, "v": 3} for row in ROWS]),
        ("$[$.count() - 1].v.set(0)", [*ROWS[:2], {"id": 2, "v": 0}]),
        ("$[0].v.set(5) | $[1].v.set(6)", [{"id": 0, "v": 5}, {"id": 1, "v": 6}, ROWS[2]]),
        ("$[*].v.set(id).sum(v)", [3]),
        ("$[*].v.set(0) | @.filter(id > 1)", [{"id": 2, "v": 0}]),
        ("{a: $[0].v.set(5).first(), n: $.count()}", [{"a": {"id": 0, "v": 5}, "n": 3}]),
        ("let x = $[0].v.set(1) in $[1].v.set(2).sum(v)", [76]),
        ("$.rows().map($.v.set(5))", [{**row, "v": 5} for row in ROWS]),
        ("$.rows().sort(-id).map($.v.set(5)).first()", [{"id": 2, "v": 5}]),
    ],
)  # fmt: skip
def test_a_write_to_all_rows_gives_all_rows(tmp_path, query, expected):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    ds = headrace.open(path)
    assert ds.query(query, stream=True).to_list() == expected
    if not query.startswith("$.rows()"):
        return
    assert ds.query(query).to_list() == expected


def test_a_write_to_each_row_of_a_stream_holds_no_rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(
        "".join(f'{{"id": {n}, "v": "{"x" * 500}"}}\n' for n in range(9999))
    )
    ds = headrace.open(path)
    for query in ("$[*].v.set(0).count()", "$[* if id > 9].v.delete().count()"):
        assert ds.query(query, stream=True, memory="100KB").to_list() == [9999]


OBJECTS = '[{"a": {"b": 1, "c": 2}}, 5, {"a": 3}]'


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("omit(a)", [{}, 5, {}]),
        ('omit("a.b")', [{"a": {"c": 2}}, 5, {"a": 3}]),
        ('pick("a.b")', [{"a": {"b": 1}}, 5, {}]),
        ('pick("a.b", "a.c")', [{"a": {"b": 1, "c": 2}}, 5, {}]),
        ('pick(x: "a.b")', [{"x": 1}, 5, {}]),
        ("merge({d: 1})", [{"a": {"b": 1, "c": 2}, "d": 1}, 5, {"a": 3, "d": 1}]),
        ("deep_merge({a: {d: 1}})",
         [{"a": {"b": 1, "c": 2, "d": 1}}, 5, {"a": {"d": 1}}]),
        ("defaults({d: 1})", [{"a": {"b": 1, "c": 2}, "d": 1}, 5, {"a": 3, "d": 1}]),
        ('rename({a: "z"})', [{"z": {"b": 1, "c": 2}}, 5, {"z": 3}]),
        ("unset(a)", [{}, 5, {}]),
        ("flatten_keys()", [{"a.b": 1, "a.c": 2}, 5, {"a": 3}]),
        ("flatten_keys() | unflatten_keys", [{"a": {"b": 1, "c": 2}}, 5, {"a": 3}]),
        ("transform_values(1)", [{"a": 1}, 5, {"a": 1}]),
        ("transform_keys(@ + 'x')", [{"ax": {"b": 1, "c": 2}}, 5, {"ax": 3}]),
        ("filter_values(@ is number)", [{}, 5, {"a": 3}]),
        ("filter_keys(@ != 'a')", [{}, 5, {}]),
        ("invert()", [{'{"b":1,"c":2}': "a"}, 5, {"3": "a"}]),
    ],
)  # fmt: skip
def test_methods_of_objects_go_into_arrays_and_keep_the_rest(query, expected):
    given = json.loads(evaluate(f"@ | {query}", OBJECTS.encode()))
    assert given == expected


@pytest.mark.parametrize(
    ("query", "document", "expected"),
    [
        ('rename({a: "z"})', '{"a":1,"b":2}', '{"z":1,"b":2}'),
        ('rename({a: "b", b: "a"})', '{"a":1,"b":2}', '{"b":1,"a":2}'),
        ('rename({b: "a"})', '{"a":1,"b":2,"c":3}', '{"a":2,"c":3}'),
        ('rename({x: "a"})', '{"a":1}', '{"a":1}'),
        ('pick("a.b.c")', '{"a":{"b":{"c":1,"d":2}}}', '{"a":{"b":{"c":1}}}'),
        ('omit("a.b", "c")', '{"a":{"b":1},"c":2,"a.b":3}', '{"a":{"b":1}}'),
        ("unflatten_keys()", '{"a":{"c":2},"a.b":1}', '{"a":{"c":2,"b":1}}'),
        ("unflatten_keys()", '{"a.b":1,"a":{"c":2}}', '{"a":{"b":1,"c":2}}'),
        ("unflatten_keys()", '{"a.b.c":1,"a.b.d":2}', '{"a":{"b":{"c":1,"d":2}}}'),
    ],
)  # fmt: skip
def test_keys_keep_their_order(query, document, expected):
    assert evaluate(f"@ | {query}", document.encode()).decode() == expected


@pytest.mark.parametrize(
    ("query", "document", "reason"),
    [
        ("unflatten_keys()", '{"a":1,"a.b":2}', "a.b has no place: a is number 1"),
        ("unflatten_keys()", '{"a.b":2,"a":1}', "a is number 1"),
        ("unflatten_keys()", '{"a":{"b":1},"a.b":2}', "two values have the key a.b"),
        ("flatten_keys()", '{"a":{"b":1},"a.b":2}', "two values have the key a.b"),
        ('pick("a[0]")', '{"a":[1]}', 'pick\\(name: "a\\[0\\]"\\)'),
        ('pick("a.0")', '{"a":[1]}', "an element needs a name"),
    ],
)  # fmt: skip
def test_no_key_is_lost(query, document, reason):
    with pytest.raises(HeadraceError, match=reason):
        evaluate(f"@ | {query}", document.encode())


TEXT_PATHS = st.lists(
    st.sampled_from(["a", "b", "us", "xs", "o", "0", "1"]), min_size=1, max_size=3
)


@given(document=DOCUMENTS, path=TEXT_PATHS, brackets=st.booleans())
def test_get_path_returns_the_value_of_set_path(document, path, brackets):
    text = ".".join(path)
    if brackets:
        text = "".join(
            f"[{each}]" if each.isdigit() else f'["{each}"]' for each in path
        )
    quoted = json.dumps(text)
    try:
        written = result_of(f"$.set_path({quoted}, 'new')", document)
    except HeadraceError:
        return
    found = result_of(f"$.get_path({quoted})", written)
    assert found == "new" or written == document
