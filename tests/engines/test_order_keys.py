"""Keyed rows: elements, the order of keys, and refusals."""

import json

import headrace
from headrace.kernel.programs import Counts, Frame, Stage, StreamQuery
from headrace.kernel.sort_keys import KeyedRows
from headrace.physical.query_plan import plan_query
from tests.reference.keyed_rows import VALUES, batch_of, code, elements


def stage(query):
    """Return the first stage of a query over all rows."""
    (planned, *_) = plan_query(query).main.stages
    return Stage.plain(planned.kind, planned.code, planned.count)


def keys_of(*values, **options):
    keyed = KeyedRows(code("$"), **options).of(batch_of(*values))
    return [element.key for element in elements(keyed)]


def test_keys_are_in_the_order_of_a_query(tmp_path):
    path = tmp_path / "values.jsonl"
    path.write_bytes(b"\n".join(VALUES))
    with headrace.open(path, index=False) as dataset:
        expected = b"".join(
            dataset.query("$.rows().sort()", nulls="emit").lines()
        ).splitlines()
    keys = keys_of(*VALUES)
    by_key = sorted(range(len(VALUES)), key=keys.__getitem__)
    assert [VALUES[at].replace(b" ", b"") for at in by_key] == expected


def test_equal_values_have_equal_keys():
    keys = dict(zip(VALUES, keys_of(*VALUES), strict=True))
    assert keys[b"1"] == keys[b"1.0"]
    assert keys[b"0"] == keys[b"-0.0"]
    assert keys[b'{"a": 1, "b": 2}'] == keys[b'{"b": 2.0, "a": 1}']
    assert keys[b"9007199254740993"] != keys[b"9007199254740992.0"]
    assert all(keys.values())


def test_rows_keep_their_bytes_and_those_without_a_key_are_refused():
    rows = KeyedRows(code("10 / k"))
    batch = batch_of(b' {"k":  5} ', b"", b'{"k": 0}', b"{", b'{"k": 2}')
    keyed = rows.of(batch)
    assert [(each.position, each.line) for each in elements(keyed)] == [
        (0, b'{"k":  5}'),
        (4, b'{"k": 2}'),
    ]
    assert [(refused.row, refused.column) for refused in keyed.refused] == [(3, None)]
    assert [(refused.row, refused.column) for refused in keyed.late] == [(2, 1)]
    assert rows.counts == Counts(rows=5, emitted=3, filtered=0, skipped=1, blank=1)


def test_keys_are_computed_between_the_stages():
    rows = KeyedRows(
        code("-$"),
        stages=[stage("$.rows().flat_map(t)")],
        then=[stage("$.rows().flat_map([@, @ * 2]).filter(@ != 4)")],
    )
    keyed = rows.of(batch_of(b'{"t": [1, 2]}', b'{"t": []}', b'{"t": [3]}'))
    minus = dict(zip((1, 2, 3), keys_of(b"-1", b"-2", b"-3"), strict=True))
    assert [element[:3] for element in elements(keyed)] == [
        (0, b"1", minus[1]),
        (0, b"2", minus[1]),
        (0, b"2", minus[2]),
        (2, b"3", minus[3]),
        (2, b"6", minus[3]),
    ]
    assert rows.counts == Counts(rows=3, emitted=2, filtered=1)


def test_a_row_that_fails_in_a_stage_contributes_nothing():
    rows = KeyedRows(
        code("6 / $"),
        stages=[stage("$.rows().flat_map(t).map(12 / @)")],
        then=[stage("$.rows().map(12 / (@ - 4))")],
    )
    batch = batch_of(b'{"t": [1, 0]}', b'{"t": [2, 3]}', b'{"t": [2, 4]}')
    keyed = rows.of(batch)
    assert [each.position for each in elements(keyed)] == [2, 2]
    assert [refused.row for refused in keyed.refused] == [0]
    assert [refused.row for refused in keyed.late] == [1]


def test_compact_rows_are_written_without_spaces():
    keyed = KeyedRows(code("$"), compact=True).of(batch_of(b'{"k":  [1, 2.50]}'))
    assert [each.line for each in elements(keyed)] == [b'{"k":[1,2.50]}']


def test_values_that_join_with_nothing_have_an_empty_key():
    values = [b"null", b"[1, null]", b"[1]", b"{}", b'{"a": null}']
    keys = keys_of(*values, joins=True)
    assert [bool(key) for key in keys] == [False, False, True, True, True]
    assert all(keys_of(*values))


def test_joined_elements_without_a_key_have_their_rows():
    filling = StreamQuery(
        [Stage.table("join", code("k"), None)],
        reduction="count",
        limit=None,
        nulls=True,
        max_memory=1 << 20,
        held_before=0,
        max_depth=9,
    )
    filling.answer(batch_of(b'{"k": 1, "x": 1}', b'{"k": 1, "x": 2}'), 0)
    rows = KeyedRows(None, stages=[Stage.join("join", code("k"), filling.table(), "r")])
    keyed = rows.of(batch_of(b'{"k": 2}', b'{"k": 1.0}'))
    assert [element[:3] for element in elements(keyed)] == [
        (1, b'{"k":1.0,"r":{"k":1,"x":1}}', b""),
        (1, b'{"k":1.0,"r":{"k":1,"x":2}}', b""),
    ]


def test_framed_lines_have_keys():
    rows = KeyedRows(code("$.k"), frame=Frame("|"), max_depth=9)
    keyed = rows.of(batch_of(b'a|{"k": 1}', b"no frame", b"b|null"))
    assert [each.line for each in elements(keyed)] == [b'{"k": 1}']
    assert rows.counts == Counts(rows=3, emitted=1, filtered=1, skipped=1)


def test_keys_with_some_parts_descending():
    values = [None, True, -1, 1.5, 10**30, "", "a", "a\0", "ab", [], [1], {"a": 1}]
    pairs = [[left, right] for left in values for right in values]
    rows = batch_of(*(json.dumps(pair).encode() for pair in pairs))
    ranks = {json.dumps(value): rank for rank, value in enumerate(values)}
    for falling in ([False, True], [True, False], [True, True]):
        made = elements(KeyedRows(code("$"), falling=falling).of(rows))
        found = [
            json.loads(each.line) for each in sorted(made, key=lambda each: each.key)
        ]
        signs = [-1 if falls else 1 for falls in falling]
        expected = sorted(
            pairs,
            key=lambda pair: [
                sign * ranks[json.dumps(part)]
                for sign, part in zip(signs, pair, strict=True)
            ],
        )
        assert found == expected
