"""Arrow batches as lines, compared with the same values as Python objects."""

import base64
import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.engines.spark.sink.arrow_to_json import (
    check_schema,
    json_lines,
    may_be_bad,
)
from headrace.errors import UsageError
from headrace.kernel.arrow.lines import NoJsonError

pytestmark = pytest.mark.spark

INSTANTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31))
SCALARS = {
    pa.bool_(): st.booleans(),
    pa.int8(): st.integers(-128, 127),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(allow_nan=False, allow_infinity=False),
    pa.float32(): st.floats(width=32, allow_nan=False, allow_infinity=False),
    pa.decimal128(20, 4): st.decimals(-(10**15), 10**15, places=4),
    pa.string(): st.text(),
    pa.large_string(): st.text(),
    pa.binary(): st.binary(),
    pa.date32(): st.dates(),
    pa.timestamp("us"): INSTANTS,
    pa.timestamp("us", "UTC"): INSTANTS.map(lambda each: each.replace(tzinfo=UTC)),
    pa.null(): st.none(),
}


def typed(arrow_type):
    """Return a strategy of values of a type, null among them."""
    if pa.types.is_struct(arrow_type):
        fields = {field.name: typed(field.type) for field in arrow_type}
        return st.none() | st.fixed_dictionaries(fields)
    if pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type):
        return st.none() | st.lists(typed(arrow_type.value_type), max_size=3)
    if pa.types.is_map(arrow_type):
        keys = SCALARS[arrow_type.key_type]
        values = typed(arrow_type.item_type)
        return st.none() | st.dictionaries(keys, values, max_size=3).map(
            lambda entries: list(entries.items())
        )
    return st.none() | SCALARS[arrow_type]


KEYS = [pa.string(), pa.int64(), pa.date32(), pa.bool_()]
TYPES = st.recursive(
    st.sampled_from(list(SCALARS)),
    lambda inner: (
        inner.map(pa.list_)
        | inner.map(pa.large_list)
        | st.tuples(st.sampled_from(KEYS), inner).map(lambda both: pa.map_(*both))
        | st.dictionaries(st.text(max_size=3), inner, max_size=3).map(
            lambda fields: pa.struct(list(fields.items()))
        )
    ),
    max_leaves=4,
)


def plain(value, arrow_type, *, skip):
    """Return the value that its JSON should be read back as."""
    if value is None:
        return None
    if pa.types.is_struct(arrow_type):
        return {
            field.name: plain(value[field.name], field.type, skip=skip)
            for field in arrow_type
            if not (skip and value[field.name] is None)
        }
    if pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type):
        return [plain(each, arrow_type.value_type, skip=skip) for each in value]
    if pa.types.is_map(arrow_type):
        return {
            key_text(key): plain(each, arrow_type.item_type, skip=skip)
            for key, each in value
        }
    return scalar(value)


def scalar(value):
    match value:
        case bool() | int() | str():
            return value
        case float():
            return Decimal(repr(value))
        case bytes():
            return base64.b64encode(value).decode()
        case datetime():
            digits = "milliseconds" if value.microsecond % 1000 == 0 else "microseconds"
            return value.isoformat(timespec=digits).replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case _:
            return value


def key_text(key):
    return json.dumps(key) if isinstance(key, (bool, int)) else scalar(key)


def read(line):
    return json.loads(line, parse_float=Decimal)


def shown(batch, *, skip=True, raw=None):
    found = json_lines(batch, skip_nulls=skip, null_for_nan=False, raw=raw)
    lines = b"".join(found)
    assert lines.count(b"\n") == batch.num_rows
    return lines.splitlines()


@given(st.data(), TYPES, st.booleans())
def test_any_values(data, arrow_type, skip):
    values = data.draw(st.lists(typed(arrow_type), max_size=6))
    whole = pa.array(values, arrow_type)
    begin = data.draw(st.integers(0, len(values)))
    end = data.draw(st.integers(begin, len(values)))
    several = [whole.slice(begin, end - begin), pa.array(range(begin, end), pa.int64())]
    batch = pa.record_batch(several, names=["a", "n"])
    for number, line in zip(range(begin, end), shown(batch, skip=skip), strict=True):
        value = plain(near(values[number], arrow_type), arrow_type, skip=skip)
        wanted = {"n": number} if skip and value is None else {"a": value, "n": number}
        found = read(line)
        if contains_float32(arrow_type):
            found = json.loads(json.dumps(found, default=float), parse_float=rounded)
            wanted = json.loads(json.dumps(wanted, default=float), parse_float=rounded)
        assert found == wanted


