"""Typed columns of ``spark.read.format("headrace")`` in a real session."""

import json
from datetime import date, datetime
from decimal import Decimal

import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import functions

import headrace
from tests.reference.compressed import FORMS
from tests.spark.faulty import DATA, ERRORS, MAX_LINE, ROWS, places

pytestmark = pytest.mark.spark


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("typed") / "data.jsonl"
    path.write_bytes(DATA)
    return path


def rows(frame):
    return [tuple(row) for row in frame.collect()]


def test_the_lines_of_faulty_rows(load, data):
    frame = load(data, "id long, _corrupt_record string", maxLineBytes=MAX_LINE)
    # Spark's own reader refuses a read of this column alone.
    faulty = [
        '{"id":3} and more',
        '{"id":"four","name":"kept","tags":[]}',
        "[5]",
        '{"id":8,"name":"M\\xfcnchen"}',
    ]
    found = frame.filter("_corrupt_record is not null").select("_corrupt_record")
    assert [row[0] for row in rows(found)] == faulty
    named = load(
        data,
        "id long, bad binary",
        columnNameOfCorruptRecord="bad",
        maxLineBytes=MAX_LINE,
    )
    assert [bad for _id, bad in rows(named) if bad is not None] == [
        ROWS[3],
        ROWS[4],
        ROWS[6],
        ROWS[8],
    ]


def test_failfast_names_file_line_and_byte(load, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b'{"a":1}\n\n{"a":2}\n{"a":3} x\n')
    frame = load(path, "a long", mode="FAILFAST", maxPartitionBytes=20)
    with pytest.raises(PythonException, match="FaultyRowError") as caught:
        frame.collect()
    assert f"{path}: line 4, byte 25: trailing characters" in str(caught.value)


