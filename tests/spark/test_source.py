"""``spark.read.format("headrace")`` in a real session."""

import bz2
import gzip
import itertools
import lzma

import pytest
import zstandard
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import functions

from tests.reference.compressed import FORMS
from tests.spark.nasty import MAX_LINE, NASTY, expected

pytestmark = pytest.mark.spark

COLUMNS = ["_file", "_offset", "_row", "_raw"]

CODECS = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": zstandard.ZstdCompressor().compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


@pytest.fixture(scope="session")
def nasty(tmp_path_factory):
    path = tmp_path_factory.mktemp("nasty") / "nasty.jsonl"
    path.write_bytes(NASTY)
    return path


def collected(frame):
    return sorted(tuple(row) for row in frame.collect())


@pytest.mark.parametrize("partition_bytes", [1, 2, 5, 64, len(NASTY), 1 << 20])
def test_every_line_comes_exactly_once(load, nasty, partition_bytes):
    frame = load(nasty, maxPartitionBytes=partition_bytes, maxLineBytes=MAX_LINE)
    splits = -(-len(NASTY) // partition_bytes)
    assert frame.rdd.getNumPartitions() == splits
    assert [tuple(row) for row in frame.collect()] == expected(NASTY, nasty)


def test_the_default_schema(load, nasty):
    frame = load(nasty)
    assert frame.schema.simpleString() == (
        "struct<_file:string,_offset:bigint,_row:bigint,_raw:binary>"
    )


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param(columns, id=" ".join(columns))
        for size in range(1, 5)
        for columns in itertools.combinations(COLUMNS, size)
    ]
    + [pytest.param(tuple(reversed(COLUMNS)), id="reversed")],
)
def test_any_columns_in_any_order(load, nasty, columns):
    types = {"_file": "string", "_raw": "binary"}
    schema = ", ".join(f"{name} {types.get(name, 'long')}" for name in columns)
    frame = load(nasty, schema, maxPartitionBytes=100, maxLineBytes=MAX_LINE)
    everything = expected(NASTY, nasty)
    wanted = [tuple(row[COLUMNS.index(name)] for name in columns) for row in everything]
    assert [tuple(row) for row in frame.collect()] == wanted
    assert frame.count() == len(everything)


def test_lines_as_text(load, nasty):
    frame = load(nasty, "_raw string", maxPartitionBytes=50, maxLineBytes=MAX_LINE)
    assert frame.schema.simpleString() == "struct<_raw:string>"
    lines = [line for *_, line in expected(NASTY, nasty)]
    wanted = [None if line is None else line.decode() for line in lines]
    assert [row["_raw"] for row in frame.collect()] == wanted


def test_text_that_is_not_utf8_fails_with_its_place(load, tmp_path):
    path = tmp_path / "latin.jsonl"
    path.write_bytes(b'{"a": 1}\n\n"M\xfcnchen"\n')
    with pytest.raises(PythonException, match="not UTF-8") as caught:
        load(path, "_raw string", maxPartitionBytes=4).collect()
    assert str(path) in str(caught.value)
    assert "BadRowError" in str(caught.value)
    assert load(path, "_raw binary").count() == 3


@pytest.mark.parametrize("suffix", CODECS)
def test_compressed_files(load, tmp_path, suffix):
    path = tmp_path / f"nasty.jsonl{suffix}"
    path.write_bytes(CODECS[suffix](NASTY))
    frame = load(path, maxPartitionBytes=64, maxLineBytes=MAX_LINE)
    assert [tuple(row) for row in frame.collect()] == expected(NASTY, path)
    if suffix:
        assert frame.rdd.getNumPartitions() == 1


@pytest.fixture
def folder(tmp_path):
    """A folder with files of all kinds, and some that are not data files."""
    for number, (suffix, compress) in enumerate(CODECS.items()):
        path = tmp_path / f"part-{number}.jsonl{suffix}"
        path.write_bytes(compress(NASTY))
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "other.ndjson").write_bytes(b"1\n2\n")
    for name in (".hidden.jsonl", "_temporary.jsonl", "notes.txt"):
        (tmp_path / name).write_bytes(b"not ours\n")
    return tmp_path


def test_a_folder_is_its_files(load, folder):
    wanted = sorted(
        row
        for path in sorted(folder.glob("part-*"))
        for row in expected(NASTY, path, max_line=len(NASTY))
    )
    frame = load(folder, maxPartitionBytes=100)
    assert sorted(map(tuple, frame.collect())) == wanted