def near(value, arrow_type):
    """Return a value as Arrow returns it."""
    return pa.array([value], arrow_type).to_pylist()[0]


def contains_float32(arrow_type):
    return "float" in str(arrow_type) or "double" in str(arrow_type)


def rounded(text):
    """Return a number as a float of four bytes: the text of one is short."""
    number = float(text)
    return pa.scalar(number, pa.float64()).cast(pa.float32(), safe=False).as_py()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_doubles_are_read_back_as_they_were(numbers):
    batch = pa.record_batch([pa.array(numbers, pa.float64())], names=["x"])
    assert [json.loads(line)["x"] for line in shown(batch)] == numbers


def test_keys_are_in_the_order_of_the_columns():
    batch = pa.record_batch([pa.array([1]), pa.array([2])], names=["z", 'a"'])
    assert shown(batch) == [b'{"z":1,"a\\"":2}']


@pytest.mark.parametrize(("name", "raw"), [("_raw", None), ("value", True)])
@pytest.mark.parametrize("arrow_type", [pa.string(), pa.binary(), pa.large_string()])
def test_the_only_column_can_have_lines(name, raw, arrow_type):
    lines = pa.array(["0", '{"b": 1}', " 2"], arrow_type).slice(1)
    batch = pa.record_batch([lines], names=[name])
    assert shown(batch, raw=raw) == [b'{"b": 1}', b" 2"]
    nulls = pa.record_batch([pa.array(["1", None], arrow_type)], names=[name])
    with pytest.raises(NoJsonError, match=f"row 1, column {name}: it is null"):
        shown(nulls, raw=raw)
    more = pa.record_batch([lines, pa.array([1, 2])], names=[name, "n"])
    assert [read(line)["n"] for line in shown(more)] == [1, 2]


@pytest.mark.parametrize(("name", "raw"), [("_raw", False), ("value", None)])
def test_a_column_is_a_field_unless_it_has_lines(name, raw):
    batch = pa.record_batch([pa.array(["0", "x"])], names=[name])
    assert [read(line)[name] for line in shown(batch, raw=raw)] == ["0", "x"]


def test_lines_are_in_one_column_of_text():
    for columns in ({"n": [1]}, {"a": ["1"], "b": ["2"]}):
        with pytest.raises(UsageError, match="one column of type string or binary"):
            shown(pa.RecordBatch.from_pydict(columns), raw=True)


def test_a_frame_without_columns_is_refused():
    with pytest.raises(UsageError, match="its rows would be lost"):
        check_schema(pa.schema([]))


def test_text_that_is_not_utf8_is_named():
    damaged = pa.array([b"ok", b"\xff"], pa.binary()).view(pa.string())
    batch = pa.record_batch([damaged], names=["t"])
    with pytest.raises(NoJsonError, match="row 1, column t: byte 0 is not UTF-8"):
        shown(batch)


@pytest.mark.parametrize(
    ("arrow_type", "message"),
    [
        (pa.duration("us"), "column a: values of type duration"),
        (pa.list_(pa.time64("ns")), r"column a\[\]: values of type time64"),
        (pa.struct([("x", pa.uint8())]), "column a.x: values of type uint8"),
        (pa.map_(pa.struct([("x", pa.int8())]), pa.int8()), "use map_entries"),
        (pa.map_(pa.string(), pa.month_day_nano_interval()), r"column a\[\]: values"),
        (pa.struct([("x", pa.int8()), ("x", pa.int8())]), "two columns are called a.x"),
    ],
)
def test_schemas_without_json(arrow_type, message):
    with pytest.raises(UsageError, match=message):
        check_schema(pa.schema([("a", arrow_type)]))


def test_converted_columns_are_checked_only_where_they_may_be_bad():
    deep = pa.int64()
    for _ in range(256):
        deep = pa.list_(deep)
    variant = pa.struct(
        [
            pa.field("value", pa.binary(), metadata={"variant": "true"}),
            pa.field("metadata", pa.binary()),
        ]
    )
    plain = pa.struct([("a", pa.list_(pa.string()))])
    assert not may_be_bad(pa.schema([("a", plain), ("b", pa.map_("string", "double"))]))
    assert may_be_bad(pa.schema([("_raw", pa.string())]))
    assert may_be_bad(pa.schema([("value", pa.string())]), lines=True)
    assert not may_be_bad(pa.schema([("value", pa.string())]))
    assert may_be_bad(pa.schema([("a", pa.struct([("v", variant)]))]))
    assert may_be_bad(pa.schema([("a", deep)]))
    assert not may_be_bad(pa.schema([("a", deep.value_type)]))
