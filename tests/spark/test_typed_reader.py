"""Typed columns without Spark's JVM: the rows that tasks read from their splits."""

import json
import re
import warnings
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DayTimeIntervalType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    VariantType,
)
from pyspark.sql.variant_utils import VariantUtils

from headrace.engines.spark.source.data_source import HeadraceSource, source_at
from headrace.errors import FaultyRowError, SourceNotFoundError, UsageError
from headrace.kernel.arrow.columns import ColumnBuilder
from headrace.kernel.rows import RowBatch
from headrace.kernel.values import parse
from tests.reference.compressed import FORMS
from tests.spark.faulty import DATA, ERRORS, MAX_LINE, ROWS, places

pytestmark = pytest.mark.spark

TYPES = {
    "id": LongType(),
    "name": StringType(),
    "at": TimestampType(),
    "tags": ArrayType(StringType()),
    "deep": StructType()
    .add("n", DoubleType())
    .add("m", MapType(StringType(), IntegerType())),
    "_file": StringType(),
    "_offset": LongType(),
    "_line": LongType(),
    "_row": LongType(),
    "_error": StringType(),
    "_raw": BinaryType(),
    "_corrupt_record": StringType(),
}


def schema(*names, **types):
    types = TYPES | types
    return StructType([StructField(name, types[name]) for name in names])


def source(path, **options):
    texts = {name: str(value) for name, value in options.items()}
    return HeadraceSource({"path": str(path)} | texts)


def read(path, columns, **options):
    """Return the rows of all partitions, each as its task returns it."""
    reader = source(path, **options).reader(schema=columns)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for partition in reader.partitions():
            for batch in reader.read(partition):
                assert batch.schema == to_arrow_schema(columns, timezone="UTC")
                batch.validate(full=True)
                found += batch.to_pylist()
    return found


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_bytes(DATA)
    return path


def column(found, name):
    return [row[name] for row in found]


def check(found, path):
    """Compare the rows that were read from `DATA` with its content."""
    assert column(found, "id") == [1, 2, None, None, None, 7, None, None, 10]
    names = ["a\tb", '{"k":[1,2]}', None, "kept", *[None] * 5]
    assert column(found, "name") == names
    assert found[0]["at"].isoformat() == "2024-02-29T10:00:00+00:00"
    assert found[0]["tags"] == ["x", None]
    assert found[3]["tags"] == []
    assert found[1]["deep"] == {"n": 1.5, "m": [("b", 2), ("a", 3)]}
    at = [(row["_file"], row["_offset"], row["_line"], row["_row"]) for row in found]
    assert at == places(path)
    errors = [error and error.split(": ", 1)[1] for error in column(found, "_error")]
    assert errors == ERRORS
    raw = [line for line in ROWS if line.strip()]
    raw[7] = None
    assert column(found, "_raw") == raw


@pytest.mark.parametrize("partition_bytes", [1, 2, 7, 31, 100, 1 << 20])
@pytest.mark.parametrize("batch_bytes", [1, 50, 1 << 20])
def test_rows_and_places_do_not_depend_on_the_splits(
    data, partition_bytes, batch_bytes
):
    found = read(
        data,
        schema(*TYPES),
        maxPartitionBytes=partition_bytes,
        maxBatchBytes=batch_bytes,
        maxLineBytes=MAX_LINE,
    )
    check(found, data)


BLOCKS = [form for form in FORMS if "block" in form or form == "zstd, cut anywhere"]


@pytest.mark.parametrize("form", BLOCKS)
def test_rows_and_places_do_not_depend_on_the_blocks_of_a_compressed_file(
    tmp_path, form
):
    path = tmp_path / "data"
    path.write_bytes(FORMS[form](DATA))
    for size in (1, 60, 200, 1 << 20):
        found = read(
            path, schema(*TYPES), maxPartitionBytes=size, maxLineBytes=MAX_LINE
        )
        check(found, path)


