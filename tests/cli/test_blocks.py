"""Files of blocks on the command line: the same rows, and one warning of a wrong table."""

import pytest

from tests.reference.blocks import (
    gzip_members,
    joined,
    lengths,
    seek_table,
    seekable_zstd,
    whole_lines,
    write_sidecar,
    zstd_frames,
)

ROWS = [b'{"n": %d}' % row for row in range(3000)]
DATA = b"".join(row + b"\n" for row in ROWS)
CONTENTS = whole_lines(DATA, 1000)
GZIP, ZSTD = gzip_members(CONTENTS), zstd_frames(CONTENTS)

COMMANDS = [
    pytest.param(["count", "FILE"], [b"3000"], id="count"),
    pytest.param(["count", "--stats", "FILE"], [b"3000"], id="count --stats"),
    pytest.param(["head", "-n", "2", "FILE"], ROWS[:2], id="head"),
    pytest.param(["tail", "-n", "700", "FILE"], ROWS[-700:], id="tail"),
    pytest.param(["row", "FILE", "2345"], ROWS[2345:2346], id="row"),
    pytest.param(["row", "FILE", "1000:1500"], ROWS[1000:1500], id="rows"),
    pytest.param(["query", "$.n", "FILE", "--reverse"], None, id="query --reverse"),
]


def run(headrace, arguments, file, *more):
    return headrace(*(file if each == "FILE" else each for each in arguments), *more)


@pytest.mark.parametrize(("arguments", "rows"), COMMANDS)
@pytest.mark.parametrize("sidecar", [False, True])
@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_every_command_reads_blocks(
    headrace, tmp_path, codec, sidecar, arguments, rows
):
    path = tmp_path / "a.jsonl"
    pieces = GZIP if codec == "gzip" else ZSTD
    path.write_bytes(joined(pieces) if codec == "gzip" else seekable_zstd(pieces))
    if sidecar:
        write_sidecar(path, codec, pieces)
    outcome = run(headrace, arguments, path)
    expected = [b"%d" % row for row in reversed(range(3000))] if rows is None else rows
    assert outcome.rows == expected
    assert outcome.code == 0
    assert "warning" not in outcome.err


@pytest.fixture
def wrong(tmp_path):
    """Make a file whose seek table leaves a frame out."""
    path = tmp_path / "wrong.zst"
    path.write_bytes(joined(ZSTD) + seek_table(lengths(ZSTD)[1:]))
    return path


@pytest.mark.parametrize(("arguments", "rows"), COMMANDS[:-1])
def test_a_wrong_table_is_one_line_and_all_rows(headrace, wrong, arguments, rows):
    outcome = run(headrace, arguments, wrong)
    assert (outcome.code, outcome.rows) == (0, rows)
    said = [line for line in outcome.err.splitlines() if "records" not in line]
    assert len(said) == 1
    assert said[0].startswith(f"headrace: warning: {wrong}: the seek table cannot")
    assert said[0].endswith("; it is read in order")


def test_a_wrong_table_is_an_event(headrace, wrong):
    outcome = headrace("count", wrong, "--events", "json")
    (event,) = outcome.events
    assert event["event"] == "warning"
    assert str(wrong) in event["message"]
    assert headrace("count", wrong, "--quiet").err == ""


def test_a_separate_process_prints_the_same_warning(process, wrong):
    outcome = process("count", wrong)
    assert (outcome.code, outcome.rows) == (0, [b"3000"])
    assert len(outcome.err.splitlines()) == 1


def test_a_damaged_block_is_named(headrace, tmp_path):
    path = tmp_path / "a.gz"
    content = bytearray(joined(GZIP))
    before = sum(len(piece.compressed) for piece in GZIP[:3])
    content[before + len(GZIP[3].compressed) - 6] ^= 1
    path.write_bytes(content)
    first = sum(piece.rows for piece in GZIP[:3])
    last = first + GZIP[3].rows - 1
    outcome = headrace("query", "$.n", path)
    assert outcome.code == 1
    assert len(outcome.rows) == first
    (line,) = outcome.err.splitlines()
    assert f"(block 3, compressed byte {before})" in line
    assert f"rows {first} to {last} of it are lost" in line
    assert headrace("row", path, last + 1).rows == [ROWS[last + 1]]


def test_max_decoded_limits_the_decoded_bytes(headrace, tmp_path):
    path = tmp_path / "a.zst"
    path.write_bytes(seekable_zstd(ZSTD))
    outcome = headrace("count", path, "--max-decoded", "1KiB")
    assert (outcome.code, outcome.out) == (1, b"")
    (line,) = outcome.err.splitlines()
    assert str(path) in line
    assert "--max-decoded" in line
    assert headrace("count", path, "--max-decoded", "1MiB").rows == [b"3000"]
    assert headrace("count", path, "--max-ratio", "0").code == 2
