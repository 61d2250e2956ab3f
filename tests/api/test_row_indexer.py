"""Row index: its answers, and how its build ends."""

import bz2
import gzip
import os
import threading
import time
from contextlib import suppress

import pytest
import zstandard

import headrace
from headrace import RowIndexer
from headrace.errors import (
    HeadraceError,
    SourceChangedError,
    SourceNotFoundError,
    UsageError,
)
from headrace.kernel.rows import IndexBuild, RowIndex
from headrace.store.rows.row_index import IndexJob


@pytest.fixture
def write(tmp_path):
    def write(data, name="data.jsonl"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


def built(path):
    indexer = RowIndexer(path)
    indexer.build_index()
    return indexer


TEN_THOUSAND = b"".join(b'{"id": %d}\n' % row for row in range(10_000))


@pytest.mark.parametrize(
    ("data", "rows", "checkpoints"),
    [
        pytest.param(b'{"id": 1}\n{"id": 2}\n', 2, [0], id="one object a line"),
        pytest.param(b'{"id": 1}\r\n{"id": 2}\r\n', 2, [0], id="CRLF"),
        pytest.param(b"1\r\n2\n3\r\n4", 4, [0], id="mixed endings"),
        pytest.param(b"", 0, [0], id="empty file"),
        pytest.param(b'{"id": 1}', 1, [0], id="one row, no newline"),
        pytest.param(b'{"a": "line1\\nline2"}\n{}\n', 2, [0], id="escaped newline"),
        pytest.param('{"a": "ä€😀"}\n{}\n'.encode(), 2, [0], id="UTF-8"),
        pytest.param(b"\n\n{}\n\n\n{}\n", 6, [0], id="blank lines"),
        pytest.param(b"  \n\t\n{}\n", 3, [0], id="white space lines"),
        pytest.param(b'{"a": "unclosed\n{}\n{}\n', 3, [0], id="an unclosed quote"),
        pytest.param(b"\n" * 1000, 1000, [0, 1000], id="exactly one interval"),
        pytest.param(b"\r\n" * 2001, 2001, [0, 2000, 4000], id="CRLF over intervals"),
    ],
)
def test_rows_and_checkpoints(write, data, rows, checkpoints):
    indexer = built(write(data))
    assert indexer.total_rows == rows
    assert indexer.checkpoints() == checkpoints
    assert indexer.complete


def test_checkpoints_of_ten_thousand_rows(write):
    path = write(TEN_THOUSAND)
    indexer = built(path)
    starts = [
        TEN_THOUSAND.index(b'{"id": %d}\n' % row) for row in range(0, 10_000, 1000)
    ]
    assert indexer.checkpoints() == [*starts, len(TEN_THOUSAND)]
    assert indexer.get_checkpoint(1000) == (11_890, 0)
    assert indexer.get_checkpoint(1999) == (11_890, 999)
    assert indexer.get_checkpoint(0) == (0, 0)
    assert indexer.file_path == str(path)


def test_a_row_beyond_the_end_has_the_last_checkpoint_and_a_far_skip(write):
    indexer = built(write(b"{}\n" * 1500))
    assert indexer.get_checkpoint(2**62) == (3000, 2**62 - 1000)


def test_a_negative_row_is_refused(write):
    with pytest.raises(UsageError, match="row -1"):
        built(write(b"{}\n")).get_checkpoint(-1)


def test_an_index_is_built_once(write):
    indexer = built(write(b"{}\n"))
    with pytest.raises(UsageError, match="once"):
        indexer.build_index()
    with pytest.raises(UsageError, match="once"):
        indexer.start()


@pytest.mark.parametrize("length", [1 << 20, (1 << 20) + 1, 3 << 20])
def test_lines_longer_than_the_read_buffer(write, length):
    path = write(b'{"a": "' + b"x\\n" * (length // 3) + b'"}\n{"b": 1}\n')
    assert built(path).total_rows == 2
    ds = headrace.open(path)
    assert ds[1] == {"b": 1}
    assert ds[0]["a"].count("\n") == length // 3


def test_missing_file_and_wrong_kind(write, tmp_path):
    with pytest.raises(SourceNotFoundError, match="no such file"):
        RowIndexer(tmp_path / "none.jsonl")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="a pipe has no byte offsets"):
        RowIndexer(tmp_path / "pipe")


def test_several_files_are_refused(write, tmp_path):
    write(b"1\n", "a.jsonl")
    write(b"2\n", "b.jsonl")
    with pytest.raises(
        UsageError, match="is of one file, and these are 2; make one of"
    ):
        RowIndexer(tmp_path)


# The build in the background


def test_rows_can_be_read_while_the_build_goes_on(write):
    """Answers during the build come from the part already scanned, and are never wrong."""
    path = write(TEN_THOUSAND * 20)
    expected = [
        TEN_THOUSAND.index(b'{"id": %d}\n' % row) for row in range(0, 10_000, 1000)
    ]
    indexer = RowIndexer(path)
    assert indexer.get_checkpoint(5000) == (0, 5000)
    seen = []
    indexer.start()
    while not indexer.complete:
        offset, skip = indexer.get_checkpoint(5000)
        seen.append((offset, skip))
        assert indexer.total_rows <= 200_000
    assert indexer.wait(10)
    seen.append(indexer.get_checkpoint(5000))
    assert seen[-1] == (expected[5], 0)
    assert {(offset, 5000 - skip) for offset, skip in seen} <= {
        (start, row * 1000) for row, start in enumerate(expected[:6])
    }


@pytest.mark.parametrize("data", [b"", b"{}\n" * 10, TEN_THOUSAND])
def test_the_first_page_is_signalled(write, data):
    indexer = RowIndexer(write(data))
    indexer.start()
    assert indexer.wait_for_first_page(10)
    assert indexer.wait(10)


def test_the_first_page_does_not_wait_for_a_thousand_rows(write):
    """A first chunk of few long lines counts as a page."""
    indexer = RowIndexer(write(b"x" * (4 << 20)))
    indexer.start()
    assert indexer.wait_for_first_page(10)
    assert indexer.wait(10)


class _Endless:
    """A build that continues until it is cancelled."""

    copy = None

    def __init__(self, index):
        self.steps = 0

    def advance(self, max_bytes):
        self.steps += 1
        time.sleep(0.001)
        return True


def test_cancelling_ends_every_wait():
    index = RowIndex(1000)
    job = IndexJob("endless", index, _Endless(index))
    ended = []
    waiting = [
        threading.Thread(target=lambda: ended.append(job.wait(10**9))),
        threading.Thread(target=lambda: ended.append(job.wait_for_first_page())),
    ]
    for thread in waiting:
        thread.start()
    job.start()
    time.sleep(0.02)
    job.cancel()
    for thread in waiting:
        thread.join(10)
        assert not thread.is_alive()
    assert ended == [True, True]
    assert job.ended
    assert job.cancelled


def test_cancelling_before_the_start_ends_every_wait(write):
    indexer = RowIndexer(write(TEN_THOUSAND))
    indexer.cancel()
    assert indexer.wait_for_first_page(0)
    assert indexer.wait(0)
    assert not indexer.complete


def test_a_cancelled_build_reports_no_later_progress():
    index = RowIndex(1000)
    build = _Endless(index)
    job = IndexJob("endless", index, build)
    job.start()
    job.cancel()
    steps = build.steps
    time.sleep(0.02)
    assert build.steps == steps


def test_waiting_for_a_finished_build_returns_immediately(write):
    indexer = built(write(b"{}\n"))
    assert indexer.wait(0)
    assert indexer.wait_for_first_page(0)


class _Failing:
    copy = None

    def advance(self, max_bytes):
        raise OSError(5, "Input/output error")


def test_an_error_ends_every_wait_and_is_raised_there():
    job = IndexJob("data.jsonl", RowIndex(1000), _Failing())
    job.start()
    assert job.wait_for_first_page(10)
    with pytest.raises(
        HeadraceError, match=r"data\.jsonl: cannot be read: Input/output"
    ):
        job.wait(timeout=10)
    with pytest.raises(HeadraceError):
        job.run()
    assert job.ended


def test_a_file_that_shrinks_during_the_build_is_an_error(write):
    path = write(TEN_THOUSAND)
    indexer = RowIndexer(path)
    with path.open("r+b") as file:
        file.truncate(100)
    with pytest.raises(SourceChangedError, match="became shorter"):
        indexer.build_index()


def test_a_file_that_grows_is_indexed_up_to_where_it_was(write):
    path = write(b"1\n2")
    indexer = RowIndexer(path)
    with path.open("ab") as file:
        file.write(b"3\n4\n")
    indexer.build_index()
    assert indexer.total_rows == 2
    assert indexer.progress == (3, 3)


def test_the_build_releases_the_gil(tmp_path):
    """Another thread sees the progress of one single call into the core."""
    from headrace.kernel.rows import File

    path = tmp_path / "sparse.jsonl"
    size = 256 << 20
    with path.open("wb") as file:
        file.truncate(size)
    index = RowIndex(1000)
    build = IndexBuild(File(path), "none", size=size, index=index)
    scan = threading.Thread(target=build.advance, args=(size,))
    scan.start()
    while index.scanned == 0 and scan.is_alive():
        pass
    seen = index.scanned
    scan.join()
    assert 0 < seen < size


def test_a_copy_holds_the_decoded_bytes(write, tmp_path):
    import gzip

    from headrace.kernel.rows import File

    path = write(gzip.compress(TEN_THOUSAND))
    index = RowIndex(1000)
    size = path.stat().st_size
    build = IndexBuild(File(path), "gzip", size=size, index=index, copy_dir=tmp_path)
    while build.advance(1 << 20):
        pass
    assert build.copy.read_at(0, len(TEN_THOUSAND) + 1) == TEN_THOUSAND
    assert [entry.name for entry in tmp_path.iterdir()] == ["data.jsonl"]


def test_waiting_starts_the_scan(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"1\n" * 2500)
    for wait in (RowIndexer.wait, RowIndexer.wait_for_first_page):
        indexer = RowIndexer(path)
        assert wait(indexer, 30)
        assert indexer.wait(30)
        assert indexer.total_rows == 2500


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, zstandard.compress])
def test_compressed_files_have_offsets_after_decompression(tmp_path, pack):
    path = tmp_path / "a.jsonl"
    path.write_bytes(pack(b"12\n" * 2500))
    indexer = RowIndexer(path)
    indexer.build_index()
    assert indexer.checkpoints() == [0, 3000, 6000]
    assert indexer.get_checkpoint(2300) == (6000, 300)
    assert indexer.progress == (path.stat().st_size,) * 2


def test_files_of_blocks_have_offsets_too(tmp_path):
    path = tmp_path / "a.jsonl.zst"
    with headrace.LineWriter(path, block_bytes="1KiB") as writer:
        writer.write_many([12] * 2500)
    indexer = RowIndexer(path)
    assert indexer.wait(30)
    assert indexer.checkpoints() == [0, 3000, 6000]


@pytest.mark.parametrize("moment", range(8))
def test_a_forked_child_scans_by_itself(tmp_path, moment):
    """The fork may come at any moment of the scan: its thread does not exist in the child."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"some": "row"}\n' * 1_500_000)
    indexer = RowIndexer(path)
    indexer.start()
    time.sleep(moment / 500)
    child = os.fork()
    if child == 0:
        found = None
        with suppress(Exception):
            indexer.get_checkpoint(700)
            found = indexer.wait(60) and indexer.get_checkpoint(1_000_001)
        os._exit(0 if found == (16_000_000, 1) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert indexer.wait(60)
    assert indexer.total_rows == 1_500_000