def test_an_error_names_the_byte_of_the_file(data):
    found = column(read(data, schema("_error"), maxPartitionBytes=9), "_error")
    trailing = DATA.index(b"and more")
    assert f"byte {trailing}: trailing characters after the value" in found
    assert f"byte {DATA.index(bytes([0xFC]))}: invalid UTF-8" in found


@pytest.mark.parametrize(
    "names",
    [
        ["name"],
        ["nothing"],
        ["_error"],
        ["_corrupt_record"],
        ["_line", "deep"],
        ["_file", "name", "tags", "_raw"],
    ],
)
@pytest.mark.parametrize(("mode", "count"), [("PERMISSIVE", 9), ("dropmalformed", 6)])
def test_the_number_of_rows_depends_on_no_column(data, names, mode, count):
    columns = schema(*names, nothing=VariantType())
    assert len(read(data, columns, mode=mode, maxPartitionBytes=50)) == count


def test_dropmalformed_drops_bad_rows_for_any_columns(data):
    # All other rows are not JSON or not objects, whichever columns are read.
    assert len(read(data, schema("id"), mode="DROPMALFORMED")) == 5


@pytest.mark.parametrize("partition_bytes", [1, 10, 1 << 20])
def test_failfast_names_the_line_wherever_the_splits_are(tmp_path, partition_bytes):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b'{"id":1}\n\n{"id":2}\n{"id":3} x\n')
    options = {"mode": "FAILFAST", "maxPartitionBytes": partition_bytes}
    with pytest.raises(FaultyRowError) as caught:
        read(path, schema("id"), **options)
    assert (caught.value.line, caught.value.offset) == (4, 28)


def test_a_warning_names_rows_that_become_null(data):
    reader = source(data).reader(schema=schema("id"))
    (partition,) = reader.partitions()
    with pytest.warns(UserWarning, match=r"data.jsonl: byte \d+: trailing") as caught:
        assert len(list(reader.read(partition))) == 1
    assert len(caught) == 1
    reader = source(data).reader(schema=schema("id", "_error"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(reader.read(partition))) == 1


def test_an_abandoned_read_leaves_nothing_in_quarantine(data, tmp_path):
    folder = tmp_path / "bad"
    options = {"badRecordsPath": folder, "maxBatchBytes": 1}
    reader = source(data, **options).reader(schema=schema("id"))
    (partition,) = reader.partitions()
    batches = reader.read(partition)
    for _ in range(6):
        next(batches)
    assert len(list(folder.iterdir())) == 1
    batches.close()
    assert list(folder.iterdir()) == []
    assert list(reader.read(InputPartition(None))) == []


def test_a_file_that_is_gone_is_named(data):
    reader = source(data).reader(schema=schema("id"))
    (partition,) = reader.partitions()
    data.unlink()
    with pytest.raises(SourceNotFoundError, match=r"data\.jsonl"):
        list(reader.read(partition))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            StructType().add("a", MapType(LongType(), LongType())),
            "a cannot be map<int64",
        ),
        (StructType().add("a", DayTimeIntervalType()), "column a cannot be duration"),
        (
            schema("_line", _line=StringType()),
            "_line cannot be string; it can be bigint",
        ),
        (StructType().add("_error", StringType(), False), "_error cannot be NOT NULL"),
    ],
)
def test_a_schema_that_no_row_can_give_is_refused(data, columns, message):
    with pytest.raises(UsageError, match=message):
        source(data).reader(schema=columns)


ROWS_WITH_NULLS = b"""\
{"a":1,"o":{"b":1},"xs":[1,2],"m":{"k":1}}

{"a":2,"xs":[3]}
{"a":3,"o":{"b":null},"xs":[4,null],"m":{"k":null}}
{"o":null}
"""


