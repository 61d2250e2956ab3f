"""Kept row indexes: used when they fit, extended when the file grew, else rebuilt."""

import json
import os
import shutil
import subprocess
import sys

import pytest

import headrace
from headrace.store.rows import checkpoints
from tests.reference.blocks import crc32c

ROW = b'{"id": %7d, "text": "some text that makes the row one hundred bytes long, more or less"}\n'


def rows(first, count):
    return b"".join(ROW % row for row in range(first, first + count))


COUNT = 100_000
"""About nine megabytes: large enough to be kept."""


@pytest.fixture
def big(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    path = folder / "big.jsonl"
    path.write_bytes(rows(0, COUNT))
    assert path.stat().st_size > checkpoints.SMALLEST_KEPT
    return path


def sidecar(path):
    return path.with_name(path.name + ".ckpt")


def read_through(path, **options):
    """Return the length, one row, and the number of bytes read for both."""
    with headrace.open(path, **options) as ds:
        return len(ds), ds[COUNT - 5]["id"], ds.bytes_read()


def keep(path, **options):
    assert read_through(path, **options)[:2] == (COUNT, COUNT - 5)


def test_a_second_open_reads_only_the_requested_page(big):
    keep(big)
    assert sidecar(big).exists()
    length, row, bytes_read = read_through(big)
    assert (length, row) == (COUNT, COUNT - 5)
    # The first bytes, the two ends that prove the sidecar right, twice, and the
    # thousand rows from one checkpoint to the next, in windows of 64 KiB.
    assert bytes_read <= 16 + 4 * 4096 + (128 << 10)


def test_small_files_are_not_kept(tmp_path):
    path = tmp_path / "small.jsonl"
    path.write_bytes(rows(0, 1000))
    assert len(headrace.open(path)) == 1000
    assert not sidecar(path).exists()


def test_index_false_keeps_no_row_index(big):
    keep(big, index=False)
    assert list(big.parent.iterdir()) == [big]


def test_a_file_that_grew_is_scanned_only_where_it_grew(big):
    keep(big)
    with big.open("ab") as file:
        file.write(rows(COUNT, 2500) + b'{"id": "unfinished')
    length, _row, bytes_read = read_through(big)
    assert length == COUNT + 2501
    assert bytes_read < 1 << 20
    # And once more, after growth in the middle of that last row.
    with big.open("ab") as file:
        file.write(b'"}\n' + rows(COUNT + 2501, 7))
    with headrace.open(big) as ds:
        assert len(ds) == COUNT + 2508
        assert ds[COUNT + 2500]["id"] == "unfinished"
        assert ds[COUNT + 2507]["id"] == COUNT + 2507
        assert ds.bytes_read() < 1 << 20


def replaced(path):
    path.write_bytes(rows(1, COUNT))


def _edited(path):
    """Return the rows with two of them joined in the middle, and more rows at the end."""
    content = bytearray(path.read_bytes())
    content[content.index(b"\n", len(content) // 2)] = ord(" ")
    return bytes(content) + rows(COUNT, 10)


def replaced_by_a_longer_one(path):
    other = path.with_name("other")
    other.write_bytes(_edited(path))
    other.replace(path)


def removed_and_written_longer(path):
    """Replace the file; many file systems reuse the inode that has just become free."""
    content = _edited(path)
    path.unlink()
    path.write_bytes(content)


def shortened(path):
    os.truncate(path, path.stat().st_size // 2)


def edited_in_the_middle(path):
    """Same size, same ends, and the time of change set back."""
    status = path.stat()
    with path.open("r+b") as file:
        file.seek(status.st_size // 2)
        file.write(b"\n\n\n\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def grown_with_another_tail(path):
    with path.open("r+b") as file:
        file.seek(-50, os.SEEK_END)
        file.write(b"\n" * 50 + rows(0, 10))


@pytest.mark.parametrize(
    "change",
    [
        replaced,
        replaced_by_a_longer_one,
        removed_and_written_longer,
        shortened,
        edited_in_the_middle,
        grown_with_another_tail,
    ],
)
def test_a_changed_file_is_scanned_again(big, change):
    keep(big)
    change(big)
    expected = big.read_bytes().split(b"\n")[:-1]
    with headrace.open(big, raw=True) as ds:
        assert len(ds) == len(expected)
        assert ds[len(expected) * 3 // 4] == expected[len(expected) * 3 // 4]


def without_the_file(content):
    """Return a sidecar without the identity of its file, as old versions wrote it."""
    end = content.index(b"\n")
    header = json.loads(content[:end])
    assert header.pop("file")
    header["crc32c"] = "00000000"
    text = json.dumps(header, separators=(",", ":")).encode().ljust(511) + b"\n"
    seed = crc32c(text)
    place = text.rindex(b"00000000")
    text = text[:place] + f"{seed:08x}".encode() + text[place + 8 :]
    entries, blank = content[512:], bytearray()
    for at in range(0, len(entries), 48):
        entry = entries[at : at + 44]
        blank += entry + crc32c(entry, seed).to_bytes(4, "little")
    return text + bytes(blank)


def test_a_sidecar_without_its_file_identity_is_not_used_for_a_file_that_grew(
    big,
):
    keep(big)
    sidecar(big).write_bytes(without_the_file(sidecar(big).read_bytes()))
    assert read_through(big)[2] < 1 << 20
    with big.open("ab") as file:
        file.write(rows(COUNT, 10))
    length, row, bytes_read = read_through(big)
    assert (length, row) == (COUNT + 10, COUNT - 5)
    assert bytes_read > big.stat().st_size


@pytest.mark.parametrize("at", [0, 100, 300, 511, 512, 560, 3000, -1])
def test_a_damaged_sidecar_never_gives_a_wrong_row(big, at):
    keep(big)
    damaged = bytearray(sidecar(big).read_bytes())
    damaged[at] ^= 0x10
    sidecar(big).write_bytes(damaged)
    with headrace.open(big) as ds:
        assert [ds[row]["id"] for row in range(0, COUNT, 777)] == list(
            range(0, COUNT, 777)
        )
        assert len(ds) == COUNT


@pytest.mark.parametrize("length", [0, 1, 511, 512, 513, 600])
def test_a_cut_sidecar_is_made_again(big, length):
    keep(big)
    whole = sidecar(big).read_bytes()
    sidecar(big).write_bytes(whole[:length])
    if length < 60:
        # Too short to be recognized as a sidecar, so it is left alone.
        keep(big)
    else:
        keep(big)
        assert sidecar(big).read_bytes() == whole


def test_a_foreign_file_of_that_name_is_left_alone(big, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    sidecar(big).write_bytes(b"a model checkpoint")
    keep(big)
    assert sidecar(big).read_bytes() == b"a model checkpoint"
    (cached,) = (tmp_path / "cache" / "headrace").iterdir()
    assert cached.name.startswith("big.jsonl-")


def test_a_sidecar_of_a_newer_version_is_not_used_and_the_scan_is_right(big):
    keep(big)
    text = sidecar(big).read_bytes()
    sidecar(big).write_bytes(text.replace(b'"version":1', b'"version":9', 1))
    keep(big)


def test_the_same_data_gives_the_same_bytes(big, tmp_path):
    keep(big)
    first = sidecar(big).read_bytes()
    sidecar(big).unlink()
    keep(big)
    assert sidecar(big).read_bytes() == first


def test_a_chosen_directory_is_used_and_no_other(big, tmp_path):
    keep(big, index_dir=tmp_path / "indexes")
    assert not sidecar(big).exists()
    (kept,) = (tmp_path / "indexes").iterdir()
    assert kept.name.startswith("big.jsonl-")
    assert read_through(big, index_dir=tmp_path / "indexes")[2] < 1 << 20


def test_a_shared_directory_comes_after_the_place_beside_the_data(
    big, tmp_path, monkeypatch
):
    monkeypatch.setenv("HEADRACE_INDEX_DIR", str(tmp_path / "shared"))
    unwritable(monkeypatch, big.parent)
    keep(big)
    assert not sidecar(big).exists()
    assert len(list((tmp_path / "shared").iterdir())) == 1
    assert read_through(big)[2] < 1 << 20


def test_the_cache_directory_is_the_last_place(big, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    unwritable(monkeypatch, big.parent)
    keep(big)
    assert len(list((tmp_path / "cache" / "headrace").iterdir())) == 1
    assert read_through(big)[2] < 1 << 20


def unwritable(monkeypatch, folder):
    """Make writes into `folder` fail, for root as well."""
    write = checkpoints.write_atomically

    def refusing(path, content):
        if path.parent == folder:
            raise PermissionError(13, "Permission denied", str(path))
        write(path, content)

    monkeypatch.setattr(checkpoints, "write_atomically", refusing)


def test_a_row_index_that_cannot_be_written_is_not_an_error(big, monkeypatch):
    monkeypatch.setattr(checkpoints, "write_atomically", _full_disk)
    keep(big)


def _full_disk(path, content):
    raise OSError(28, "No space left on device", str(path))


def test_several_processes_may_build_at_once(big):
    code = (
        "import sys, headrace\n"
        "ds = headrace.open(sys.argv[1])\n"
        f"assert len(ds) == {COUNT} and ds[77_777]['id'] == 77_777\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, big]) for _ in range(6)]
    assert [process.wait(60) for process in running] == [0] * 6
    assert sorted(path.name for path in big.parent.iterdir()) == [
        "big.jsonl",
        "big.jsonl.ckpt",
    ]
    assert read_through(big)[2] < 1 << 20


def test_a_compressed_file_keeps_its_count(tmp_path):
    import random

    import zstandard

    path = tmp_path / "big.jsonl.zst"
    noise = random.Random(1)
    data = b"".join(
        b'{"n": "%s"}\n' % noise.randbytes(50).hex().encode() for _ in range(200_000)
    )
    path.write_bytes(zstandard.compress(data, 1))
    assert path.stat().st_size > checkpoints.SMALLEST_KEPT
    with headrace.open(path) as ds:
        assert ds.count() == 200_000
    with headrace.open(path) as ds:
        assert ds.count() == 200_000
        assert ds.bytes_read() <= 4 * 4096
        assert ds[199_999] == headrace.open(path).tail(1)[0]


def test_a_copied_data_file_with_its_sidecar_is_scanned_again(big, tmp_path):
    """A copy has other file times; in doubt, the file is scanned."""
    keep(big)
    copy = tmp_path / "copy.jsonl"
    shutil.copy2(big, copy)
    shutil.copy2(sidecar(big), sidecar(copy))
    keep(copy)
    assert read_through(copy)[2] < 1 << 20
