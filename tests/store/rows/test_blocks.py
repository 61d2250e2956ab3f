"""Compressed files with blocks: the bytes that are read, and damaged blocks and tables."""

import hashlib
import os
import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

import headrace
from headrace.engines.rows.fragment import count_rows_of, rows_of
from headrace.errors import (
    DamagedBlockError,
    DamagedSourceError,
    DecompressionLimitError,
    HeadraceWarning,
    UnusableTableError,
)
from headrace.physical.fragment import fragments
from headrace.store.files.opened import OpenedFile
from headrace.store.files.source import expand
from headrace.store.rows import checkpoints
from tests.reference.blocks import (
    Piece,
    anywhere,
    gzip_members,
    joined,
    lengths,
    rot,
    seek_table,
    seekable_zstd,
    whole_lines,
    write_sidecar,
    zstd_frames,
)

BLOCK = 1 << 14
COUNT = 20_000
ROWS = [b'{"id": %d, "text": "%x"}' % (row, row**7) for row in range(COUNT)]
DATA = b"\n".join(ROWS) + b"\n"
CONTENTS = whole_lines(DATA, BLOCK)


@pytest.fixture(autouse=True)
def no_warnings():
    """Fail on warnings that the test does not expect."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def written(path, codec, pieces, *, sidecar=False):
    path.write_bytes(seekable_zstd(pieces) if codec == "zstd" else joined(pieces))
    if sidecar:
        write_sidecar(path, codec, pieces)
    return path


PIECES = {
    "none": [Piece(content, content) for content in CONTENTS],
    "gzip": gzip_members(CONTENTS),
    "zstd": zstd_frames(CONTENTS),
}
LONGEST = max(
    len(piece.compressed) for codec in ("gzip", "zstd") for piece in PIECES[codec]
)


def most_read(codec, *, sidecar, blocks):
    """Return the most bytes that may be read for some blocks and their table."""
    count = len(PIECES[codec])
    if sidecar:
        # Both ends, which are compared, and the bytes after the last block.
        about = 8 + 8
    else:
        # The headers of all members, and the last member, which no other confirms.
        about = count * 44 + LONGEST if codec == "gzip" else count * 8 + 17 + 9
    return about + blocks * LONGEST


@pytest.mark.parametrize("sidecar", [False, True])
@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_row_is_read_from_its_block_only(tmp_path, codec, sidecar):
    path = written(tmp_path / "a", codec, PIECES[codec], sidecar=sidecar)
    counted = sidecar or codec == "gzip"
    for row in (0, 1, 7777, COUNT - 1):
        with headrace.open(path, raw=True) as ds:
            assert ds[row] == ROWS[row]
            if counted:
                assert ds.bytes_read() <= most_read(codec, sidecar=sidecar, blocks=1)
    with headrace.open(path, raw=True) as ds:
        assert ds[9000:9010] == ROWS[9000:9010]
        if counted:
            assert ds.bytes_read() <= most_read(codec, sidecar=sidecar, blocks=2)
            assert len(ds) == COUNT
            assert ds.bytes_read() <= most_read(codec, sidecar=sidecar, blocks=2)


@pytest.mark.parametrize("sidecar", [False, True])
@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_both_ends_take_few_blocks(tmp_path, codec, sidecar):
    path = written(tmp_path / "a", codec, PIECES[codec], sidecar=sidecar)
    with headrace.open(path, raw=True) as ds:
        assert ds.head(3) == ROWS[:3]
        assert ds.bytes_read() <= most_read(codec, sidecar=sidecar, blocks=3)
    with headrace.open(path, raw=True) as ds:
        assert ds.tail(3) == ROWS[-3:]
        # Rows are searched in windows of 64 KiB, which are cut at blocks.
        windows = 2 + (64 << 10) // BLOCK
        assert ds.bytes_read() <= most_read(codec, sidecar=sidecar, blocks=windows)
    with headrace.open(path, raw=True) as ds:
        assert ds[-1] == ROWS[-1]
        assert next(reversed(ds)) == ROWS[-1]


def test_rows_are_counted_in_the_background_where_no_table_knows_them(tmp_path):
    pieces = zstd_frames(anywhere(DATA, 7777), sized=False)
    path = written(tmp_path / "a", "zstd", pieces)
    with headrace.open(path, raw=True) as ds:
        assert ds[12_345] == ROWS[12_345]
        before = ds.bytes_read()
        assert len(ds) == COUNT
        counted = ds.bytes_read()
        assert ds[5000] == ROWS[5000]
        assert before <= counted
        # A checkpoint is at most a thousand rows away.
        assert ds.bytes_read() - counted <= 8 * max(len(p.compressed) for p in pieces)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_fragments_are_cut_between_blocks(tmp_path, codec, threads):
    path = written(tmp_path / "a", codec, PIECES[codec])
    (source,) = headrace.open(path).sources
    parts = fragments(source, 3 * LONGEST)
    assert len(parts) > 5
    found, counts = [], []
    for part in parts:
        rows = rows_of(part, 1 << 20)
        while (batch := rows.next_batch(1000, 1 << 20)) is not None:
            found += batch.contents()
        counts.append(count_rows_of(part))
    assert found == ROWS
    assert sum(counts) == COUNT
    assert min(counts[:-1]) > 0
    assert headrace.open(path).stats(threads=threads).records == COUNT


def test_decoding_ahead_gives_rows_in_order(tmp_path):
    path = written(tmp_path / "a", "zstd", zstd_frames(whole_lines(DATA, 300)))
    assert list(headrace.open(path, raw=True)) == ROWS
    with headrace.open(path, raw=True) as ds:
        rows = iter(ds)
        assert [next(rows) for _ in range(9000)] == ROWS[:9000]


def test_a_forked_child_continues_where_its_parent_was(tmp_path):
    path = written(tmp_path / "a", "zstd", zstd_frames(whole_lines(DATA, 300)))
    rows = iter(headrace.open(path, raw=True))
    before = [next(rows) for _ in range(9000)]
    code = (
        f"import sys, os; sys.path[:0] = {sys.path!r}\n"
        "import headrace, hashlib\n"
        f"rows = iter(headrace.open({str(path)!r}, raw=True))\n"
        "before = [next(rows) for _ in range(9000)]\n"
        "child = os.fork()\n"
        "after = list(rows)\n"
        "del rows\n"
        f"assert len(after) == {COUNT - 9000}, len(after)\n"
        "digest = hashlib.sha256(b''.join(after)).hexdigest()\n"
        "os.write(1, f'{digest}\\n'.encode())\n"
        "sys.exit(os.waitpid(child, 0)[1] if child else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    digest = hashlib.sha256(b"".join(ROWS[9000:])).hexdigest()
    assert done.stdout.split() == [digest, digest]
    assert before == ROWS[:9000]
    assert list(rows) == ROWS[9000:]


# Damage


def damaged(path, piece_number, pieces):
    """Flip a bit in the middle of a block."""
    before = sum(len(piece.compressed) for piece in pieces[:piece_number])
    content = bytearray(path.read_bytes())
    content[before + len(pieces[piece_number].compressed) * 2 // 3] ^= 0x10
    rot(path, content)
    first = sum(piece.rows for piece in pieces[:piece_number])
    return before, range(first, first + pieces[piece_number].rows)


@pytest.mark.parametrize("sidecar", [False, True])
@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_damaged_block_is_named_and_the_others_are_read(tmp_path, codec, sidecar):
    pieces = PIECES[codec]
    path = written(tmp_path / "a", codec, pieces, sidecar=sidecar)
    offset, lost = damaged(path, 7, pieces)
    counted = sidecar or codec == "gzip"
    with headrace.open(path, raw=True) as ds:
        rows = ds.rows()
        assert [next(rows) for _ in range(lost.start)] == ROWS[: lost.start]
        with pytest.raises(DamagedBlockError) as caught:
            next(rows)
        error = caught.value
        assert (error.path, error.offset, error.block) == (str(path), offset, 7)
        assert error.rows == (lost if counted else None)
        assert "other blocks can be read" in str(error)
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
        assert isinstance(error, DamagedSourceError)
        assert ds.tail(50) == ROWS[-50:]
        if counted:
            assert list(ds.rows(lost.stop)) == ROWS[lost.stop :]
            assert ds[lost.start - 1] == ROWS[lost.start - 1]
            assert len(ds) == COUNT
            with pytest.raises(DamagedBlockError):
                ds[lost.start]
    with pytest.raises(DamagedSourceError):
        list(headrace.open(path, raw=True, blocks=False))


def test_a_plain_file_that_was_changed_is_read_without_its_table(tmp_path):
    path = written(tmp_path / "a", "none", PIECES["none"], sidecar=True)
    with headrace.open(path, raw=True) as ds:
        assert ds[15_000] == ROWS[15_000]
        assert ds.bytes_read() < len(DATA) // 2
    changed = DATA.replace(b'{"id": 15000,', b"[          1,", 1)
    assert len(changed) == len(DATA)
    path.write_bytes(changed)
    with headrace.open(path, raw=True) as ds:
        assert ds[15_000].startswith(b"[          1,")
        assert ds[15_001] == ROWS[15_001]


# Tables that are wrong


def every_access(path, expected):
    """Read rows by every access; return the warnings of each."""
    ways = [
        lambda ds: (list(ds), expected),
        lambda ds: (ds[700], expected[700]),
        lambda ds: (ds[300:310], expected[300:310]),
        lambda ds: (list(ds.rows(1200)), expected[1200:]),
        lambda ds: (ds.tail(1500), expected[-1500:]),
        lambda ds: (list(reversed(ds)), expected[::-1]),
        lambda ds: (len(ds), len(expected)),
        lambda ds: (ds.count(), len(expected)),
        lambda ds: (ds.stats().lines, len(expected)),
        lambda ds: (list(ds.query("$.id")), list(range(len(expected)))),
        lambda ds: (
            list(ds.query("$.id", reverse=True)),
            list(range(len(expected)))[::-1],
        ),
    ]
    said = []
    for way in ways:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with headrace.open(path, raw=True) as ds:
                found, right = way(ds)
                assert found == right
        assert all(warning.category is HeadraceWarning for warning in caught)
        said.append([str(warning.message) for warning in caught])
    return said


FEW = ROWS[:2000]
FRAMES = zstd_frames(whole_lines(b"\n".join(FEW) + b"\n", 1000))


def changed_table(at, compressed, raw):
    table = lengths(FRAMES)
    table[at] = (table[at][0] + compressed, table[at][1] + raw)
    if compressed:
        table[at + 1] = (table[at + 1][0] - compressed, table[at + 1][1])
    return joined(FRAMES) + seek_table(table)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(changed_table(20, 0, 1), id="a frame is said to be longer"),
        pytest.param(changed_table(20, 0, -1), id="a frame is said to be shorter"),
        pytest.param(changed_table(20, 5, 0), id="a frame is said to end later"),
        pytest.param(changed_table(20, -5, 0), id="a frame is said to end earlier"),
        pytest.param(
            joined(FRAMES) + seek_table(lengths(FRAMES)[1:]), id="a frame is left out"
        ),
        pytest.param(
            joined(FRAMES)
            + seek_table([(len(joined(FRAMES)), 0), *[(0, 0)] * (len(FRAMES) - 1)]),
            id="all are said to be empty",
        ),
        pytest.param(
            joined(FRAMES) + seek_table([(len(joined(FRAMES)), 0xFFFFFFFF)]),
            id="it says four gigabytes",
        ),
        pytest.param(
            joined(FRAMES)
            + seek_table(lengths(FRAMES))[:-9]
            + b"\xff\xff\xff\x07\x00\xb1\xea\x92\x8f",
            id="it is longer than the file",
        ),
        pytest.param(
            seekable_zstd(FRAMES[:9]) + seekable_zstd(FRAMES[9:]),
            id="two files behind each other",
        ),
        pytest.param(
            joined(gzip_members([piece.content for piece in FRAMES])) + bytes(100),
            id="members and padding",
        ),
    ],
)
def test_a_file_with_a_wrong_table_is_read_in_order(tmp_path, content):
    path = tmp_path / "a"
    path.write_bytes(content)
    assert headrace.open(path).sources[0].blocks
    for said in every_access(path, FEW):
        # An access that reads no wrong frame warns of nothing.
        assert len(said) <= 1
        assert all("it is read in order" in message for message in said)
    with pytest.warns(HeadraceWarning, match="read in order") as caught:
        list(headrace.open(path))
    assert len(caught) == 1
    assert str(path) in str(caught[0].message)
    assert every_access_without_blocks(path) == FEW


def every_access_without_blocks(path):
    """Read in order with `blocks=False`: a wrong table is not read, so nothing warns."""
    return list(headrace.open(path, raw=True, blocks=False))


def test_a_fragment_with_a_wrong_table_is_an_error_with_advice(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(changed_table(20, 0, 1))
    parts = fragments(headrace.open(path).sources[0], 500)
    with pytest.raises(UnusableTableError, match="blocks=False") as caught:
        [rows_of(part, 1 << 20).next_batch(1 << 20, 1 << 30) for part in parts]
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_table_that_cannot_be_read_leaves_all_rows_to_the_first_fragment(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(joined(FRAMES) + seek_table(lengths(FRAMES)[1:]))
    parts = fragments(headrace.open(path).sources[0], 500)
    assert len(parts) > 3
    with pytest.warns(HeadraceWarning) as caught:
        counts = [count_rows_of(part) for part in parts]
    assert len(caught) == 1
    assert counts == [len(FEW)] + [0] * (len(parts) - 1)


# Sidecars


def test_a_table_of_another_file_is_not_used(tmp_path):
    other = zstd_frames(whole_lines(DATA, BLOCK // 2))
    path = written(tmp_path / "a", "zstd", other, sidecar=True)
    written(path, "zstd", PIECES["zstd"])
    with headrace.open(path, raw=True) as ds:
        assert [ds[row] for row in (5, 19_000)] == [ROWS[5], ROWS[19_000]]


def test_a_file_that_was_replaced_without_its_table_is_not_damaged(tmp_path):
    path, other = tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl.gz"
    changed = [*ROWS[:9000], b"7" * len(ROWS[9000]), *ROWS[9001:]]
    for file, rows in ((path, ROWS), (other, changed)):
        # Uncompressed content of the same length makes a file of the same length.
        with headrace.LineWriter(file, level=0, validate=False) as writer:
            writer.write_lines(b"\n".join(rows))
    assert path.stat().st_size == other.stat().st_size
    path.write_bytes(other.read_bytes())
    for ask in (list, lambda ds: ds[8990:9010]):
        with (
            pytest.warns(HeadraceWarning, match="another file.*read in order"),
            headrace.open(path, raw=True) as ds,
        ):
            assert ask(ds) == ask(changed)


@pytest.mark.parametrize("at", [0, 100, 511, 512, 560, 600, -1])
@pytest.mark.parametrize("codec", ["none", "gzip", "zstd"])
def test_a_damaged_table_is_not_used(tmp_path, codec, at):
    path = written(tmp_path / "a", codec, PIECES[codec], sidecar=True)
    sidecar = tmp_path / "a.ckpt"
    content = bytearray(sidecar.read_bytes())
    content[at] ^= 0x10
    sidecar.write_bytes(content)
    with headrace.open(path, raw=True) as ds:
        assert [ds[row] for row in (5, 19_000)] == [ROWS[5], ROWS[19_000]]
        assert len(ds) == COUNT


def test_blocks_false_looks_for_no_table(tmp_path):
    path = written(tmp_path / "a", "zstd", PIECES["zstd"], sidecar=True)
    with headrace.open(path, raw=True, index=False) as ds:
        assert ds[19_000] == ROWS[19_000]
        assert ds.bytes_read() > path.stat().st_size // 2


def test_a_table_moves_with_its_file(tmp_path):
    path = written(tmp_path / "a", "zstd", PIECES["zstd"], sidecar=True)
    (tmp_path / "there").mkdir()
    path.rename(tmp_path / "there" / "b")
    (tmp_path / "a.ckpt").rename(tmp_path / "there" / "b.ckpt")
    with headrace.open(tmp_path / "there" / "b", raw=True) as ds:
        assert ds[7777] == ROWS[7777]
        assert ds.bytes_read() <= most_read("zstd", sidecar=True, blocks=1)


def test_counted_rows_of_frames_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SMALLEST_KEPT", 1000)
    pieces = zstd_frames(anywhere(DATA, 7777))
    path = written(tmp_path / "a", "zstd", pieces)
    sidecar = tmp_path / "a.ckpt"
    # Counting by blocks and counting in order keep the same sidecar.
    kept = []
    for blocks in (False, True):
        assert headrace.open(path, blocks=blocks).count() == COUNT
        kept.append(sidecar.read_bytes())
        with headrace.open(path, raw=True) as ds:
            assert ds[12_345] == ROWS[12_345]
            assert len(ds) == COUNT
            assert ds.bytes_read() < path.stat().st_size // 2
        with headrace.open(path, raw=True, blocks=False) as ds:
            assert ds[12_345] == ROWS[12_345]
        sidecar.unlink()
    assert kept[0] == kept[1]


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_table_that_fits_is_not_replaced(tmp_path, monkeypatch, codec):
    monkeypatch.setattr(checkpoints, "SMALLEST_KEPT", 1000)
    path = written(tmp_path / "a", codec, PIECES[codec], sidecar=True)
    before = (tmp_path / "a.ckpt").read_bytes()
    for blocks in (False, True):
        with headrace.open(path, raw=True, blocks=blocks) as ds:
            assert ds.count() == COUNT
            assert ds[-1] == ROWS[-1]
    assert (tmp_path / "a.ckpt").read_bytes() == before


def test_many_threads_read_one_file(tmp_path):
    path = written(tmp_path / "a", "zstd", PIECES["zstd"], sidecar=True)
    wanted = [row * 7919 % COUNT for row in range(400)]
    with (
        headrace.open(path, raw=True) as ds,
        ThreadPoolExecutor(8) as pool,
    ):
        assert list(pool.map(ds.__getitem__, wanted)) == [ROWS[row] for row in wanted]


@pytest.mark.parametrize("sidecar", [False, True])
@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_remote_file_of_blocks_is_read_in_ranges(tmp_path, codec, sidecar):
    fsspec = pytest.importorskip("fsspec")
    path = written(tmp_path / "a", codec, PIECES[codec], sidecar=sidecar)
    folder = f"/{codec}-{sidecar}"
    for each in tmp_path.iterdir():
        place = f"{folder}/{each.name}"
        fsspec.filesystem("memory").pipe_file(place, each.read_bytes())
    with headrace.open(f"memory:/{folder}/{path.name}", raw=True) as ds:
        assert ds.tail(2) == ROWS[-2:]
        if codec == "zstd" or sidecar:
            assert ds.bytes_read() < path.stat().st_size // 2
        assert ds[7777] == ROWS[7777]
        if sidecar:
            assert ds.bytes_read() < path.stat().st_size // 2
        assert list(ds) == ROWS
        assert ds.stats().records == COUNT


# Bombs


def zeros(path, megabytes):
    import zstandard

    packer = zstandard.ZstdCompressor().compressobj()
    with path.open("wb") as file:
        for _ in range(megabytes):
            file.write(packer.compress(bytes(1 << 20)))
        file.write(packer.flush())
    return path


@pytest.mark.parametrize("ask", [list, len, lambda ds: ds[0], lambda ds: ds.stats()])
def test_more_bytes_than_max_decoded_are_refused(tmp_path, ask):
    path = zeros(tmp_path / "bomb", 20)
    with (
        headrace.open(path, raw=True, max_decoded="10MiB") as ds,
        pytest.raises(DecompressionLimitError, match="max_decoded") as caught,
    ):
        ask(ds)
    error = caught.value
    assert 0 < error.offset <= path.stat().st_size
    assert "more than 10485760 bytes" in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_more_bytes_than_max_ratio_allows_are_refused(tmp_path):
    path = zeros(tmp_path / "bomb", 300)
    assert path.stat().st_size * 10_000 < 300 << 20
    with pytest.raises(DecompressionLimitError, match="10000 times its size"):
        headrace.open(path).count()
    assert headrace.open(path, max_ratio=100_000).count() == 1


def test_a_table_of_too_many_bytes_is_refused_before_decoding(tmp_path):
    path = written(tmp_path / "a", "zstd", PIECES["zstd"])
    with (
        headrace.open(path, max_decoded=len(DATA) - 1) as ds,
        pytest.raises(DecompressionLimitError),
    ):
        ds[0]
    assert headrace.open(path, max_decoded=len(DATA))[0]["id"] == 0


def test_a_table_that_is_older_than_its_file_is_not_used(tmp_path):
    path = tmp_path / "rows.jsonl.zst"
    with headrace.LineWriter(path, block_bytes=64) as writer:
        writer.write_many(range(1000))
    sidecar = tmp_path / f"{path.name}.ckpt"
    before, changed = sidecar.stat(), path.stat().st_mtime_ns
    assert before.st_mtime_ns >= changed
    assert OpenedFile(*expand(path)).counted_table is not None
    os.utime(sidecar, ns=(before.st_atime_ns, changed - 1))
    assert OpenedFile(*expand(path)).counted_table is None
    assert list(headrace.open(path)) == list(range(1000))