@pytest.mark.parametrize(
    ("paths", "options", "names"),
    [
        pytest.param("part-[01].jsonl*", {}, "part-0 part-1", id="glob"),
        pytest.param("**/*.ndjson", {}, "other", id="recursive glob"),
        pytest.param(
            ["part-2.jsonl.zst", "deep"], {}, "part-2 other", id="file and folder"
        ),
        pytest.param(
            "", {"pathGlobFilter": "*.gz"}, "part-1", id="folder with a filter"
        ),
        pytest.param(
            ["part-1.jsonl.gz", "part-1.jsonl.gz"], {}, "part-1 part-1", id="twice"
        ),
    ],
)
def test_paths(load, folder, paths, options, names):
    given = [folder / p for p in paths] if isinstance(paths, list) else folder / paths
    frame = load(given, "_file string, _row long", **options)
    rows = {"other": 2}
    for name in names.split():
        found = frame.filter(functions.col("_file").contains(f"/{name}."))
        times = names.split().count(name)
        assert found.count() == times * rows.get(name, len(expected(NASTY)))
    assert frame.select("_file").distinct().count() == len(set(names.split()))


def test_a_missing_path_is_an_error(load, tmp_path):
    with pytest.raises(AnalysisException, match="SourceNotFoundError"):
        load(tmp_path / "missing.jsonl").collect()


def test_a_folder_without_files_has_no_rows(load, tmp_path):
    (tmp_path / "empty.jsonl").touch()
    assert load(tmp_path).collect() == []


def test_an_unknown_option_fails_at_load(load, nasty):
    with pytest.raises(AnalysisException, match="no option maxpartitionbyte; there"):
        load(nasty, maxPartitionByte=1)


def test_a_file_that_grows_under_a_frame_keeps_the_rows_it_had(load, tmp_path):
    path = tmp_path / "growing.jsonl"
    path.write_bytes(b"1\n2\n")
    frame = load(path)
    assert frame.count() == 2
    path.write_bytes(b"1\n2\n3\n")
    assert frame.count() == 2
    assert load(path).count() == 3


def test_a_file_that_changes_under_a_frame_is_refused(load, tmp_path):
    path = tmp_path / "changing.jsonl"
    path.write_bytes(b"1\n2\n")
    frame = load(path)
    assert frame.count() == 2
    path.write_bytes(b"3\n2\n1\n")
    with pytest.raises(PythonException, match="SourceChangedError") as caught:
        frame.count()
    assert str(path) in str(caught.value)
    assert load(path).count() == 3


@pytest.mark.parametrize("schema", [None, "id long"])
def test_a_file_that_is_gone_is_named(load, tmp_path, schema):
    path = tmp_path / "gone.jsonl"
    path.write_bytes(b'{"id": 1}\n')
    frame = load(path, schema)
    assert frame.count() == 1
    path.unlink()
    with pytest.raises(PythonException, match=r"gone\.jsonl: no such file"):
        frame.count()


@pytest.mark.parametrize("adaptive", [True, False])
def test_one_frame_can_be_used_again_and_again(load, nasty, adaptive):
    frame = load(nasty, maxPartitionBytes=40, maxLineBytes=MAX_LINE)
    frame.sparkSession.conf.set("spark.sql.adaptive.enabled", adaptive)
    total = len(expected(NASTY))
    first, last = frame.filter("_row < 3"), frame.filter("_row >= 5")
    assert first.count() == 3
    assert frame.count() == total
    assert collected(first.union(last).select("_row")) == [
        (row,) for row in range(total) if row < 3 or row >= 5
    ]
    assert frame.filter("_raw is null").count() == 1
    assert frame.union(frame).count() == 2 * total
    assert frame.join(frame, "_row").count() == total
    assert frame.count() == total


def test_a_limit_reads_the_first_rows(load, nasty):
    frame = load(nasty, maxPartitionBytes=10, maxLineBytes=MAX_LINE)
    assert [tuple(row) for row in frame.limit(3).collect()] == expected(NASTY, nasty)[
        :3
    ]


def test_sql_over_a_temporary_view(spark, nasty):
    spark.sql(
        "create or replace temporary view nasty using headrace "
        f"options (path '{nasty}', maxPartitionBytes '16')"
    )
    found = spark.sql("select count(*), max(_row), count(_raw) from nasty").first()
    total = len(expected(NASTY))
    assert tuple(found) == (total, total - 1, total)


def test_spark_reads_the_records_from_the_lines(load, tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"".join(b'{"n": %d}\n' % n for n in range(1000)))
    lines = load(path, "_raw string", maxPartitionBytes="1KiB")
    records = lines.select(functions.from_json("_raw", "n long").alias("r"))
    assert records.agg(functions.sum("r.n")).first()[0] == sum(range(1000))


@pytest.mark.parametrize("form", ["gzip, blocks of lines", "zstd, cut anywhere"])
def test_tasks_read_blocks_of_compressed_files(load, tmp_path, form):
    data = NASTY + b"\n" + b'{"more": true}\n' * 500
    path = tmp_path / "blocks"
    path.write_bytes(FORMS[form](data))
    frame = load(
        path, maxPartitionBytes=path.stat().st_size // 3, maxLineBytes=MAX_LINE
    )
    assert frame.rdd.getNumPartitions() >= 3
    assert collected(frame) == sorted(expected(data, path), key=lambda row: row[:3])
