"""The state machine of following: what each course of events gives, step by step."""

import os
from pathlib import Path

import pytest

from headrace.api import follow as following
from headrace.api.follow import (
    Follower,
    Rotated,
    Rows,
    Splitter,
    Truncated,
    Waiting,
    follow,
)
from headrace.errors import SourceNotFoundError, UsageError

LIMIT = 1 << 20


@pytest.fixture
def path(tmp_path):
    return tmp_path / "app.jsonl"


def seen(follower):
    """What one look gives: rows as a list, other changes as they are."""
    return [
        change.rows if isinstance(change, Rows) else change
        for change in follower.poll()
    ]


def append(path, data):
    with path.open("ab") as file:
        file.write(data)


def start(path, **options):
    return Follower(str(path), **({"max_line": LIMIT, "start_offset": 0} | options))


def test_a_row_comes_when_its_line_end_comes(path):
    path.write_bytes(b"1\n")
    follower = start(path)
    assert seen(follower) == [[b"1"]]
    append(path, b"2")
    assert seen(follower) == []
    append(path, b"2\r")
    assert seen(follower) == []
    append(path, b"\n\n3")
    assert seen(follower) == [[b"22", b""]]
    assert seen(follower) == []


@pytest.mark.parametrize(
    ("content", "last", "expected"),
    [
        pytest.param(b"1\n2\n3\n", 2, [b"2", b"3"], id="the last two"),
        pytest.param(b"1\n2\n3", 2, [b"1", b"2"], id="an unfinished row is none"),
        pytest.param(b"1\n2\n", 9, [b"1", b"2"], id="fewer than asked"),
        pytest.param(b"1\n2\n", 0, [], id="none"),
        pytest.param(b"", 5, [], id="an empty file"),
        pytest.param(b"1", 5, [], id="only an unfinished row"),
        pytest.param(b"1\n\n\n", 2, [b"", b""], id="blank rows are rows"),
    ],
)
@pytest.mark.parametrize("block", [1, 2, 3, following.BLOCK])
def test_it_begins_with_the_last_complete_rows(
    path, monkeypatch, content, last, expected, block
):
    monkeypatch.setattr(following, "BLOCK", block)
    path.write_bytes(content)
    follower = start(path, start_offset=None, last=last)
    rows = [row for change in seen(follower) for row in change]
    assert rows == expected


def test_an_unfinished_row_it_began_with_is_completed(path):
    path.write_bytes(b'{"a":1}\n{"a"')
    follower = start(path, start_offset=None, last=0)
    assert seen(follower) == []
    append(path, b":2}\n")
    assert seen(follower) == [[b'{"a":2}']]


def test_a_rotated_file_is_drained_before_the_new_one(path):
    path.write_bytes(b"1\n")
    follower = start(path)
    assert seen(follower) == [[b"1"]]
    append(path, b"2\nrest")
    path.rename(path.with_suffix(".1"))
    path.write_bytes(b"3\n")
    assert seen(follower) == [[b"2"], [b"rest"], Rotated(), [b"3"]]


def test_the_old_file_is_read_on_until_the_new_one_has_content(path):
    path.write_bytes(b"1\n")
    follower = start(path)
    seen(follower)
    old = path.with_suffix(".1")
    path.rename(old)
    assert seen(follower) == []
    path.touch()
    append(old, b"2\n")
    assert seen(follower) == [[b"2"]]
    append(path, b"3\n")
    assert seen(follower) == [Rotated(), [b"3"]]


def test_a_file_seen_empty_is_read_though_its_name_is_gone(path):
    path.write_bytes(b"1\n")
    follower = start(path)
    seen(follower)
    path.rename(path.with_suffix(".1"))
    path.touch()
    assert seen(follower) == []
    append(path, b"2\nrest")
    path.rename(path.with_suffix(".2"))
    path.write_bytes(b"3\n")
    assert seen(follower) == [Rotated(), [b"2"], [b"rest"], Rotated(), [b"3"]]


def test_a_name_that_comes_back_is_read_on(path):
    path.write_bytes(b"1\n")
    follower = start(path)
    assert seen(follower) == [[b"1"]]
    path.rename(path.with_suffix(".1"))
    assert seen(follower) == []
    path.with_suffix(".1").rename(path)
    append(path, b"2\n")
    assert seen(follower) == [[b"2"]]


def open_files():
    return len(list(Path("/dev/fd").iterdir()))


def test_no_file_stays_open(path):
    before = open_files()
    path.write_bytes(b"1\n")
    follower = start(path)
    for number in range(20):
        seen(follower)
        path.rename(path.with_suffix(f".{number}"))
        path.write_bytes(b"2\n" if number % 3 else b"")
    assert open_files() <= before + 3
    follower.close()
    assert open_files() == before


