"""Foreign formats are named, and never counted as lines."""

import bz2
import gzip
import io
import lzma
import subprocess
import sys
import tarfile
import zipfile

import pytest
import zstandard

import headrace
from headrace.errors import NotNdjsonError

ROWS = b'{"a": 1}\n' * 100


def zipped():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.jsonl", ROWS)
    return out.getvalue()


def tarred():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = tarfile.TarInfo("a.jsonl")
        member.size = len(ROWS)
        archive.addfile(member, io.BytesIO(ROWS))
    return out.getvalue()


CASES = {
    "zip": (zipped(), "a ZIP archive; unpack it: unzip"),
    "tar": (tarred(), "a tar archive; unpack it: tar -xf"),
    "parquet": (b"PAR1" + bytes(50) + b"PAR1", "Parquet"),
    "lz4": (b"\x04\x22\x4d\x18" + bytes(50), "compressed by LZ4; decompress it: lz4 -d"),
    "avro": (b"Obj\x01" + bytes(50), "Avro"),
    "sqlite": (b"SQLite format 3\0" + bytes(50), "SQLite"),
    "tar.gz": (gzip.compress(tarred()), "behind gzip, it is a tar archive"),
    "zip.zst": (zstandard.compress(zipped()), "behind zstd, it is a ZIP archive"),
    "gz.gz": (gzip.compress(gzip.compress(ROWS)), "behind gzip, it is gzip again"),
    "xz.bz2": (bz2.compress(lzma.compress(ROWS)), "behind bzip2, it is xz again"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "reason"), CASES.values(), ids=CASES)
@pytest.mark.parametrize(
    "use",
    [len, list, lambda ds: ds[3], lambda ds: ds.tail(1), lambda ds: ds.stats()],
    ids=["count", "rows", "row", "tail", "stats"],
)
def test_foreign_formats_are_named(tmp_path, content, reason, use):
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(NotNdjsonError, match=reason):
        use(headrace.open(path))


@pytest.mark.parametrize("name", [name for name in CASES if name != "tar"])
def test_foreign_formats_are_named_in_a_pipe(name):
    content, reason = CASES[name]
    done = subprocess.run(
        [sys.executable, "-m", "headrace", "count", "-"],
        input=content,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert reason.encode() in done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("content", [b"", b"\n", b"P\n", b"PK\n", b"[1]\n", b'"ORC"\n'])
def test_text_is_text(tmp_path, content):
    for name, packed in (("a", content), ("b", gzip.compress(content))):
        (tmp_path / name).write_bytes(packed)
        rows = headrace.open(tmp_path / name, raw=True)
        assert list(rows) == content.splitlines()
