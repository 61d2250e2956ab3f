"""The reader without Spark: the plan of the driver and the rows of the tasks."""

import gzip
import os
import pickle
import sys

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.cloudpickle import dumps
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    BinaryType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from headrace.engines.spark.source.data_source import HeadraceSource
from headrace.errors import BadRowError, SourceChangedError, UsageError
from tests.reference.compressed import FORMS
from tests.spark.nasty import MAX_LINE, NASTY, expected

pytestmark = pytest.mark.spark

TYPES = {
    "_file": StringType(),
    "_offset": LongType(),
    "_row": LongType(),
    "_raw": BinaryType(),
}


def schema(*columns, **types):
    return StructType([StructField(c, types.get(c, TYPES.get(c))) for c in columns])


DEFAULT = schema(*TYPES)


def reader(path, columns=DEFAULT, **options):
    return HeadraceSource({"path": str(path)} | options).reader(schema=columns)


def read(reader):
    """Do as Spark does: pickle the reader and each partition, read elsewhere."""
    sent = dumps(reader)
    batches = []
    for partition in reader.partitions():
        task, split = pickle.loads(sent), pickle.loads(dumps(partition))
        batches += task.read(split)
    return batches


def rows(reader):
    return [tuple(row.values()) for batch in read(reader) for row in batch.to_pylist()]


@pytest.fixture
def nasty(tmp_path):
    path = tmp_path / "nasty.jsonl"
    path.write_bytes(NASTY)
    return path


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(NASTY, id="nasty"),
        pytest.param(b"", id="empty"),
        pytest.param(b"\n", id="one blank line"),
        pytest.param(b"\xef\xbb\xbf", id="only a byte order mark"),
        pytest.param(b"a\r\nb\r", id="no newline after the last return"),
        pytest.param(b"\r\n\n\r\r\n" * 3, id="only line ends"),
    ],
)
def test_every_line_comes_exactly_once_at_any_split_size(tmp_path, data):
    path = tmp_path / "data.jsonl"
    path.write_bytes(data)
    wanted = expected(data, path)
    for size in range(1, len(data) + 2):
        options = {"maxPartitionBytes": str(size), "maxLineBytes": str(MAX_LINE)}
        assert rows(reader(path, **options)) == wanted, f"splits of {size} bytes"


@given(
    lines=st.lists(st.text("\r \ufeffé🎉x", max_size=9), max_size=12),
    size=st.integers(1, 60),
    last=st.sampled_from(["", "\n"]),
)
def test_every_line_of_any_file_comes_exactly_once(tmp_path, lines, size, last):
    data = ("\n".join(lines) + last).encode()
    path = tmp_path / "any.jsonl"
    path.write_bytes(data)
    assert rows(reader(path, maxPartitionBytes=str(size))) == expected(data, path)


BLOCKS = [form for form in FORMS if "block" in form or form == "zstd, cut anywhere"]


@pytest.mark.parametrize("form", BLOCKS)
def test_files_of_blocks_are_split_too(tmp_path, form):
    path = tmp_path / "data"
    path.write_bytes(FORMS[form](NASTY))
    wanted = expected(NASTY, path)
    for size in (1, 50, 100, 250, 1 << 20):
        options = {"maxPartitionBytes": str(size), "maxLineBytes": str(MAX_LINE)}
        read = reader(path, **options)
        assert len(read.partitions()) == -(-path.stat().st_size // size)
        assert rows(read) == wanted, f"splits of {size} bytes"


@pytest.mark.parametrize("batch_bytes", [1, 2, 10, 50, 1000])
def test_a_batch_ends_with_the_line_that_fills_it(nasty, batch_bytes):
    whole = reader(nasty, maxBatchBytes=str(batch_bytes))
    for batch in read(whole):
        *before, _last = batch["_raw"].to_pylist()
        assert sum(map(len, before)) < batch_bytes
    assert rows(whole) == expected(NASTY, nasty, max_line=len(NASTY))


def test_batches_are_cut_by_rows(tmp_path):
    path = tmp_path / "short.jsonl"
    path.write_bytes(b"1\n" * 70_000)
    assert [batch.num_rows for batch in read(reader(path))] == [65_536, 4_464]


@pytest.mark.parametrize(
    "columns",
    [
        DEFAULT,
        schema("_raw"),
        schema("_row", "_file"),
        schema("_raw", "_offset", _raw=StringType()),
        StructType([StructField("_row", LongType(), nullable=False)]),
    ],
)
def test_batches_have_the_very_schema_spark_compares_with(nasty, columns):
    schemas = {
        batch.schema for batch in read(reader(nasty, columns, maxPartitionBytes="9"))
    }
    assert schemas == {to_arrow_schema(columns, timezone="UTC")}


def test_rows_are_counted_only_for_numbered_columns(nasty):
    def first_rows(columns):
        planned = reader(nasty, columns, maxPartitionBytes="100").partitions()
        return [part.first_row for partition in planned for part in partition.value]

    assert first_rows(schema("_file", "_offset", "_raw")) == [None] * 3
    assert None not in first_rows(schema("_row"))


def test_small_files_are_packed_in_order(tmp_path):
    for number in range(10):
        (tmp_path / f"{number}.jsonl").write_bytes(b"12345678\n")
    planned = reader(tmp_path, maxPartitionBytes="30").partitions()
    names = [
        [part.source.location[-7] for part in partition.value] for partition in planned
    ]
    assert names == [list("012"), list("345"), list("678"), list("9")]


def test_a_compressed_file_is_one_fragment(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(NASTY))
    (partition,) = reader(path, maxPartitionBytes="10").partitions()
    (fragment,) = partition.value
    assert (fragment.start, fragment.first_row) == (0, 0)


def test_an_empty_partition_has_no_rows(nasty):
    # Spark turns an empty list of partitions into this one.
    assert list(reader(nasty).read(InputPartition(None))) == []


def test_paths_are_absolute_in_the_partitions(nasty, monkeypatch):
    monkeypatch.chdir(nasty.parent)
    assert rows(reader(nasty.name))[0][0] == str(nasty)


@pytest.mark.skipif(sys.platform != "linux", reason="others refuse such names")
def test_a_file_name_that_is_not_text_is_spelled_out(tmp_path):
    path = tmp_path / os.fsdecode(b"M\xfcnchen.jsonl")
    path.write_bytes(b"1\n")
    assert [row[0] for row in rows(reader(tmp_path))] == [
        f"{tmp_path}/M\\xfcnchen.jsonl"
    ]


@pytest.mark.parametrize("prefix", ["file:", "file://", "file://localhost"])
def test_a_path_may_be_written_as_hadoop_does(nasty, prefix):
    assert rows(reader(f"{prefix}{nasty}")) == rows(reader(nasty))


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="Spark cannot read a pipe"):
        reader(tmp_path / "pipe").partitions()