def test_bad_records_go_to_a_directory(load, data, tmp_path):
    folder = tmp_path / "bad" / "rows"
    options = {"badRecordsPath": folder, "maxLineBytes": MAX_LINE}
    frame = load(data, "id long, _line long", maxPartitionBytes=250, **options)
    assert [row[0] for row in rows(frame)] == [1, 2, 7, 10]
    files = sorted(folder.iterdir())
    assert len(files) > 1
    assert all(path.name.startswith("bad-") for path in files)
    entries = [
        json.loads(line)
        for path in files
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    entries.sort(key=lambda entry: entry["line"])
    assert [entry["line"] for entry in entries] == [4, 5, 7, 9, 10]
    assert [entry["reason"] for entry in entries] == [
        e for e in ERRORS if e is not None
    ]
    assert {entry["file"] for entry in entries} == {str(data)}
    assert entries[0]["raw"] == '{"id":3} and more'
    assert "raw_base64" in entries[3]
    assert "raw" not in entries[4]


def test_a_task_that_fails_leaves_nothing_in_quarantine(load, tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_bytes(b'{"a":1} x\n{"a":2}\n')
    frame = load(path, "a long", badRecordsPath=tmp_path / "bad")
    assert frame.count() == 1
    before = sorted((tmp_path / "bad").iterdir())
    path.write_bytes(b'{"a":1} y\n')
    with pytest.raises(PythonException, match="SourceChangedError"):
        frame.count()
    assert sorted((tmp_path / "bad").iterdir()) == before


TYPED = {
    "boolean": ("true", True, "1"),
    "tinyint": ("-128", -128, "128"),
    "smallint": ("32767", 32767, "32768"),
    "int": ("-2147483648", -(1 << 31), "2147483648"),
    "bigint": ("9223372036854775807", (1 << 63) - 1, "1.0"),
    "float": ("0.5", 0.5, "1e39"),
    "double": ("0.1", 0.1, "1e400"),
    "decimal(5,2)": ("123.40", Decimal("123.40"), "0.001"),
    "decimal(38,0)": ("9" * 38, Decimal("9" * 38), "9" * 39),
    "string": ('"\\u00e9"', "é", None),
    "binary": ('"AAEC"', bytearray([0, 1, 2]), '"?"'),
    "date": ('"2024-02-29"', date(2024, 2, 29), '"2023-02-29"'),
    "timestamp": (
        '"2024-01-01 00:00:00.5"',
        datetime(2024, 1, 1, 0, 0, 0, 500000),
        "true",
    ),
    "timestamp_ntz": (
        '"2024-01-01T00:00"',
        datetime(2024, 1, 1),
        '"2024-01-01T00:00Z"',
    ),
    "struct<a:int>": ('{"a":1}', (1,), "[]"),
    "array<int>": ("[1,null]", [1, None], "{}"),
    "map<string,int>": ('{"a":1}', {"a": 1}, "[]"),
}


def test_every_type(load, tmp_path):
    path = tmp_path / "types.jsonl"
    schema = ", ".join(f"c{at} {name}" for at, name in enumerate(TYPED))
    good, bad = (
        "{" + ",".join(f'"c{at}":{value}' for at, value in enumerate(values)) + "}"
        for values in (
            [value for value, _wanted, _bad in TYPED.values()],
            [bad or "null" for _value, _wanted, bad in TYPED.values()],
        )
    )
    path.write_text(f"{good}\n{bad}\n{{}}\n")
    frame = load(path, f"{schema}, v variant")
    assert [field.dataType.simpleString() for field in frame.schema][:-1] == list(TYPED)
    first, *others = rows(frame)
    assert first[:-1] == tuple(wanted for _value, wanted, _bad in TYPED.values())
    for row in others:
        assert set(row) == {None}


def test_columns_are_found(load, data):
    frame = load(data, inferSchema=True, maxPartitionBytes=300)
    assert frame.schema.simpleString() == (
        "struct<id:variant,name:variant,at:string,tags:array<string>,"
        "deep:struct<n:double,m:struct<a:bigint,b:bigint>>,unknown:array<struct<"
        "a:map<string,string>>>,long:string,_corrupt_record:string>"
    )
    assert frame.count() == 9
    chosen = load(data, columns="tags, _line, deep", maxPartitionBytes=300)
    assert chosen.schema.simpleString() == (
        "struct<tags:array<string>,_line:bigint,"
        "deep:struct<n:double,m:struct<a:bigint,b:bigint>>>"
    )
    assert [row[1] for row in rows(chosen)] == [place[2] for place in places(data)]


def test_a_row_as_one_variant(load, tmp_path):
    path = tmp_path / "any.jsonl"
    values = [
        {"z": [1, -1.5, 1e300, True, None], "a": {"é": "x" * 100, "": {}}},
        [],
        "text",
        12345678901234567890,
        None,
        {str(n): n for n in range(300)},
    ]
    path.write_text("\n".join(json.dumps(value) for value in values))
    frame = load(path, singleVariantColumn="v")
    assert frame.schema.simpleString() == "struct<v:variant>"
    assert [row.v.toPython() for row in frame.collect()] == values
    texts = [
        json.loads(row[0]) for row in frame.select(functions.to_json("v")).collect()
    ]
    assert texts == values
    found = frame.select(functions.try_variant_get("v", "$.a.é", "string")).first()[0]
    assert found == "x" * 100
    placed = load(path, singleVariantColumn="v", columns="_line, v")
    assert [row._line for row in placed.collect()] == [1, 2, 3, 4, 5, 6]
    assert [row.v.toPython() for row in placed.collect()] == values


def test_where_and_query(load, data):
    frame = load(data, "id long, _line long", where="$.id is number")
    assert [tuple(row) for row in frame.filter("_line < 9").collect()] == [
        (1, 1),
        (2, 3),
        (None, 4),
        (7, 8),
    ]
    # Other queries over the same frame: no filter of the first one is left.
    assert frame.filter("id = 10").count() == 1
    assert frame.count() == 7
    frame = load(
        data,
        inferSchema=True,
        where="$.id is number",
        query="{double: $.id * 2, of: $.name}",
        mode="DROPMALFORMED",
    )
    assert frame.schema.simpleString() == "struct<double:bigint,of:variant>"
    assert [row[0] for row in rows(frame)] == [2, 4, 14, 18, 20]


def test_wrong_options_fail_at_load(load, data):
    with pytest.raises(AnalysisException, match="UsageError: option where"):
        load(data, where="$.a =")


@pytest.mark.parametrize("form", ["gzip, blocks of lines", "zstd, cut anywhere"])
def test_compressed_blocks_are_read_by_several_tasks(load, tmp_path, form):
    path = tmp_path / "blocks"
    data = b"".join(b'{"n":%d,"s":"%d"}\n' % (n, n * 7919) for n in range(2000))
    path.write_bytes(FORMS[form](data))
    size = path.stat().st_size // 3
    frame = load(path, "n long, s string, _line long", maxPartitionBytes=size)
    assert frame.rdd.getNumPartitions() >= 3
    assert rows(frame.orderBy("n")) == [(n, str(n * 7919), n + 1) for n in range(2000)]


def test_limits_of_compressed_files(load, tmp_path):
    path = tmp_path / "rows.jsonl.zst"
    content = b"".join(b'{"a":%d}\n' % row for row in range(5000))
    with headrace.LineWriter(path, block_bytes=1000) as writer:
        writer.write_lines(content)
    for schema in ("a long, _row long", "_raw binary, _row long"):
        many = load(path, schema, maxPartitionBytes=1000)
        for options in ({"blocks": False}, {"maxDecodedBytes": len(content)}):
            one = load(path, schema, maxPartitionBytes=1000, **options)
            assert one.rdd.getNumPartitions() == 1 < many.rdd.getNumPartitions()
            assert rows(one) == rows(many)
        short = load(path, schema, maxDecodedBytes=len(content) - 1)
        with pytest.raises(PythonException, match="DecompressionLimitError") as caught:
            short.collect()
        assert str(path) in str(caught.value)
    with pytest.raises(Exception, match="DecompressionLimitError"):
        load(path, inferSchema=True, maxDecodedBytes=100)


def test_a_file_that_changes_under_a_frame_is_refused(load, tmp_path):
    path = tmp_path / "changing.jsonl"
    path.write_bytes(b'{"a":1}\n')
    frame = load(path, "a long")
    assert rows(frame) == [(1,)]
    path.write_bytes(b'{"a":2}\n{"a":3}\n')
    with pytest.raises(PythonException, match="SourceChangedError") as caught:
        frame.collect()
    assert str(path) in str(caught.value)
