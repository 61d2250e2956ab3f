"""Other tools read all rows of shards."""

import gzip
import io
import json
import shutil
import subprocess

import pytest

import headrace

ROWS = 30_000
BLOCK = "16KiB"
SUFFIX = {"gzip": ".gz", "zstd": ".zst"}


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """Return the files of sets of several shards, each of several blocks."""
    return {codec: written(tmp_path_factory.mktemp(codec), codec) for codec in SUFFIX}


def written(directory, codec):
    writer = headrace.ShardWriter(
        directory, codec=codec, block_bytes=BLOCK, max_bytes="64KiB"
    )
    with writer as rows:
        rows.write_many({"id": n, "word": f"w{n * 7919}"} for n in range(ROWS))
    parts = sorted(directory.glob(f"*/*{SUFFIX[codec]}"))
    assert len(parts) > 1
    assert all(part.blocks > 1 for part in headrace.ShardSet(directory).metadata.parts)
    return parts


def gzip_module(parts):
    for part in parts:
        with gzip.open(part) as lines:
            yield from map(json.loads, lines)


def zstandard_module(parts):
    zstandard = pytest.importorskip("zstandard")
    for part in parts:
        with zstandard.open(part, "rb") as lines:
            yield from map(json.loads, io.BufferedReader(lines))


def program(name):
    def read(parts):
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")
        done = subprocess.run([name, *parts], capture_output=True, check=True)
        return map(json.loads, done.stdout.splitlines())

    return read


def pandas_reader(parts):
    pandas = pytest.importorskip("pandas")
    for part in parts:
        frame = pandas.read_json(part, lines=True)
        yield from frame.to_dict("records")


def pyarrow_reader(parts):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import json as arrow_json

    for part in parts:
        with pyarrow.input_stream(str(part)) as stream:
            yield from arrow_json.read_json(stream).to_pylist()


def duckdb_reader(parts):
    duckdb = pytest.importorskip("duckdb")
    query = "select id, word from read_ndjson(?)"
    for part in parts:
        for id_, word in duckdb.execute(query, [str(part)]).fetchall():
            yield {"id": id_, "word": word}


def polars_reader(parts):
    polars = pytest.importorskip("polars")
    for part in parts:
        yield from polars.read_ndjson(part).to_dicts()


READERS = [
    pytest.param("gzip", gzip_module, id="gzip module"),
    pytest.param("gzip", program("zcat"), id="zcat"),
    pytest.param("zstd", zstandard_module, id="zstandard module"),
    pytest.param("zstd", program("zstdcat"), id="zstdcat"),
    *(
        pytest.param(codec, reader, id=f"{name}-{codec}")
        for codec in ("gzip", "zstd")
        for name, reader in (
            ("pandas", pandas_reader),
            ("pyarrow", pyarrow_reader),
            ("duckdb", duckdb_reader),
            ("polars", polars_reader),
        )
    ),
]


@pytest.mark.parametrize(("codec", "reader"), READERS)
def test_all_rows_are_read(shards, codec, reader):
    seen = list(reader(shards[codec]))
    assert len(seen) == ROWS
    assert seen[0] == {"id": 0, "word": "w0"}
    assert [row["id"] for row in seen] == list(range(ROWS))
    assert all(row["word"] == f"w{row['id'] * 7919}" for row in seen)
