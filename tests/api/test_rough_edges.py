"""Mistakes and edge cases that once had a wrong or an unhelpful answer."""

import errno
import gzip
import os
import subprocess
import sys

import pytest

import headrace
from headrace.errors import (
    HeadraceError,
    JsonTooLargeError,
    RowOutOfRangeError,
    SpoolError,
    UnwritableError,
    UsageError,
)

LINES = b'\xef\xbb\xbf{"a": 1}\r\n\n[2]\n"\xc3\xa9"\nlast'


@pytest.fixture
def write(tmp_path):
    def write(data, name="data.jsonl"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_the_place_of_a_row_is_where_its_bytes_are(write, packed):
    path = write(gzip.compress(LINES) if packed else LINES)
    ds = headrace.open([path, path], max_line=5)
    for row in range(len(ds)):
        place = ds.place(row)
        found = LINES[place.offset :][: place.length]
        assert found == LINES.removeprefix(b"\xef\xbb\xbf").split(b"\n")[
            row % 5
        ].rstrip(b"\r")
        assert place == ds.place(row - len(ds))
        assert place.path == str(path)
    for row in (10, -11):
        with pytest.raises(RowOutOfRangeError):
            ds.place(row)


def test_whether_there_are_rows_is_known_without_counting(write):
    path = write(b'{"id": 1}\n' * 1_000_000)
    ds = headrace.open(path)
    assert ds
    assert ds.bytes_read() < 1 << 20
    assert not headrace.open(write(b"", "empty.jsonl"))
    assert headrace.open([write(b"", "empty.jsonl"), path])


def test_whether_a_pipe_has_rows_does_not_use_it_up():
    code = "import headrace; ds = headrace.open('-'); print(bool(ds), list(ds))"
    for data, answer in ((b"1\n2\n", "True [1, 2]\n"), (b"", "False []\n")):
        done = subprocess.run(
            [sys.executable, "-c", code], input=data, capture_output=True, check=True
        )
        assert done.stdout.decode() == answer


@pytest.mark.parametrize(
    ("start", "stop"),
    [(-5, None), (-5, -2), (2, -2), (0, -1), (-99, 3), (-1, None), (0, -99)],
)
def test_rows_take_numbers_from_the_end_as_slices_do(write, start, stop):
    ds = headrace.open(write(b"".join(b"%d\n" % row for row in range(20))))
    assert list(ds.rows(start, stop)) == ds[start:stop] == list(range(20))[start:stop]


def test_the_directory_of_copies_is_named_where_it_cannot_be_used(
    write, tmp_path, monkeypatch
):
    path = write(gzip.compress(b"1\n" * 5000))
    for place in (tmp_path / "missing", path):
        monkeypatch.setenv("HEADRACE_SPOOL_DIR", str(place))
        with pytest.raises(SpoolError, match=rf"{place.name}: .*HEADRACE_SPOOL_DIR"):
            headrace.open(path)[3]


@pytest.mark.skipif(not os.path.exists("/dev/shm"), reason="no small file system")  # noqa: PTH110
def test_a_full_spool_directory_is_named(write, monkeypatch):
    from headrace.store.rows import row_index

    path = write(gzip.compress(b"1\n" * 5000))

    class Full:
        def __init__(self, build):
            self.copy = build.copy

        def advance(self, _bytes):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    begin = row_index.IndexJob.__init__

    def full(self, *arguments, **options):
        begin(self, *arguments, **options)
        self.build = Full(self.build)

    monkeypatch.setattr(row_index.IndexJob, "__init__", full)
    with pytest.raises(SpoolError, match=r"No space left.*HEADRACE_SPOOL_DIR"):
        headrace.open(path)[3]


@pytest.mark.parametrize("codec", ["zstd", "none"])
def test_records_that_fit_in_no_file_can_be_left_out(tmp_path, codec):
    big = {"random": os.urandom(3000).hex()}
    source = tmp_path / "s.jsonl"
    with headrace.LineWriter(source) as writer:
        writer.write_many([1, big, 2])
    errors = []
    for number, on_error in enumerate(("skip", errors.append)):
        for give in (
            lambda writer: writer.write_many([1, big, 2]),
            lambda writer: writer.write_many(headrace.open(source)),
            lambda writer: writer.write_lines(source.read_bytes()),
        ):
            out = tmp_path / f"{codec}-{number}"
            with headrace.ShardWriter(
                out, codec=codec, max_bytes=2048, on_error=on_error
            ) as writer:
                give(writer)
            assert (writer.records, writer.skipped) == (2, 1)
            assert list(headrace.open(out)) == [1, 2]
    assert [type(error) for error in errors] == [JsonTooLargeError] * 3
    with (
        headrace.ShardWriter(tmp_path / "abort", codec=codec, max_bytes=2048) as writer,
        pytest.raises(JsonTooLargeError, match="--on-error skip"),
    ):
        writer.write(big)


@pytest.mark.parametrize("make", [headrace.LineWriter, headrace.ShardWriter])
def test_a_limit_that_no_file_can_keep_is_refused_at_once(tmp_path, make):
    with pytest.raises(UsageError, match="max_bytes 1"):
        make(tmp_path / "a.jsonl.gz", max_bytes=1, codec="gzip")
    with pytest.raises(UsageError, match="must be a positive integer up to 9223"):
        make(tmp_path / "a.jsonl.gz", max_bytes=2**70)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_after_the_commit_does_not_report_the_old_set(tmp_path, monkeypatch):
    with headrace.ShardWriter(tmp_path) as writer:
        writer.write(1)
    writer = headrace.ShardWriter(tmp_path)
    writer.write(2)
    from headrace.store.files.atomic import NewFile

    discard = NewFile.discard

    def failing(self):
        if ".meta-" in self.temporary.name:
            self._file.close()
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        discard(self)

    with monkeypatch.context() as patched:
        patched.setattr(NewFile, "discard", failing)
        writer.close()
    assert list(headrace.open(tmp_path)) == [2]


def test_a_missing_directory_is_reported_with_the_requested_file(write, tmp_path):
    from headrace.api.recompress import recompress

    path = write(b"1\n")
    with pytest.raises(UnwritableError) as raised:
        recompress(path, tmp_path / "missing" / "x.zst")
    assert str(raised.value).startswith(f"{tmp_path}/missing/x.zst: cannot be written")


def test_the_advice_for_a_bad_row_fits_a_reader_of_rows(write):
    with pytest.raises(HeadraceError, match=r"ds\.raw has its bytes") as raised:
        headrace.open(write(b"1\n{\n"))[1]
    assert "on_error='skip' (--on-error skip)" not in str(raised.value)


def test_few_open_files_are_enough(tmp_path):
    for number in range(120):
        (tmp_path / f"{number:03}.jsonl").write_bytes(b"1\n2\n")
    code = (
        "import headrace, sys; ds = headrace.open(sys.argv[1]);"
        "print(len(ds), sum(1 for _ in ds), [ds[n] for n in range(0, 240, 60)])"
    )
    done = subprocess.run(
        ["sh", "-c", 'ulimit -n 60; exec "$0" "$@"', sys.executable, "-c", code, tmp_path],
        capture_output=True,
        check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == (b"240 240 [1, 1, 1, 1]\n", b"")


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_relative_path_is_that_of_the_directory_where_it_was_given(
    tmp_path, monkeypatch, packed
):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        rows = b"".join(b'"%s %d"\n' % (name.encode(), row) for row in range(800_000))
        content = gzip.compress(rows, 1) if packed else rows
        (tmp_path / name / "p.jsonl").write_bytes(content)
    monkeypatch.chdir(tmp_path / "here")
    ds = headrace.open("p.jsonl")
    monkeypatch.chdir(tmp_path / "there")
    assert ds[2] == "here 2"
    assert ds.tail(1) == ["here 799999"]
    assert len(ds) == 800_000
    assert repr(ds) == "<headrace.Dataset p.jsonl>"
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["p.jsonl"]


def test_leftovers_of_killed_writers_are_removed_and_live_files_stay(write, tmp_path):
    from headrace.api.recompress import recompress

    path = write(b"1\n", "x.jsonl.gz")
    recompress(write(b"1\n", "a.jsonl"), path)
    mine = headrace.LineWriter(path)
    mine.write(5)
    dead = [".x.jsonl.gz.tmp-7-0123abcd", "..x.jsonl.gz.tmp-7-0123abcd.tmp-7-0123abcd"]
    others = [
        ".y.jsonl.gz.tmp-7-0123abcd",
        ".x.jsonl.gz.tmp-7",
        ".x.jsonl.gz.tmp-8-0123abcd",
    ]
    for name in dead + others:
        write(b"rest", name)
        os.utime(tmp_path / name, (1, 1))
    os.utime(
        tmp_path / others[-1]
    )  # it may belong to a writer that has not locked it yet
    living = next(
        each for each in tmp_path.glob(".x*") if each.name not in dead + others
    )
    os.utime(living, (1, 1))
    for use in (
        lambda: recompress(path),
        lambda: headrace.LineWriter(path).close(),
        lambda: headrace.open(tmp_path / "a.jsonl").query("$").write(path),
    ):
        for name in dead:
            write(b"rest", name)
            os.utime(tmp_path / name, (1, 1))
        use()
        assert not [name for name in dead if (tmp_path / name).exists()]
        assert all((tmp_path / name).exists() for name in others)
    mine.close()
    assert list(headrace.open(path)) == [5]


def test_damage_is_reported_no_more_precisely_than_known(write):
    packed = bytearray(gzip.compress(b"".join(b"%d\n" % n for n in range(100_000))))
    packed[-8] ^= 1  # its checksum, which is compared at the end of the file
    with pytest.raises(HeadraceError, match="rows from somewhere before it on may be"):
        list(headrace.open(write(bytes(packed), "a.jsonl.gz")))


@pytest.mark.parametrize("place", [{"index": "/proc/x.jnx"}, {"index_dir": "/proc/x"}])
def test_an_index_that_cannot_be_written_is_one_error(write, place):
    path = write(b'{"id": 1}\n')
    with pytest.raises(UnwritableError, match=r"/proc/x.*: cannot be written: "):
        headrace.KeyIndex.build(path, on="id", **place)