@pytest.mark.parametrize(
    ("columns", "path", "line"),
    [
        (StructType().add("a", LongType(), False), "a", 5),
        (
            StructType().add("o", StructType().add("b", LongType(), False)),
            "o.b",
            4,
        ),
        (
            StructType().add("xs", ArrayType(LongType(), containsNull=False)),
            "xs[]",
            4,
        ),
        (
            StructType().add("m", MapType(StringType(), LongType(), False)),
            "m{}",
            4,
        ),
        (
            StructType().add(
                "o", StructType().add("b", LongType(), False), nullable=False
            ),
            "o",
            3,
        ),
    ],
)
def test_a_column_that_is_not_null_is_held_to_it(tmp_path, columns, path, line):
    data = tmp_path / "nulls.jsonl"
    data.write_bytes(ROWS_WITH_NULLS)
    reader = source(data).reader(schema=columns)
    (partition,) = reader.partitions()
    with pytest.raises(FaultyRowError, match=re.escape(f"column {path} is")) as raised:
        list(reader.read(partition))
    assert raised.value.line == line
    data.write_bytes(ROWS_WITH_NULLS.split(b"\n")[0])
    reader = source(data).reader(schema=columns)
    (partition,) = reader.partitions()
    assert sum(batch.num_rows for batch in reader.read(partition)) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"where": "$.a ="}, "option where"),
        ({"query": "$.rows().count()"}, "option query: .*each row by itself"),
        ({"mode": "STRICT"}, "mode is STRICT; it must be PERMISSIVE or DROPMALFORMED"),
        ({"mode": "FAILFAST", "badRecordsPath": "x"}, "leave badRecordsPath out"),
        ({"inferSchema": "maybe"}, "inferSchema is maybe; it must be true or false"),
        ({"columns": '["a", 1'}, "option columns"),
    ],
)
def test_wrong_options_are_refused(data, options, message):
    with pytest.raises(UsageError, match=message):
        source(data, **options)


@pytest.mark.parametrize(
    ("options", "columns", "message"),
    [
        ({"columns": "id"}, schema("id", "name"), "leave it out with a schema"),
        (
            {"query": "{id}"},
            schema("_file", "_offset", "_row", "_raw"),
            "the schema names none of them",
        ),
    ],
)
def test_options_that_would_be_ignored_are_refused(data, options, columns, message):
    with pytest.raises(UsageError, match=message):
        source(data, **options).reader(schema=columns)


def test_rows_without_columns_are_counted(data):
    reader = source(data).reader(schema=schema())
    every = source(data).reader(schema=schema("id"))
    (partition,) = reader.partitions()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        counts = [
            [batch.num_rows for batch in each.read(partition)]
            for each in (reader, every)
        ]
    assert sum(counts[0]) == sum(counts[1]) > 0


@pytest.mark.parametrize("digits", range(1, 38))
def test_small_decimals_are_variants_that_can_be_read(tmp_path, digits):
    path = tmp_path / "v.jsonl"
    texts = [f"0.{'0' * (digits - 1)}1", f"0.{'1' * digits}", f"0.{'0' * digits}"]
    path.write_text("".join(f'{{"v":{text}}}\n' for text in texts))
    reader = source(path).reader(schema=schema("v", v=VariantType()))
    (partition,) = reader.partitions()
    (batch,) = reader.read(partition)
    for row, text in zip(batch.column(0).to_pylist(), texts, strict=True):
        value, keys = row["value"], row["metadata"]
        # A width has room for 9, 18 or 38 digits after the point.
        widths = {8: 9, 9: 18, 10: 38}
        assert value[1] <= widths[value[0] >> 2]
        with localcontext() as context:
            context.prec = 50
            assert VariantUtils.to_python(value, keys) == Decimal(text)


@pytest.mark.parametrize(
    ("options", "session", "hours"),
    [
        ({}, "UTC", [12, 10, 0]),
        ({}, "America/New_York", [16, 10, 4]),
        ({"timeZone": "+02:00"}, "America/New_York", [10, 10, -2]),
        ({"timeZone": "UTC"}, "Europe/Berlin", [12, 10, 0]),
    ],
)
def test_times_without_an_offset_are_in_a_zone(tmp_path, options, session, hours):
    path = tmp_path / "t.jsonl"
    path.write_bytes(
        b'{"at":["2024-07-01T12:00:00"]}\n{"at":["2024-07-01T12:00:00+02:00"]}\n'
        b'{"at":["2024-07-01"]}\n'
    )
    options = {"path": str(path), **options}
    reader = source_at("", session)(options).reader(
        schema=schema("at", at=ArrayType(TimestampType()))
    )
    (partition,) = reader.partitions()
    (batch,) = reader.read(partition)
    day = datetime(2024, 7, 1, tzinfo=UTC)
    found = [row["at"][0] - day for row in batch.to_pylist()]
    assert found == [timedelta(hours=each) for each in hours]


