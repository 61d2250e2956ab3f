"""Shards obey their limit on disk, and have the given rows byte for byte."""

import random
import shutil
import subprocess

import pytest

import headrace

KIB = 1024
LIMITS = {"2 KiB": 2 * KIB, "64 KiB": 64 * KIB, "1 MiB": 1024 * KIB}
TOOLS = {"gzip": "zcat", "zstd": "zstdcat"}

REPETITIVE = b"".join(
    b'{"id":%d,"name":"the same each time","value":%d}\n' % (n, n * 7919 % 1009)
    for n in range(400_000)
)


def noise():
    """Return random hexadecimal digits, which compress to half of their length at best."""
    made = random.Random(7)
    return b"".join(
        b'{"x":"%s"}\n' % made.randbytes(60).hex().encode() for _ in range(40_000)
    )


DATA = {"repetitive": REPETITIVE, "random": noise()}


def write(directory, data, **options):
    with headrace.ShardWriter(
        directory, validate=False, threads=2, **options
    ) as writer:
        writer.write_lines(data)
    return writer.close(), [
        path for path in sorted(directory.glob("*/part-*")) if path.suffix != ".ckpt"
    ]


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("codec", TOOLS)
def test_no_file_exceeds_its_limit(tmp_path, codec, limit, data):
    if limit < 64 * KIB:
        # Hundreds of files are enough.
        data = data[
            : data.index(b"\n", 4_000_000 if data is REPETITIVE else 400_000) + 1
        ]
    metadata, files = write(tmp_path / "one", data, codec=codec, max_bytes=limit)
    sizes = [file.stat().st_size for file in files]
    assert len(sizes) >= 2
    assert max(sizes) <= limit
    assert [part.bytes for part in metadata.parts] == sizes
    assert [str(tmp_path / "one" / part.path) for part in metadata.parts] == [
        str(file) for file in files
    ]
    assert metadata.total_records == data.count(b"\n")
    if shutil.which(TOOLS[codec]) is None:
        pytest.skip(f"{TOOLS[codec]} is not installed")
    done = subprocess.run([TOOLS[codec], *files], capture_output=True, check=True)
    assert done.stdout == data
    counts = [
        subprocess.run(
            [TOOLS[codec], file], capture_output=True, check=True
        ).stdout.count(b"\n")
        for file in files[:20]
    ]
    assert [part.records for part in metadata.parts][:20] == counts


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
@pytest.mark.parametrize("codec", TOOLS)
def test_two_runs_write_the_same_bytes_and_levels_differ(tmp_path, codec, data):
    options = {"codec": codec, "max_bytes": 256 * KIB}
    sizes = {}
    for level in (1, 9):
        metadata, _files = write(tmp_path / f"{level}", data, level=level, **options)
        sizes[level] = metadata.total_bytes
    assert sizes[9] != sizes[1]
    if data is REPETITIVE:
        assert sizes[9] < sizes[1]
    write(tmp_path / "again", data, level=9, **options)
    first, second = (
        {
            path.relative_to(root): path.read_bytes()
            for path in root.rglob("*")
            if path.is_file()
        }
        for root in (tmp_path / "9", tmp_path / "again")
    )
    assert len(first) > 3
    assert first == second
