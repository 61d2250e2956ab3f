"""Faults of Spark's own JSON reader, and the results of headrace for the same lines.

Each test first checks the result of ``spark.read.json``, so that it fails when Spark changes,
and then the result of the source for the same bytes.
"""

import gzip
import sys
from decimal import Decimal
from pathlib import Path

import pytest
import zstandard
from pyspark.errors import AnalysisException
from pyspark.sql import functions
from pyspark.sql.types import StructType

import headrace
from headrace.engines.spark.source.data_source import HeadraceSource
from headrace.engines.spark.source.options import read_options
from headrace.engines.spark.source.schema_inference import found_columns

pytestmark = pytest.mark.spark

LONE = b'{"s":"\\ud800"}\n'


@pytest.fixture
def theirs(spark):
    """Read a file with Spark's own reader."""

    def read(path, schema=None, **options):
        reader = spark.read.options(**options)
        return (reader if schema is None else reader.schema(schema)).json(str(path))

    return read


@pytest.fixture
def written(tmp_path):
    def write(content, name="data.jsonl"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def rows(frame):
    return [tuple(row) for row in frame.collect()]


def reason(error):
    return error and error.split(": ", 1)[1]


@pytest.mark.parametrize(
    ("content", "schema", "their_rows", "our_rows"),
    [
        pytest.param(
            b'{"a":5} xyz\n{"a":6}{"a":7}\n',
            "a long",
            [(5,), (6,)],
            [(None, "trailing characters after the value")] * 2,
            id="text after the object",
        ),
        pytest.param(
            b'[{"a":1},{"a":2}]\n[1,2]\n',
            "a long",
            [(1,), (2,), (None,)],
            [(None, "the row is an array, not an object")] * 2,
            id="arrays",
        ),
        pytest.param(
            b'null\n"str"\n',
            "a long",
            [(None,), (None,)],
            [
                (None, "the row is null, not an object"),
                (None, 'the row is "str", not an object'),
            ],
            id="values that are no objects",
        ),
        pytest.param(
            b'{"a":"x","b":1}\n',
            "a long, b long",
            [(None, 1)],
            [(None, 1, 'a is "x", which does not fit bigint')],
            id="a type mismatch",
        ),
        pytest.param(
            b'{"a":1,"a":2}\n',
            "a long",
            [(2,)],
            [(2, None)],
            id="equal keys, with a schema",
        ),
        pytest.param(
            b'{"a":9223372036854775808}\n',
            "a long",
            [(None,)],
            [(None, "a is 9223372036854775808, which does not fit bigint")],
            id="an integer beyond 64 bits",
        ),
        pytest.param(
            b'{"a":1e400}\n{"a":2.5}\n',
            "a double",
            [(float("inf"),), (2.5,)],
            [(None, "a is 1e400, which does not fit double"), (2.5, None)],
            id="a number beyond doubles",
        ),
        pytest.param(
            b'{"a":1.005}\n',
            "a decimal(5,2)",
            [(Decimal("1.01"),)],
            [(None, "a is 1.005, which does not fit decimal(5,2)")],
            id="a decimal that is rounded",
        ),
        pytest.param(
            b'{"a":1}\n\xef\xbb\xbf{"a":2}\n',
            "a long",
            [(1,), (2,)],
            [(1, None), (None, "a byte order mark (only a file may begin with one)")],
            id="a byte order mark in the middle",
        ),
        pytest.param(
            b'{"a":1}\r{"a":2}\r\n{"a":3}\n',
            "a long",
            [(1,), (2,), (3,)],
            [(None, "trailing characters after the value"), (3, None)],
            id="a lone carriage return",
        ),
        pytest.param(
            b'\n{"a":1}\n \t\n\r\n{"a":2}',
            "a long",
            [(1,), (2,)],
            [(1, None), (2, None)],
            id="blank lines",
        ),
        pytest.param(
            LONE,
            "s string",
            [("?",)],
            [(None, "a lone surrogate escape")],
            id="half a pair",
        ),
        pytest.param(
            b'{"s":"M\xfcnchen"}\n',
            "s string",
            [(None,)],
            [(None, "invalid UTF-8")],
            id="bad UTF-8",
        ),
        pytest.param(
            b"{'a':1}\n{\"a\":NaN}\n",
            "a double",
            [(1.0,), (float("inf"),)],
            [
                (None, "single quotes (JSON takes double quotes)"),
                (None, "NaN and Infinity are not JSON numbers"),
            ],
            id="what is no JSON",
        ),
        pytest.param(
            b'{"a":' + b"[" * 300 + b"]" * 300 + b"}\n",
            "a string",
            [("[" * 300 + "]" * 300,)],
            [(None, "nested deeper than 256 levels")],
            id="depth",
        ),
        pytest.param(
            b'{"a":' + b"[" * 1500 + b"]" * 1500 + b',"b":1}\n{"a":null,"b":2}\n',
            "a string, b long",
            [(None, None), (None, 2)],
            [(None, None, "nested deeper than 256 levels"), (None, 2, None)],
            id="depth beyond 1000",
        ),
        pytest.param(
            b'{"a":%s,"b":0.%s}\n{"a":%s}\n' % (b"9" * 1050, b"3" * 1050, b"9" * 1200),
            "a string, b double",
            [(None, None), (None, None)],
            [
                ("9" * 1050, 1 / 3, None),
                (None, None, "a number of more than 1100 bytes"),
            ],
            id="numbers with more than 1000 digits",
        ),
        pytest.param(
            b'{"a":01}\n{"a":1,}\n{"a":"\t"}\n',
            "a string",
            [(None,)] * 3,
            [
                (None, "leading zero in a number"),
                (None, "trailing comma"),
                (None, "control character in a string (escape it)"),
            ],
            id="what neither takes",
        ),
    ],
)
def test_rows(load, theirs, written, content, schema, their_rows, our_rows):
    path = written(content)
    found = rows(theirs(path, schema))
    if "NaN" not in content.decode(errors="replace"):
        assert found == their_rows
    ours = rows(load(path, f"{schema}, _error string"))
    assert [(*row[:-1], reason(row[-1])) for row in ours] == our_rows


def test_dropped_rows_depend_on_the_columns(load, theirs, written):
    path = written(b'{"a":1,"b":"x"}\n{"a":"bad","b":"y"}\nnope\n{"a":2,"b":"z"}\n')
    schema, options = "a long, b string", {"mode": "DROPMALFORMED"}
    frame = theirs(path, schema, **options)
    assert len(frame.collect()) == 2
    assert frame.count() == 3
    assert len(frame.select("b").collect()) == 3
    frame = load(path, schema, **options)
    assert (
        len(frame.collect()) == frame.count() == len(frame.select("b").collect()) == 2
    )


def test_faulty_rows_that_no_column_reports(load, theirs, written):
    path = written(b'{"a":1}\nnope\n')
    assert rows(theirs(path, "a long")) == [(1,), (None,)]
    # The rows are the same, but the task warns about them.
    assert rows(load(path, "a long")) == [(1,), (None,)]
    reader = HeadraceSource({"path": str(path)}).reader(StructType().add("a", "long"))
    with pytest.warns(UserWarning, match="byte 8: expected a value"):
        assert len(list(reader.read(*reader.partitions()))) == 1


def test_values_that_are_not_objects_as_variants(load, theirs, written):
    path = written(b'null\n"str"\n[1,2]\n{"a":5} xyz\n')
    text = functions.expr("to_json(v)")
    one = {"singleVariantColumn": "v"}
    # Spark drops the rest of these lines too.
    values = ["null", '"str"', "[1,2]"]
    assert rows(theirs(path, **one).select(text)) == [
        *((value,) for value in values),
        ('{"a":5}',),
    ]
    ours = load(path, columns="v, _error", **one).select(text, "_error")
    *good, (nothing, error) = rows(ours)
    assert good == [(value, None) for value in values]
    assert (nothing, reason(error)) == (None, "trailing characters after the value")


def test_text_after_a_lone_carriage_return(load, theirs, written):
    path = written(b'{"a":1}\r{"a":2}\n')
    assert rows(theirs(path, "a long", lineSep="\n")) == [(1,)]
    ((value, error),) = rows(load(path, "a long, _error string"))
    assert (value, reason(error)) == (None, "trailing characters after the value")


def test_only_the_corrupt_records(load, theirs, written):
    path = written(b'{"a":1}\nnope\n')
    schema = "a long, _corrupt_record string"
    with pytest.raises(AnalysisException, match="_corrupt_record"):
        theirs(path, schema).select("_corrupt_record").collect()
    assert rows(load(path, schema).select("_corrupt_record")) == [(None,), ("nope",)]


def test_failfast(load, theirs, written):
    path = written(b'{"a":1}\n{"a":2}\nnope\n')
    with pytest.raises(Exception, match="MALFORMED_RECORD") as caught:
        theirs(path, "a long", mode="FAILFAST").collect()
    assert "line 3" not in str(caught.value)
    with pytest.raises(Exception, match="line 3, byte 16: expected a value") as caught:
        load(path, "a long", mode="FAILFAST").collect()
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "their_type", "our_type"),
    [
        pytest.param(
            b'{"a":18446744073709551615}\n{"a":0.5}\n',
            "struct<a:double>",
            "struct<a:decimal(21,1)>",
            id="large integers among fractions",
        ),
        pytest.param(
            b'{"a":18446744073709551615}\n',
            "struct<a:decimal(20,0)>",
            "struct<a:decimal(20,0)>",
            id="large integers",
        ),
        pytest.param(
            b'{"a":1}\n{"a":"x"}\n{"a":[2]}\n',
            "struct<a:string>",
            "struct<a:variant>",
            id="mixed types",
        ),
        pytest.param(
            b'{"a":{},"":1,"b":2}\n',
            "struct<b:bigint>",
            "struct<a:map<string,string>,:bigint,b:bigint>",
            id="empty objects, the empty key",
        ),
        pytest.param(b'{"a":1,"a":2}\n', None, "struct<a:bigint>", id="equal keys"),
        pytest.param(
            b'{"a":1,"A":"x"}\n',
            None,
            "struct<a:bigint,A:string>",
            id="equal but for case",
        ),
    ],
)
def test_inferred_types(load, theirs, written, content, their_type, our_type):
    path = written(content)
    if their_type is None:
        with pytest.raises(AnalysisException, match="COLUMN_ALREADY_EXISTS"):
            theirs(path)
    else:
        assert theirs(path).schema.simpleString() == their_type
    frame = load(path, inferSchema=True)
    assert frame.schema.simpleString() == our_type
    assert frame.count() == content.count(b"\n")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/io")
