"""Typed columns of any rows equal those of a slow reader of JSON."""

import json
import math

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace import _native
from headrace.kernel.arrow.columns import ColumnBuilder, Inference
from headrace.kernel.arrow.types import arrays, struct_shape
from headrace.kernel.rows import RowBatch
from tests.reference.slow_columns import slow_columns

TYPES = {
    "boolean": pa.bool_(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
INTEGERS = {1: pa.int8(), 2: pa.int16(), 4: pa.int32(), 8: pa.int64()}

NAMES = ["a", "b", "é\n", ""]

leaves = st.one_of(
    st.sampled_from(sorted(TYPES)),
    st.sampled_from([{"integer": size} for size in INTEGERS]),
    st.sampled_from([{"decimal": of} for of in ([3, 1], [10, 0], [38, 10], [38, 38])]),
)


def inside(shapes):
    fields = st.lists(st.tuples(st.sampled_from(NAMES), shapes), max_size=3)
    return st.one_of(
        fields.map(
            lambda pairs: {"struct": [list(pair) for pair in dict(pairs).items()]}
        ),
        shapes.map(lambda of: {"array": of}),
        shapes.map(lambda of: {"map": of}),
    )


shapes = st.recursive(leaves, inside, max_leaves=5)
columns = st.lists(st.tuples(st.sampled_from(NAMES), shapes), max_size=4).map(
    lambda pairs: [list(pair) for pair in dict(pairs).items()]
)

numbers = st.one_of(
    st.integers(-(1 << 65), 1 << 65).map(str),
    st.integers(-200, 200).map(str),
    st.sampled_from(
        ["-0", "0.0", "1.50", "-2.25", "1e2", "120e-1", "1E+3", "1e400", "9" * 39]
    ),
    st.decimals(-1000, 1000, places=2).map(str),
)
texts = st.one_of(
    st.sampled_from(
        [
            "",
            "x",
            'é\t"',
            "NaN",
            "-Infinity",
            "AAEC",
            "AA==",
            "AA",
            "!!",
            "1.5",
            "-7",
            "1e1",
            "1.",
        ]
    ),
    st.dates().map(str),
    st.datetimes().map(lambda moment: moment.isoformat()),
    st.datetimes(timezones=st.timezones()).map(
        lambda moment: moment.isoformat(sep=" ", timespec="milliseconds")
    ),
    st.sampled_from(
        [
            "2024-02-30",
            "2024-2-3",
            "2024-01-01T10:00Z",
            "2024-01-01t00:00:00.1234560",
            "2024-01-01T24:00",
            "2024-01-01 00:00:00.0000001",
            "2024-01-01T00:00:00+1:00",
            "2024-01-01T00:00:00-0130",
        ]
    ),
).map(lambda text: json.dumps(text, ensure_ascii=False))
scalars = st.one_of(st.sampled_from(["null", "true", "false"]), numbers, texts)


def containers(values):
    space = st.sampled_from(["", " ", "\t "])
    key = st.sampled_from(NAMES).map(lambda name: json.dumps(name, ensure_ascii=False))
    pair = st.tuples(key, space, values).map(
        lambda parts: f"{parts[0]}{parts[1]}:{parts[2]}"
    )
    return st.one_of(
        st.tuples(st.lists(values, max_size=3), space).map(
            lambda parts: f"[{f',{parts[1]}'.join(parts[0])}]"
        ),
        st.tuples(st.lists(pair, max_size=4), space).map(
            lambda parts: f"{{{parts[1]}{f',{parts[1]}'.join(parts[0])}}}"
        ),
    )


values = st.recursive(scalars, containers, max_leaves=8)
objects = containers(values)
records = objects.filter(lambda text: text.startswith("{")).map(str.encode)
lines = st.one_of(
    objects,
    objects,
    values,
    st.sampled_from(
        ["", " ", "nope", '{"a":1', '{"a":1} 2', '{"a":[{"b":"x"},{"b":[1,', "[1]"]
    ),
    st.tuples(objects, st.integers(0, 30)).map(lambda cut: cut[0][: cut[1]]),
).map(str.encode)


def arrow(shape):
    match shape:
        case str():
            return TYPES[shape]
        case {"integer": size}:
            return INTEGERS[size]
        case {"decimal": [precision, scale]}:
            return pa.decimal128(precision, scale)
        case {"struct": fields}:
            return pa.struct([(name, arrow(of)) for name, of in fields])
        case {"array": of}:
            return pa.list_(arrow(of))
        case {"map": of}:
            return pa.map_(pa.string(), arrow(of))


def filled(rows, fields, **options):
    """Make columns of rows; return values, their positions, and faults by position."""
    schema = pa.schema([(name, arrow(shape)) for name, shape in fields])
    assert struct_shape(schema) == {"struct": fields}
    builder = ColumnBuilder({"struct": fields}, **options)
    half = len(rows) // 2
    found, positions, faults = [], [], {}
    # Two batches, since the second one reuses the state of the first.
    for first, part in ((0, rows[:half]), (half, rows[half:])):
        made = builder.fill(RowBatch.of_contents(0, part))
        made_arrays = arrays(schema.types, made.columns[1:])
        table = pa.Table.from_arrays(made_arrays, schema=schema)
        table.validate(full=True)
        every = range(len(part))
        if made.positions is not None:
            every = memoryview(made.positions).cast("I")
        assert made.columns[0].length == len(every)
        found += table.to_pylist() if fields else [{}] * len(every)
        positions += [first + at for at in every]
        for fault in made.faults:
            assert fault.row is None or every[fault.row] == fault.position
            faults[first + fault.position] = fault
    return found, positions, faults


def same(one, other):
    """Whether two values are equal; NaN equals NaN."""
    match one, other:
        case float(), float():
            return one == other or (math.isnan(one) and math.isnan(other))
        case dict(), dict():
            return one.keys() == other.keys() and all(
                same(one[key], other[key]) for key in one
            )
        case (list(), list()) | (tuple(), tuple()):
            return len(one) == len(other) and all(map(same, one, other))
        case _:
            return type(one) is type(other) and one == other


@given(rows=st.lists(lines, max_size=8), fields=columns)
@example([b'{"a":{"b":1,"b":2,"a":3}}'] * 2, [["a", {"map": {"integer": 8}}]])
@example(
    [b'{"a":[1,"x",{"b":1}]}'] * 2, [["a", {"array": {"struct": [["b", "string"]]}}]]
)
def test_columns_of_any_rows(rows, fields):
    wanted, mismatches = slow_columns(rows, fields)
    nothing = dict.fromkeys(name for name, _shape in fields)
    kept = [nothing if row is None else row for row in wanted]
    not_blank = [at for at, row in enumerate(rows) if row.strip(b" \t\r\n")]

    found, positions, faults = filled(rows, fields, keep_faulty=True)
    assert same(found, kept), (found, kept)
    assert positions == not_blank
    assert all(faults[at].row is not None for at in faults)
    verdicts = {at: faults[at].is_json for at in faults}
    assert [verdicts.get(at, "good") for at in not_blank] == mismatches

    found, positions, faults = filled(rows, fields, keep_faulty=False)
    good = [at for at, verdict in enumerate(mismatches) if verdict == "good"]
    assert same(found, [kept[at] for at in good])
    assert positions == [not_blank[at] for at in good]
    assert {at: faults[at].is_json for at in faults} == verdicts


@given(rows=st.lists(records, max_size=8), cut=st.integers(0, 8))
def test_inferred_columns_take_all_values_of_any_rows(rows, cut):
    whole, first, second = Inference(), Inference(), Inference()
    whole.add(RowBatch.of_contents(0, rows))
    first.add(RowBatch.of_contents(0, rows[:cut]))
    second.add(RowBatch.of_contents(0, rows[cut:]))
    first.merge(second)
    fields, mixed = whole.fields()
    assert first.fields() == (fields, mixed)
    builder = ColumnBuilder({"struct": fields}, keep_faulty=True)
    assert builder.fill(RowBatch.of_contents(0, rows)).faults == []


def test_where_and_query_come_before_the_columns():
    from headrace.physical.query_plan import row_program

    rows = [b'{"n":1}', b"", b'{"n":2}', b'{"n":"x"', b'{"n":3}', b'{"n":null}']
    builder = ColumnBuilder(
        {"struct": [["twice", {"integer": 8}]]},
        keep_faulty=True,
        keep=row_program("n != 2"),
        project=row_program("{twice: n * 2} if n is not null else null"),
    )
    made = builder.fill(RowBatch.of_contents(0, rows))
    (column,) = arrays([pa.int64()], made.columns[1:])
    assert column.to_pylist() == [2, None, 6]
    assert memoryview(made.positions).cast("I").tolist() == [0, 3, 4]
    assert [(fault.position, fault.row) for fault in made.faults] == [(3, 1)]


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ('"integer"', "expected|invalid"),
        ('{"integer": 3}', "no integer has 3 bytes"),
        ('{"array": {"decimal": [39, 0]}}', r"no decimal\(39,0\)"),
        ('{"array": "text"}', "unknown variant `text`"),
        ("x", "expected value"),
    ],
)
def test_an_invalid_shape_is_refused(shape, message):
    with pytest.raises(ValueError, match=message):
        _native.ColumnBuilder(shape, max_depth=9, keep_faulty=True)
