"""The state machine of following: the changes that each sequence of events yields."""

import gzip
import os
from itertools import count
from pathlib import Path

import pytest

from headrace.api import follow as following
from headrace.api.follow import Follower, Rotated, Truncated, Waiting, follow
from headrace.errors import NotNdjsonError, SourceNotFoundError, UsageError
from headrace.kernel.rows import File, RowBatch

LIMIT = 1 << 20


@pytest.fixture
def path(tmp_path):
    return tmp_path / "app.jsonl"


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Do not wait for the last row of a rotated file [default of the tests]."""
    monkeypatch.setattr(following, "LINGER", 0.0)


def seen(follower):
    """Return the changes of one poll: rows as a list, other changes unchanged."""
    return [
        change.contents() if isinstance(change, RowBatch) else change
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
        pytest.param(b"1\n2\n", 9, [b"1", b"2"], id="fewer than requested"),
        pytest.param(b"1\n2\n", 0, [], id="none"),
        pytest.param(b"", 5, [], id="an empty file"),
        pytest.param(b"1", 5, [], id="only an unfinished row"),
        pytest.param(b"1\n\n\n", 2, [b"", b""], id="blank rows are rows"),
    ],
)
@pytest.mark.parametrize("step", [1, 2, 3, following.STEP])
def test_it_begins_with_the_last_complete_rows(
    path, monkeypatch, content, last, expected, step
):
    monkeypatch.setattr(following, "STEP", step)
    path.write_bytes(content)
    follower = start(path, start_offset=None, last=last)
    rows = [row for change in seen(follower) for row in change]
    assert rows == expected


@pytest.mark.parametrize("length", [65_535, 65_536, 300_000, 1_000_000])
def test_it_begins_with_long_rows_too(path, length):
    long = b"x" * length
    path.write_bytes(b"1\n" + long + b"\n3\n" + long)
    assert seen(start(path, start_offset=None, last=1)) == [[b"3"]]
    changes = seen(start(path, start_offset=None, last=2))
    assert [row for batch in changes for row in batch] == [long, b"3"]


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
    append(path, b"2\n[4]")
    path.rename(path.with_suffix(".1"))
    path.write_bytes(b"3\n")
    assert seen(follower) == [[b"2"], [b"[4]"], Rotated(), [b"3"]]


def test_rows_written_before_the_new_file_was_seen_are_not_lost(path, monkeypatch):
    path.write_bytes(b"1\n")
    follower = start(path)
    assert seen(follower) == [[b"1"]]
    old = path.rename(path.with_suffix(".1"))
    path.write_bytes(b"3\n")
    superseded = follower._superseded

    def late():
        monkeypatch.undo()
        append(old, b"2\n[4]")
        return superseded()

    monkeypatch.setattr(follower, "_superseded", late)
    assert seen(follower) == [[b"2"], [b"[4]"], Rotated(), [b"3"]]


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
    append(path, b"2\n[4]")
    path.rename(path.with_suffix(".2"))
    path.write_bytes(b"3\n")
    assert seen(follower) == [Rotated(), [b"2"], [b"[4]"], Rotated(), [b"3"]]


def test_a_file_that_gets_its_name_back_is_read_further(path):
    path.write_bytes(b"1\n")
    follower = start(path)
    assert seen(follower) == [[b"1"]]
    path.rename(path.with_suffix(".1"))
    assert seen(follower) == []
    path.with_suffix(".1").rename(path)
    append(path, b"2\n")
    assert seen(follower) == [[b"2"]]


def open_beside(path):
    """Return the number of files of path's directory that this process has open.

    Other descriptors come and go as the collector closes what earlier tests left.
    """
    opened = [os.path.realpath(entry) for entry in Path("/dev/fd").iterdir()]
    return sum(name.startswith(f"{os.path.realpath(path.parent)}/") for name in opened)


def test_no_file_stays_open(path):
    path.write_bytes(b"1\n")
    follower = start(path)
    for number in range(20):
        seen(follower)
        path.rename(path.with_suffix(f".{number}"))
        path.write_bytes(b"2\n" if number % 3 else b"")
    assert 1 <= open_beside(path) <= 3
    follower.close()
    assert open_beside(path) == 0


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


class CutWhileRead:
    """A file that another process changes at one of our reads."""

    def __init__(self, file, change, at):
        self._file = file
        self._change = change
        self._left = at

    def is_untouched(self):
        return self._left > 0

    def __getattr__(self, name):
        def call(*arguments):
            self._left -= 1
            if self._left == 0:
                self._change()
            return getattr(self._file, name)(*arguments)

        return call


def test_a_file_cut_between_two_reads_yields_only_existing_rows(path, monkeypatch):
    """At any read: the follower returns the old rows first, then all new ones."""
    old = [b"%d" % number for number in range(100, 140)]
    new = [b"%d" % number for number in range(500, 590)]

    def rewrite():
        path.write_bytes(b"\n".join([*new, b""]))

    for name in ("reach_back", "RowStream"):
        real = getattr(following, name)

        def unwrapped(file, *arguments, real=real, **options):
            file.stat()
            return real(file._file, *arguments, **options)

        monkeypatch.setattr(following, name, unwrapped)
    monkeypatch.setattr(following, "STEP", 30)
    for at in range(1, 1000):
        path.write_bytes(b"\n".join([*old, b"rest"]))
        os.utime(path, (1, 1))
        follower = start(path, start_offset=20)
        opened = follower._files[0]
        opened._file = CutWhileRead(opened._file, rewrite, at)
        changes = [*seen(follower), *seen(follower)]
        if opened._file.is_untouched():
            assert [row for batch in changes for row in batch] == old[5:]
            break
        (cut,) = (n for n, each in enumerate(changes) if isinstance(each, Truncated))
        before = [row for batch in changes[:cut] for row in batch]
        assert before == old[5 : 5 + len(before)], f"cut at read {at}"
        after = [row for batch in changes[cut + 1 :] for row in batch]
        assert after == new, f"cut at read {at}"
    assert at > 20


def test_a_file_that_was_shorter_for_a_moment_loses_no_row(path):
    rows = [b"%d" % number for number in range(100_000)]
    content = b"\n".join([*rows, b""])
    path.write_bytes(content)
    for at in range(30):
        reads = count()

        def read_at(offset, length, reads=reads, at=at):
            return b"" if next(reads) == at else content[offset : offset + length]

        follower = start(path)
        follower._files[0]._file = File.remote(read_at, lambda: (len(content), 0, 0))
        given = []
        for change in [*seen(follower), *seen(follower)]:
            # If it was shorter than the part that was read, all rows come again.
            given = [] if isinstance(change, Truncated) else given + change
        assert given == rows, f"at read {at}"


def test_a_start_offset_after_the_end_of_the_file_is_a_truncation(path):
    path.write_bytes(b"1\n2\n")
    follower = start(path, start_offset=100)
    assert seen(follower) == [Truncated(dropped=0), [b"1", b"2"]]


def test_a_touched_file_yields_no_rows(path):
    path.write_bytes(b"1\nrest")
    follower = start(path)
    assert seen(follower) == [[b"1"]]
    os.utime(path, (1, 1))
    assert seen(follower) == []


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


@pytest.mark.parametrize(
    ("content", "error"),
    [
        pytest.param(gzip.compress(b"1\n"), UsageError, id="compressed"),
        pytest.param("1\n".encode("utf-16"), NotNdjsonError, id="UTF-16"),
    ],
)
def test_a_file_that_is_not_plain_text_is_refused_and_closed(path, content, error):
    path.write_bytes(content)
    with pytest.raises(error):
        start(path)
    assert open_beside(path) == 0


def test_a_file_replaced_while_it_is_opened_loses_no_row(path, monkeypatch):
    """The name may belong to another file between two system calls of the follower."""
    path.write_bytes(b"1\n")
    real = os.fstat

    def rotate(descriptor):
        monkeypatch.undo()
        path.rename(path.with_suffix(".1"))
        path.write_bytes(b"2\n")
        return real(descriptor)

    monkeypatch.setattr(os, "fstat", rotate)
    assert seen(start(path)) == [[b"1"], Rotated(), [b"2"]]


def arriving(path, blocks, max_line=LIMIT):
    """Return rows, offsets and lengths of too long rows of a file that grows by blocks.

    After the last block the file is rotated, so that the rest is a row too.
    """
    path.unlink(missing_ok=True)
    path.touch()
    follower = start(path, max_line=max_line)
    changes = []
    for block in blocks:
        append(path, block)
        changes += follower.poll()
    path.unlink()
    path.write_bytes(b"the next file\n")
    changes += follower.poll()
    follower.close()
    *batches, rotated, _next = changes
    assert rotated == Rotated()
    rows = [row for batch in batches for row in batch.contents()]
    offsets = [offset for batch in batches for offset in batch.offsets]
    lengths = [length for batch in batches for _, length in batch.too_long]
    return rows, offsets, lengths


def pieces(content, size):
    return [content[at : at + size] for at in range(0, len(content), size)]


@pytest.mark.parametrize(
    ("content", "rows", "offsets"),
    [
        pytest.param(b"", [], [], id="nothing"),
        pytest.param(b"\n", [b""], [0], id="a blank row"),
        pytest.param(b'a\n"b"', [b"a", b'"b"'], [0, 2], id="no last line end"),
        pytest.param(b"a\r\nb\r\n", [b"a", b"b"], [0, 3], id="CRLF"),
        pytest.param(b"a\rb\r\r\n", [b"a\rb\r"], [0], id="a lone CR is content"),
        pytest.param(b'"a"\r', [b'"a"\r'], [0], id="a CR that ends no line"),
        pytest.param(b"\xef\xbb\xbfa\nb\n", [b"a", b"b"], [0, 5], id="a BOM"),
        pytest.param(
            b"a\n\xef\xbb\xbfb\n", [b"a", b"\xef\xbb\xbfb"], [0, 2], id="late"
        ),
    ],
)
@pytest.mark.parametrize("step", [1, 2, following.STEP])
def test_rows_do_not_depend_on_where_blocks_end(
    path, monkeypatch, content, rows, offsets, step
):
    monkeypatch.setattr(following, "STEP", step)
    for size in range(1, len(content) + 1):
        outcome = arriving(path, pieces(content, size))
        assert outcome == (rows, offsets, []), f"blocks of {size}"


@pytest.mark.parametrize("step", [1, 7, following.STEP])
def test_a_row_that_is_too_long_is_counted_and_its_neighbours_stay(
    path, monkeypatch, step
):
    monkeypatch.setattr(following, "STEP", step)
    content = b"a\n" + b"x" * 40 + b"\r\n" + b"y" * 8 + b"\r\nb\n" + b"z" * 9
    for size in range(1, len(content) + 1):
        rows, offsets, lengths = arriving(path, pieces(content, size), max_line=8)
        assert rows == [b"a", None, b"y" * 8, b"b", None], f"blocks of {size}"
        assert offsets == [0, 2, 44, 54, 56]
        assert lengths == [40, 9]


def test_a_row_over_the_limit_that_comes_in_pieces_comes_once(path):
    path.write_bytes(b"1\n")
    follower = start(path, max_line=100)
    assert seen(follower) == [[b"1"]]
    for _ in range(1000):
        append(path, b"x" * 1000)
        assert seen(follower) == []
    append(path, b"\n2\n")
    (batch,) = follower.poll()
    assert batch.contents() == [None, b"2"]
    assert batch.offsets == [2, 1_000_003]
    assert batch.too_long == [(0, 1_000_000)]


def test_a_line_that_grows_in_small_steps_is_not_searched_again_and_again(path):
    steps, piece = 400, b"x" * 20_000
    path.write_bytes(b"1\n")
    follower = start(path, max_line=steps * len(piece))
    assert seen(follower) == [[b"1"]]
    file = follower._files[0]._file
    for _ in range(steps):
        append(path, piece)
        assert seen(follower) == []
    # Each byte once, and at each poll both ends of the part that was read.
    looking = steps * (len(piece) + 4 * 4096)
    assert file.bytes_read <= looking + 1000
    append(path, b"\n")
    assert seen(follower) == [[steps * piece]]
    assert file.bytes_read <= looking + steps * len(piece) + 100_000


def test_a_large_file_comes_in_parts_and_is_hardly_read_twice(path):
    rows = [b'{"n":%d,"x":"%s"}' % (n, b"y" * (n % 500)) for n in range(20_000)]
    path.write_bytes(b"\n".join([*rows, b"rest"]))
    follower = start(path)
    changes = seen(follower)
    assert [row for batch in changes for row in batch] == rows
    part = following.STEP + len(max(rows, key=len))
    assert max(len(b"\n".join(batch)) for batch in changes) <= part
    size = path.stat().st_size
    assert follower._files[0]._file.bytes_read < 1.4 * size


def test_follow_gives_rows_for_ever(path):
    path.write_bytes(b"1\n2\n")
    rows = follow(path, 0, poll=0.001)
    assert [next(rows), next(rows)] == [b"1", b"2"]
    append(path, b"3\n")
    assert next(rows) == b"3"
    rows.close()


def test_a_row_that_is_finished_after_rotation_is_given_whole(path, monkeypatch):
    monkeypatch.setattr(following, "LINGER", 60.0)
    path.write_bytes(b"1\n")
    follower = start(path)
    assert seen(follower) == [[b"1"]]
    append(path, b'{"half":')
    old = path.rename(path.with_name(path.name + ".1"))
    path.write_bytes(b"3\n")
    assert seen(follower) == []
    append(old, b"2}\n")
    assert seen(follower) == [[b'{"half":2}'], Rotated(), [b"3"]]


@pytest.mark.parametrize(
    ("rest", "given", "dropped"),
    [
        (b'{"half":', [], 8),
        (b"12", [], 2),
        (b'"te', [], 3),
        (b'{"a": 1}', [[b'{"a": 1}']], 0),
        (b"[1]\r", [[b"[1]\r"]], 0),
        (b"null", [[b"null"]], 0),
    ],
)
def test_an_unterminated_row_of_a_rotated_file_is_returned_only_if_it_is_valid(
    path, rest, given, dropped
):
    path.write_bytes(b"1\n")
    follower = start(path)
    seen(follower)
    append(path, rest)
    path.rename(path.with_name(path.name + ".1"))
    path.write_bytes(b"3\n")
    assert seen(follower) == [*given, Rotated(dropped), [b"3"]]


@pytest.mark.parametrize("scheme", ["numbers", "dates"])
@pytest.mark.parametrize("times", [1, 2, 7])
def test_files_that_had_the_name_between_two_looks_are_read(path, scheme, times):
    """The file is rotated twice between two polls of the follower."""
    before = path.with_name(path.name + ".9")
    before.write_bytes(b'"was there before"\n')
    path.write_bytes(b'"first"\n')
    follower = start(path)
    assert seen(follower) == [[b'"first"']]
    for number in range(times):
        if scheme == "dates":
            path.rename(path.with_name(f"{path.name}-2026010{number}"))
        else:
            for old in range(number, 0, -1):
                of = path.with_name(f"{path.name}.{old}")
                of.rename(path.with_name(f"{path.name}.{old + 1}"))
            path.rename(path.with_name(f"{path.name}.1"))
        path.write_bytes(b"%d\n" % number)
        # Files written in the same tick of the clock have no order.
        os.utime(path, ns=(0, path.stat().st_mtime_ns + number * 50_000_000))
    path.with_name(path.name + ".bak").write_bytes(b'"a copy"\n')
    expected = []
    for number in range(times):
        expected += [Rotated(), [b"%d" % number]]
    assert seen(follower) == expected
    assert seen(follower) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"last": -1},
        {"start_offset": -1},
        {"start_offset": 1.5},
        {"poll": -1},
        {"poll": 0},
        {"poll": float("nan")},
        {"poll": "1"},
    ],
)
def test_invalid_arguments_are_refused(path, wrong):
    path.write_bytes(b"1\n")
    with pytest.raises(UsageError, match=next(iter(wrong))):
        follow(path, **wrong)