def test_type_inference_is_one_pass(spark, theirs, written):
    content = b'{"a":1,"b":"some text"}\n' * 100_000
    path = written(content)
    jobs = spark.sparkContext.statusTracker()

    def jobs_of(name, load):
        spark.sparkContext.setJobGroup(name, name)
        try:
            assert load().schema.simpleString() == "struct<a:bigint,b:string>"
        finally:
            spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
        return len(jobs.getJobIdsForGroup(name))

    ours = spark.read.format("headrace").option("inferSchema", True)
    assert jobs_of("theirs", lambda: theirs(path)) == 1
    assert jobs_of("ours", lambda: ours.load(str(path))) == 0
    before = bytes_read()
    found_columns(read_options({"path": str(path), "inferSchema": "true"}))
    # Only the overlap at the end of each fragment is read twice.
    assert len(content) <= bytes_read() - before <= len(content) * 1.1


def bytes_read():
    """Return how many bytes this process has read so far."""
    counters = Path("/proc/self/io").read_text()
    return int(counters.split("rchar: ", 1)[1].split()[0])


def test_no_digit_of_a_large_integer_is_lost(load, theirs, written):
    path = written(b'{"a":18446744073709551615}\n{"a":0.5}\n')
    assert str(int(theirs(path).first()[0])) == "18446744073709551616"
    assert str(load(path, inferSchema=True).first()[0]) == "18446744073709551615.0"


