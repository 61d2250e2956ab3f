"""Files as a stream: each terminated line once, of growing and new files."""

import gzip

import pytest

from headrace.errors import (
    HeadraceWarning,
    SourceNotFoundError,
    StreamLossError,
    StreamReplacedError,
    UsageError,
)
from tests.spark.driven import Stream
from tests.spark.stream_data import append_file, expected, lines, text

pytestmark = pytest.mark.spark


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(text(range(100)))
    return path


def test_a_file_that_grows(file):
    stream = Stream(file)
    assert stream.batch() == [
        (str(file), n, line) for n, line in enumerate(expected(range(100)))
    ]
    assert stream.batch() is None
    append_file(file, text(range(100, 130)))
    stream.restart()
    assert stream.batch() == [(str(file), n, b'{"id":%d}' % n) for n in range(100, 130)]


def test_a_last_line_without_its_end_waits(file):
    append_file(file, b'{"id":1')
    stream = Stream(file)
    assert lines(stream.batch()) == expected(range(100))
    assert stream.batch() is None
    append_file(file, b"00}")
    assert stream.batch() is None
    append_file(file, b"\r\n")
    assert lines(stream.batch()) == [b'{"id":100}']


def test_a_file_with_one_unterminated_line_has_no_rows_yet(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"{")
    stream = Stream(path)
    assert stream.batch() is None
    append_file(path, b"}\n")
    assert lines(stream.batch()) == [b"{}"]


def test_new_files(tmp_path):
    stream = Stream(tmp_path)
    assert stream.batch() is None
    (tmp_path / "b.jsonl").write_bytes(text([2]))
    (tmp_path / "notes.txt").write_bytes(b"no data")
    assert lines(stream.batch()) == expected([2])
    (tmp_path / "a.jsonl").write_bytes(text([1]))
    append_file(tmp_path / "b.jsonl", text([3]))
    stream.restart()
    assert lines(stream.batch()) == expected([1, 3])
    # A file that was read may be removed.
    (tmp_path / "a.jsonl").unlink()
    assert stream.batch() is None


def test_globs_and_name_filters(tmp_path):
    for name in ("a1.jsonl", "a2.log", "b1.jsonl"):
        (tmp_path / name).write_bytes(text([int(name[1])]))
    assert lines(Stream(f"{tmp_path}/a*").rest()) == expected([1, 2])
    found = Stream(f"{tmp_path}/*1*", pathGlobFilter="b*").rest()
    assert lines(found) == expected([1])


@pytest.mark.parametrize(
    "budget", [{"maxRowsPerTrigger": 30}, {"maxBytesPerTrigger": 300}]
)
def test_a_budget_cuts_batches_across_files(tmp_path, budget):
    for number in range(4):
        ids = range(number * 20, number * 20 + 20)
        (tmp_path / f"{number}.jsonl").write_bytes(text(ids))
    batches = Stream(tmp_path, **budget).available_now()
    assert [row for batch in batches for row in lines(batch)] == expected(range(80))
    if "maxRowsPerTrigger" in budget:
        assert [len(batch) for batch in batches] == [30, 30, 20]
    else:
        sizes = [sum(len(raw) + 1 for raw in lines(batch)) for batch in batches]
        assert max(sizes) <= 300
        assert len(sizes) <= 4


def test_a_line_that_is_longer_than_the_budget_is_a_batch(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'"long"\n\n[]\n"longer still"\n')
    batches = Stream(path, maxBytesPerTrigger=2).available_now()
    assert [lines(each) for each in batches] == [
        [b'"long"'],
        [b""],
        [b"[]"],
        [b'"longer still"'],
    ]


def test_rows_added_after_available_now_has_begun_wait(file):
    stream = Stream(file, maxRowsPerTrigger=60)
    stream.reader.prepareForTriggerAvailableNow()
    assert len(stream.batch()) == 60
    append_file(file, text(range(100, 120)))
    (file.with_name("later.jsonl")).write_bytes(text([7]))
    assert len(stream.batch()) == 40
    assert stream.batch() is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda path: path.write_bytes(text(range(50))), "990 bytes were read"),
        (lambda path: path.write_bytes(b""), "990 bytes were read"),
        (
            lambda path: path.write_bytes(text(range(1, 120))),
            "its first 990 bytes were read, and have changed",
        ),
    ],
    ids=["truncated", "emptied", "replaced"],
)
def test_a_replaced_file_is_named(file, change, reason):
    stream = Stream(file)
    stream.batch()
    change(file)
    for _ in range(2):
        with pytest.raises(StreamReplacedError, match=f"rows.jsonl: {reason}"):
            stream.batch()
        stream.restart()


def test_a_file_that_is_replaced_before_its_batch_is_done_again(file):
    stream = Stream(file)
    planned = stream.plan()
    file.write_bytes(text(range(1, 120)))
    with pytest.raises(StreamReplacedError, match="its first 990 bytes have changed"):
        stream.run(planned)


def test_a_file_that_is_gone_before_it_was_read(file):
    stream = Stream(file.parent)
    planned = stream.plan()
    file.unlink()
    with pytest.raises(
        StreamLossError, match="removed before all of it was read; with"
    ):
        stream.run(planned)
    stream.restart(onDataLoss="skip")
    with pytest.warns(HeadraceWarning, match="removed before all of it was read"):
        assert stream.run(planned) == []


def test_a_compressed_file_is_read_when_it_is_whole(tmp_path):
    packed = gzip.compress(text(range(1000))[:-1])
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(packed[:-9])
    stream = Stream(tmp_path, maxRowsPerTrigger=10)
    with pytest.warns(HeadraceWarning, match="the stream waits for the rest"):
        assert stream.batch() is None
    append_file(path, packed[-9:])
    found = stream.batch()
    assert found == [
        (str(path), n, line) for n, line in enumerate(expected(range(1000)))
    ]
    assert stream.batch() is None
    append_file(path, gzip.compress(text([1000])))
    with pytest.raises(StreamReplacedError, match="changed after it was read"):
        stream.batch()


def test_latest_begins_after_the_existing_lines(file):
    stream = Stream(file, startingOffsets="latest")
    assert stream.batch() is None
    append_file(file, text([100]))
    assert stream.batch() == [(str(file), 100, b'{"id":100}')]


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ("missing.jsonl", SourceNotFoundError, "no such file"),
        ("s3://bucket/rows", UsageError, "cannot read URLs"),
        ("/dev/null", UsageError, "cannot read a pipe"),
    ],
)
def test_sources_that_are_not_streams_of_files(path, error, message):
    with pytest.raises(error, match=message):
        Stream(path).batch()