@pytest.mark.parametrize(
    "change", ["shorter", "touched", "replaced", "replaced by a longer one"]
)
def test_a_file_that_changed_since_it_was_planned_is_refused(nasty, change):
    planned = reader(nasty)
    (partition,) = planned.partitions()
    later = nasty.stat().st_mtime_ns + 1
    match change:
        case "shorter":
            nasty.write_bytes(NASTY[:-1])
        case "replaced":
            nasty.unlink()
            nasty.write_bytes(NASTY.swapcase())
        case "replaced by a longer one":
            nasty.unlink()
            nasty.write_bytes(b"\n" * (len(NASTY) + 1))
    # The clock of the file system may not have moved on since the fixture.
    os.utime(nasty, ns=(later, later))
    with pytest.raises(SourceChangedError) as caught:
        list(planned.read(partition))
    assert str(nasty) in str(caught.value)


@pytest.mark.parametrize("partition_bytes", ["1", "7", "1000"])
@pytest.mark.parametrize("columns", [("_raw",), ("_row", "_raw")])
def test_text_that_is_not_utf8_is_named_by_line_and_byte(
    tmp_path, partition_bytes, columns
):
    path = tmp_path / "latin.jsonl"
    path.write_bytes('{"a": 1}\n\n"é"\n'.encode() + b'"M\xfcnchen"\n{}\n')
    text = schema(*columns, _raw=StringType())
    with pytest.raises(BadRowError) as caught:
        read(reader(path, text, maxPartitionBytes=partition_bytes))
    error = caught.value
    assert (error.path, error.line, error.offset) == (str(path), 4, 15)


def test_halves_of_a_character_in_two_lines_are_not_joined(tmp_path):
    path = tmp_path / "halves.jsonl"
    path.write_bytes(b"\xc3\n\xa9\n")
    with pytest.raises(BadRowError):
        read(reader(path, schema("_raw", _raw=StringType())))


def test_a_line_over_the_limit_is_a_null_among_its_neighbours(tmp_path):
    path = tmp_path / "long.jsonl"
    lines = [b"x" * (200 if number % 13 == 5 else number) for number in range(64)]
    path.write_bytes(b"\n".join(lines))
    batches = read(reader(path, schema("_raw"), maxLineBytes="100"))
    column = pa.chunked_array([batch["_raw"] for batch in batches])
    column.validate(full=True)
    assert column.to_pylist() == [x if len(x) <= 100 else None for x in lines]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        pytest.param(
            schema("_raw", _raw=LongType()),
            "_raw cannot be bigint; it can be binary or string",
            id="wrong type",
        ),
        pytest.param(
            StructType([StructField("_raw", BinaryType(), nullable=False)]),
            "_raw cannot be NOT NULL",
            id="not null",
        ),
    ],
)
def test_a_schema_the_source_cannot_give_is_refused(nasty, columns, message):
    with pytest.raises(UsageError, match=message):
        reader(nasty, columns)


def test_there_is_no_filter_pushdown():
    # Spark 4.3 keeps pushed filters for the next use of the same DataFrame.
    assert "pushFilters" not in vars(type(reader("x")))