def test_null_and_missing(load, theirs, written):
    path = written(b'{"a":null}\n{}\n')
    assert rows(theirs(path, "a string")) == [(None,), (None,)]
    frame = load(path, "a variant").select(functions.expr("is_variant_null(a)"), "a")
    assert [(null, a is None) for null, a in rows(frame)] == [
        (True, False),
        (False, True),
    ]


def test_a_long_string(load, theirs, written):
    length = 21_000_000
    path = written(b'{"s":"' + b"x" * length + b'"}\n')
    size = functions.length("s")
    assert rows(theirs(path, "s string").select(size)) == [(None,)]
    assert rows(load(path, "s string").select(size)) == [(length,)]


def test_gzip(load, theirs, written):
    content = b'{"a":1}\n' * 1000
    whole = written(gzip.compress(content), "whole.json.gz")
    assert theirs(whole, "a long").count() == load(whole, "a long").count() == 1000
    # Recognised by its content, not by its name.
    unnamed = written(gzip.compress(content), "unnamed.json")
    assert rows(theirs(unnamed, "a long").agg(functions.sum("a"))) != [(1000,)]
    assert rows(load(unnamed, "a long").agg(functions.sum("a"))) == [(1000,)]
    cut = written(gzip.compress(content)[:-9], "cut.json.gz")
    for frame in (theirs(cut, "a long"), load(cut, "a long")):
        with pytest.raises(Exception, match=r"cut\.json\.gz|end of"):
            frame.count()