def test_a_deleted_file_is_waited_for(path):
    path.write_bytes(b"1\n")
    follower = start(path)
    seen(follower)
    path.unlink()
    assert seen(follower) == []
    path.write_bytes(b"2\n")
    assert seen(follower) == [Rotated(), [b"2"]]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(b"1\n2\nrest", b"3\n", id="shorter"),
        pytest.param(b"1\n2\nrest", b"3\n4\nlong", id="the same size"),
        pytest.param(b"1\n2\nrest", b"3\n4\n5\n6\n7\n8\n", id="longer than before"),
        pytest.param(b"1\n2\nrest", b"", id="empty"),
    ],
)
def test_a_cut_or_rewritten_file_is_read_from_its_start(path, before, after):
    path.write_bytes(before)
    os.utime(path, (1, 1))
    follower = start(path)
    assert seen(follower) == [[b"1", b"2"]]
    path.write_bytes(after)
    complete = after.split(b"\n")[:-1]
    assert seen(follower) == [Truncated(dropped=4), *([complete] if complete else [])]
    append(path, b"\n9\n")
    assert seen(follower)[-1][-1] == b"9"


def test_a_file_that_is_not_there_is_an_error(path):
    with pytest.raises(SourceNotFoundError):
        start(path)


def test_a_file_that_is_not_there_yet_is_waited_for(path):
    follower = start(path, wait=True, start_offset=None, last=1)
    assert seen(follower) == [Waiting()]
    assert seen(follower) == []
    path.write_bytes(b"1\n2\n")
    assert seen(follower) == [[b"1", b"2"]]


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="regular file"):
        start(tmp_path / "pipe")


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(UsageError, match="regular file"):
        start(tmp_path)


def split(blocks, max_line=LIMIT):
    splitter = Splitter(max_line)
    parts = [*(splitter.feed(block) for block in blocks), splitter.finish()]
    rows = [row for part in parts for row in part.rows]
    offsets = [offset for part in parts for offset in part.offsets]
    lengths = [length for part in parts for _, length in part.too_long]
    return rows, offsets, lengths


@pytest.mark.parametrize(
    ("content", "rows", "offsets"),
    [
        pytest.param(b"", [], [], id="nothing"),
        pytest.param(b"\n", [b""], [0], id="a blank row"),
        pytest.param(b"a\nb", [b"a", b"b"], [0, 2], id="no last line end"),
        pytest.param(b"a\r\nb\r\n", [b"a", b"b"], [0, 3], id="CRLF"),
        pytest.param(b"a\rb\r\r\n", [b"a\rb\r"], [0], id="a lone CR is content"),
        pytest.param(b"a\r", [b"a\r"], [0], id="a CR that ends no line"),
        pytest.param(b"\xef\xbb\xbfa\nb\n", [b"a", b"b"], [0, 5], id="a BOM"),
        pytest.param(
            b"a\n\xef\xbb\xbfb\n", [b"a", b"\xef\xbb\xbfb"], [0, 2], id="late"
        ),
    ],
)
def test_rows_do_not_depend_on_where_blocks_end(content, rows, offsets):
    for size in range(1, len(content) + 1):
        blocks = [content[at : at + size] for at in range(0, len(content), size)]
        assert split(blocks) == (rows, offsets, []), f"blocks of {size}"


def test_a_row_that_is_too_long_is_counted_and_its_neighbours_stay():
    content = b"a\n" + b"x" * 40 + b"\r\n" + b"y" * 8 + b"\r\nb\n" + b"z" * 9
    for size in range(1, len(content) + 1):
        blocks = [content[at : at + size] for at in range(0, len(content), size)]
        rows, offsets, lengths = split(blocks, max_line=8)
        assert rows == [b"a", None, b"y" * 8, b"b", None], f"blocks of {size}"
        assert offsets == [0, 2, 44, 54, 56]
        assert lengths == [40, 9]


def test_an_endless_line_is_not_kept():
    splitter = Splitter(max_line=100)
    for _ in range(1000):
        splitter.feed(b"x" * 1000)
        assert len(splitter._held) <= 1
    assert splitter.feed(b"\n").too_long == [(0, 1_000_000)]


def test_follow_gives_rows_for_ever(path):
    path.write_bytes(b"1\n2\n")
    rows = follow(path, 0, poll=0.001)
    assert [next(rows), next(rows)] == [b"1", b"2"]
    append(path, b"3\n")
    assert next(rows) == b"3"
    rows.close()
