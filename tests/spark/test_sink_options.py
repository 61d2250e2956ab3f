"""The options of a write, and the job that they start."""

from pathlib import Path

import pytest
from pyspark.sql.types import ArrayType, LongType, NullType, StructType

import headrace
from headrace.engines.spark.sink.options import (
    SINK_OPTIONS,
    WriteOptions,
    begin_job,
    is_write,
    write_options,
)
from headrace.engines.spark.sink.writer import HeadraceWriter
from headrace.errors import UsageError

pytestmark = pytest.mark.spark

MANUAL = Path(__file__).parents[2] / "docs" / "spark.md"


def test_defaults():
    assert write_options({"path": "/out"}) == WriteOptions(
        place=Path("/out"),
        name="rows",
        codec=None,
        level=None,
        block_bytes=None,
        max_bytes=None,
        max_records=None,
        max_logical_bytes=None,
        skip_nulls=True,
        null_for_nan=False,
        partition_by=None,
        lines=None,
        job_id=None,
        grace=None,
    )


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("file:///out", Path("/out")),
        ("file:/out", Path("/out")),
        ("out", Path.cwd() / "out"),
        ("s3://bucket/out/", "s3://bucket/out/"),
    ],
)
def test_paths(path, place):
    assert write_options({"PATH": path}).place == place


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"needs a directory: .save\(directory\)"),
        (
            {"path": "a", "maxByte": "1"},
            "no option maxbyte; there are path, name, codec",
        ),
        ({"path": "a", "level": "x"}, "option level is x; it must be an integer"),
        (
            {"path": "a", "nonFinite": "nan"},
            "option nonFinite is nan; it must be error or null",
        ),
    ],
)
def test_refused(options, message):
    with pytest.raises(UsageError, match=message):
        write_options(options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maxBytes": "many"}, "not a size"),
        ({"maxRecords": "0"}, "must be a positive integer"),
        ({"blockBytes": "2GiB"}, "block_bytes"),
        ({"codec": "xz"}, "files are written as"),
        ({"partitionBy": "a..b"}, "it is a path such as"),
    ],
)
def test_refused_before_anything_is_made(tmp_path, options, message):
    write = write_options({"path": str(tmp_path / "out"), **options})
    with pytest.raises(UsageError, match=message):
        begin_job(write, overwrite=False, validate=True)
    assert not list(tmp_path.iterdir())


def test_an_append_takes_missing_options_from_the_set(tmp_path):
    how = {"codec": "gzip", "level": 3, "block_bytes": "1KiB", "max_records": 5}
    with headrace.ShardWriter(tmp_path, **how) as writer:
        writer.write({})
    there = writer.close()
    same = begin_job(
        write_options({"path": str(tmp_path)}), overwrite=False, validate=True
    )
    assert same.options.compression == there.compression
    assert same.options.limits == there.limits
    given = {"path": str(tmp_path), "level": "9", "maxRecords": "7"}
    other = begin_job(write_options(given), overwrite=False, validate=True)
    assert other.options.compression.level == 9
    assert other.options.limits.max_records == 7
    new = begin_job(
        write_options({"path": str(tmp_path)}), overwrite=True, validate=True
    )
    assert new.options.compression.codec == "zstd"
    assert new.options.limits.max_records is None


def test_options_of_writes_only():
    assert is_write({"path": "a", "JOBID": "1"})
    assert not is_write({"path": "a", "maxLineBytes": "1"})
    with pytest.raises(UsageError, match=r"no option a, b; .* for writes, path, name"):
        is_write({"b": "1", "path": "a", "a": "1"})


def test_the_manual_has_every_option_with_its_meaning():
    manual = MANUAL.read_text(encoding="utf-8")
    assert SINK_OPTIONS
    for option in SINK_OPTIONS:
        assert f"| `{option.name}` | " in manual
        assert f"{option.doc} |" in manual


@pytest.mark.parametrize("path", ["zzz", "u, v", "nested.id", ""])
def test_a_partition_begins_with_a_column(tmp_path, path):
    schema = StructType().add("id", LongType()).add("u", LongType())
    options = write_options({"path": str(tmp_path), "partitionBy": path})
    with pytest.raises(UsageError, match="there are id, u"):
        HeadraceWriter(options, schema, overwrite=False)
    assert list(tmp_path.iterdir()) == []


def test_a_replaced_generation_stays_for_its_grace(tmp_path):
    options = write_options({"path": str(tmp_path), "grace": "1h30m"})
    job = begin_job(options, overwrite=True, validate=True)
    assert job.home.grace == 5400
    with pytest.raises(UsageError, match="option grace: not a duration: 'soon'"):
        write_options({"path": str(tmp_path), "grace": "soon"})
    with pytest.raises(UsageError, match="headrace shard vacuum URL --grace"):
        write_options({"path": "s3://bucket/out", "grace": "1h"})


def test_codecs_may_be_written_in_capitals():
    assert write_options({"path": "/out", "codec": "GZIP"}).codec == "gzip"


def test_columns_without_a_type_are_refused(tmp_path):
    schema = StructType().add("x", ArrayType(NullType(), containsNull=False))
    with pytest.raises(UsageError, match="cast columns without a type"):
        HeadraceWriter(write_options({"path": str(tmp_path)}), schema, overwrite=False)