def test_several_members_of_gzip(load, theirs, written):
    members = b"".join(gzip.compress(b'{"a":%d}\n' % n) for n in range(3))
    path = written(members, "members.json.gz")
    assert rows(theirs(path, "a long")) == [(0,), (1,), (2,)]
    assert rows(load(path, "a long, _offset long")) == [(0, 0), (1, 8), (2, 16)]


@pytest.mark.parametrize("codec", ["gz", "zst"])
def test_one_large_compressed_file_is_many_tasks(load, theirs, tmp_path, codec):
    path = tmp_path / f"rows.jsonl.{codec}"
    with headrace.LineWriter(path, block_bytes=1000) as writer:
        for row in range(2000):
            writer.write({"a": row, "text": f"{row * 7919:x}"})
    whole = theirs(path, "a long")
    assert whole.rdd.getNumPartitions() == 1
    ours = load(path, "a long", maxPartitionBytes=2000)
    assert ours.rdd.getNumPartitions() > 5
    assert rows(ours) == rows(whole) == [(row,) for row in range(2000)]


def test_writing_zstd(spark, load, tmp_path):
    frame = spark.range(0, 100, 1, 2)
    with pytest.raises(Exception, match=r"(?i)zst"):
        frame.write.option("compression", "zstd").json(str(tmp_path / "theirs"))
    ours = tmp_path / "ours"
    frame.write.format("headrace").mode("append").option("codec", "zstd").save(
        str(ours)
    )
    assert [path.suffix for path in sorted(ours.rglob("*.zst"))] == [".zst"] * 2
    assert rows(load(ours, "id long")) == [(n,) for n in range(100)]


def test_zstd(load, theirs, written):
    path = written(
        zstandard.ZstdCompressor().compress(b'{"a":1}\n' * 9), "data.json.zst"
    )
    assert theirs(path, "a long").count() == load(path, "a long").count() == 9


@pytest.mark.parametrize("name", ["_x.json", ".y.json"])
def test_files_that_begin_with_a_mark(load, theirs, written, name):
    path = written(b'{"a":1}\n', name)
    assert rows(theirs(path.parent, "a long")) == []
    # A file that is named explicitly is read.
    assert rows(load(path, "a long")) == [(1,)]


def test_the_place_of_a_row(load, theirs, written):
    path = written(b'{"a":1}\n\n{"a":2}\n')
    block = functions.col("_metadata.file_block_start")
    assert rows(theirs(path, "a long").select(block)) == [(0,), (0,)]
    ours = load(path, "_file string, _offset long, _line long, a long")
    assert rows(ours) == [(str(path), 0, 1, 1), (str(path), 9, 3, 2)]
