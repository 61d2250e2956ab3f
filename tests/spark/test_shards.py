"""Sets of shards and Spark: its own reader, and ours."""

import pytest

import headrace

pytestmark = pytest.mark.spark

ROWS = 30_000
SUFFIX = {"gzip": ".gz", "zstd": ".zst"}


@pytest.fixture(params=["gzip", "zstd"])
def shards(request, tmp_path):
    """A set of several shards, each of several blocks."""
    writer = headrace.ShardWriter(
        tmp_path, codec=request.param, block_bytes="16KiB", max_bytes="64KiB"
    )
    with writer as rows:
        rows.write_many({"id": n, "word": f"w{n * 7919}"} for n in range(ROWS))
    parts = sorted(tmp_path.glob(f"*/*{SUFFIX[request.param]}"))
    assert len(parts) > 1
    return tmp_path, [str(part) for part in parts]


def test_spark_itself_reads_all_rows(shards, spark):
    _directory, parts = shards
    frame = spark.read.json(parts)
    assert sorted(row.id for row in frame.collect()) == list(range(ROWS))
    assert spark.read.text(parts).count() == ROWS


def test_a_set_is_read_in_order(shards, load):
    directory, parts = shards
    rows = load(directory, "_file string, _row long, _raw binary").collect()
    assert len(rows) == ROWS
    assert [row._raw for row in rows] == list(headrace.open(directory, raw=True))
    assert len({(row._file, row._row) for row in rows}) == ROWS
    assert sorted({row._file for row in rows}) == parts


def test_one_compressed_file_is_split_at_its_blocks(shards, load):
    _directory, parts = shards
    whole = load(parts[0])
    split = load(parts[0], maxPartitionBytes=20_000)
    assert split.rdd.getNumPartitions() > 1
    assert split.count() == whole.count()