def test_a_zone_that_is_none_is_refused(data):
    with pytest.raises(UsageError, match="there is no time zone Nowhere"):
        source(data, timeZone="Nowhere").reader(schema=schema("at"))


def test_files_that_the_glob_leaves_out_are_not_opened(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"id":1}\n')
    (tmp_path / "b.jsonl").write_text('{"id":2}\n', encoding="utf-16")
    for path in (tmp_path, f"{tmp_path}/*.jsonl"):
        reader = source(path, pathGlobFilter="a*").reader(schema=schema("id"))
        (partition,) = reader.partitions()
        assert sum(batch.num_rows for batch in reader.read(partition)) == 1


def inferred(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return source(path, **options).schema()


def test_inferred_types_do_not_depend_on_the_splits(data):
    whole = inferred(data, inferSchema=True)
    assert whole.simpleString() == (
        "struct<id:variant,name:variant,at:string,tags:array<string>,"
        "deep:struct<n:double,m:struct<a:bigint,b:bigint>>,unknown:array<struct<"
        "a:map<string,string>>>,long:string,_corrupt_record:string>"
    )
    for size in (1, 9, 100):
        assert inferred(data, inferSchema=True, maxPartitionBytes=size) == whole


def test_mixed_types_are_named(data):
    with pytest.warns(UserWarning, match="several kinds") as caught:
        source(data, inferSchema=True).schema()
    message = str(caught[0].message)
    assert "id (number, string); name (string, object)" in message


def test_some_of_the_inferred_columns(data):
    found = inferred(data, columns='["tags", "_line"]')
    assert found.simpleString() == "struct<tags:array<string>,_line:bigint>"
    with pytest.raises(UsageError, match="no row has names; there are id, name"):
        inferred(data, columns="id, names")


def test_fields_that_are_called_like_our_columns_are_left_out(tmp_path):
    path = tmp_path / "shadowed.jsonl"
    path.write_bytes(b'{"_line":"x","_id":1}\n')
    with pytest.warns(UserWarning, match="fields called _line"):
        found = source(path, inferSchema=True).schema()
    assert found.simpleString() == "struct<_id:bigint>"


def test_the_schema_of_one_variant(data):
    wrong = schema("id", "name", name=VariantType())
    with pytest.raises(UsageError, match="the schema has the column `name` VARIANT"):
        source(data, singleVariantColumn="name").reader(schema=wrong)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**37), 10**37)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=80),
    lambda inside: (
        st.lists(inside, max_size=300) | st.dictionaries(st.text(max_size=5), inside)
    ),
    max_leaves=20,
)


def plain(number):
    """Return a Decimal as JSON text."""
    return int(number) if number == int(number) else float(number)


@given(values=st.lists(json_values, max_size=4))
def test_any_value_as_a_variant(values):
    rows = [json.dumps(value).encode() for value in values]
    builder = ColumnBuilder("variant", keep_faulty=False)
    made = builder.fill(RowBatch.of_contents(0, rows))
    assert made.faults == []
    (column,) = made.columns
    value_ends, data, metadata_ends, metadata = column.others
    assert (column.length, column.validity) == (len(rows), None)
    for at, row in enumerate(rows):
        value = data[slice(*memoryview(value_ends).cast("i")[at : at + 2])]
        keys = metadata[slice(*memoryview(metadata_ends).cast("i")[at : at + 2])]
        # PySpark computes decimals with 28 digits by default.
        with localcontext(prec=60):
            found = VariantUtils.to_python(value, keys)
        assert json.loads(json.dumps(found, default=plain)) == parse(row)
