"""Every access returns the rows of the slow reader, for every form of file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.engines.rows.fragment import count_rows_of, rows_of
from headrace.errors import RowOutOfRangeError
from headrace.physical.fragment import fragments
from tests.examples import often
from tests.reference.blocks import (
    Piece,
    gzip_members,
    joined,
    seekable_zstd,
    whole_lines,
    write_sidecar,
    zstd_frames,
)
from tests.reference.compressed import FORMS
from tests.reference.slow_rows import slow_contents, slow_rows

LINE = st.one_of(
    st.sampled_from([b"", b" ", b"{}", b'{"a": "\\n"}', b'"unclosed', b"\r", b"\x00"]),
    st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")),
    st.integers(0, 3000).map(lambda length: b"[" + b"1" * length + b"]"),
)
TEXT = st.lists(
    st.tuples(LINE, st.sampled_from([b"\n", b"\r\n"])), max_size=60
).flatmap(
    lambda lines: st.sampled_from([b"", b"\xef\xbb\xbf"]).flatmap(
        lambda mark: st.sampled_from([b"", b"end", b"\r"]).map(
            lambda end: mark + b"".join(map(b"".join, lines)) + end
        )
    )
)
FORM = st.sampled_from(sorted(FORMS))


def opened(directory, form, data, **options):
    path = directory / "data.jsonl"
    path.write_bytes(FORMS[form](data))
    return headrace.open(path, raw=True, **options)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("rows")


@given(form=FORM, data=TEXT, start=st.integers(-70, 70), stop=st.integers(-70, 70))
def test_every_access_gives_the_same_rows(directory, form, data, start, stop):
    # UTF-16 is refused, so exclude text that happens to look like it.
    if data[1:2] == b"\x00" or data[:1] == b"\x00":
        data = b"{}\n" + data
    expected = slow_contents(data)
    with opened(directory, form, data) as ds:
        assert list(ds) == expected
        assert ds.count() == len(ds) == len(expected)
        assert list(reversed(ds)) == expected[::-1]
        assert ds.head(7) == expected[:7]
        assert ds.tail(7) == (expected[-7:])
        for step in (None, 1, 3, -1, -2):
            assert ds[start:stop:step] == expected[start:stop:step]
        for row in {0, 1, len(expected) // 2, len(expected) - 1, start, stop}:
            if -len(expected) <= row < len(expected):
                assert ds[row] == expected[row]
            else:
                with pytest.raises(RowOutOfRangeError):
                    ds[row]


CUTTABLE = sorted(form for form in FORMS if form == "plain" or "block" in form)


def test_every_form_with_blocks_is_known_to_have_them(directory):
    for form in (*CUTTABLE, "zstd, cut anywhere"):
        (source,) = opened(directory, form, b'{"a": 1}\n' * 9).sources
        assert source.blocks or form == "plain"
        assert source.seekable


@given(form=FORM, data=TEXT, start=st.integers(0, 70), count=st.integers(0, 9))
def test_blocks_false_gives_the_same_rows(directory, form, data, start, count):
    data = b"{}\n" + data
    expected = slow_contents(data)
    with opened(directory, form, data, blocks=False) as ds:
        assert list(ds.rows(start, start + count)) == expected[start : start + count]
        assert ds.tail(count) == (expected[-count:] if count else [])
        assert len(ds) == len(expected)


@given(
    codec=st.sampled_from(["none", "gzip", "zstd"]),
    data=TEXT,
    block_bytes=st.integers(1, 4000),
    start=st.integers(0, 70),
    stop=st.integers(0, 70),
)
def test_every_access_through_a_table_of_blocks(
    directory, codec, data, block_bytes, start, stop
):
    # Files with a table end with a line ending.
    data = (b"{}\n" + data).removesuffix(b"\n") + b"\n"
    expected = slow_contents(data)
    contents = whole_lines(data, block_bytes)
    pieces = PIECES[codec](contents)
    path = directory / "kept.jsonl"
    path.write_bytes(seekable_zstd(pieces) if codec == "zstd" else joined(pieces))
    write_sidecar(path, codec, pieces)
    with headrace.open(path, raw=True) as ds:
        assert len(ds) == len(expected)
        assert ds[start:stop] == expected[start:stop]
        assert ds[-start - 1 : stop] == expected[-start - 1 : stop]
        assert ds.tail(stop) == expected[-stop or len(expected) :]
        assert list(reversed(ds)) == expected[::-1]
        for row in {start, stop, len(expected) - 1}:
            if row < len(expected):
                assert ds[row] == expected[row]
        assert list(ds) == expected


PIECES = {
    "none": lambda contents: [Piece(content, content) for content in contents],
    "gzip": gzip_members,
    "zstd": zstd_frames,
}


@given(
    form=st.sampled_from([*CUTTABLE, "zstd, cut anywhere", "gzip"]),
    data=TEXT,
    part=st.integers(1, 200),
)
def test_every_row_belongs_to_one_fragment(directory, form, data, part):
    # A text with this beginning does not look like UTF-16, which is refused.
    data = b"\n\n" + data
    path = directory / "data.jsonl"
    path.write_bytes(FORMS[form](data))
    (source,) = headrace.open(path).sources
    found, counted = [], 0
    # Each fragment reads the block table again.
    smallest = source.size // 40 if source.blocks else 1
    for fragment in fragments(source, max(part, smallest)):
        rows = rows_of(fragment, max_line=1 << 20)
        while (batch := rows.next_batch(3, 1 << 20)) is not None:
            found += zip(batch.offsets, batch.contents(), strict=True)
        counted += count_rows_of(fragment)
    assert found == slow_rows(data)
    assert counted == len(found)


@pytest.mark.parametrize(
    "form", ["plain", "gzip of several members", "zstd of several frames"]
)
@pytest.mark.parametrize("boundary", [64 << 10, 128 << 10, 192 << 10])
def test_a_line_ending_may_fall_anywhere_around_a_buffer_boundary(
    directory, form, boundary
):
    # 64 KiB is the first read of a row stream and the window of a reverse read,
    # 128 KiB the second one and every read of an index scan.
    for shift in range(-3, 4):
        first = b"x" * (boundary + shift)
        data = first + b"\r\n" + b'{"a": 1}\r\n' + b"\n" + b"y\r\n"
        with opened(directory, form, data) as ds:
            expected = [first, b'{"a": 1}', b"", b"y"]
            assert list(ds) == expected
            assert [ds[row] for row in range(4)] == expected
            assert [ds[row] for row in range(-4, 0)] == expected
            assert list(reversed(ds)) == expected[::-1]
            assert len(ds) == 4


@often(0.3)
@given(form=FORM, rows=st.integers(0, 5000))
def test_rows_beyond_the_first_checkpoints(directory, form, rows):
    data = b"".join(b'{"id": %d}\n' % row for row in range(rows))
    with opened(directory, form, data) as ds:
        wanted = [
            row for row in (0, 999, 1000, 1001, 4095, 4096, rows - 1) if 0 <= row < rows
        ]
        assert [ds[row] for row in wanted] == [b'{"id": %d}' % row for row in wanted]
        assert [ds[row - rows] for row in wanted] == [
            b'{"id": %d}' % row for row in wanted
        ]
        assert ds[1500:1503] == [
            b'{"id": %d}' % row for row in range(1500, 1503) if row < rows
        ]
        assert len(ds) == rows


@given(texts=st.lists(TEXT, min_size=1, max_size=4), start=st.integers(0, 80))
def test_several_files_are_one_sequence(directory, texts, start):
    expected, paths = [], []
    for number, (text, form) in enumerate(zip(texts, sorted(FORMS), strict=False)):
        path = directory / f"part-{number}.jsonl"
        path.write_bytes(FORMS[form](b"\n" + text))
        paths.append(path)
        expected += slow_contents(b"\n" + text)
    with headrace.open(paths, raw=True) as ds:
        assert list(ds) == expected
        assert list(ds.rows(start, start + 5)) == expected[start : start + 5]
        assert ds.tail(9) == expected[-9:]
        assert list(reversed(ds)) == expected[::-1]
        assert len(ds) == len(expected)
        if start < len(expected):
            assert ds[start] == expected[start]
            assert ds[-start - 1] == expected[-start - 1]


@given(form=st.sampled_from(CUTTABLE), data=TEXT)
@often(0.7)
def test_counts_add_up_for_any_fragment_size(directory, form, data):
    path = directory / "data.jsonl"
    # A text with this beginning does not look like UTF-16, which is refused.
    data = b"{}\n" + data
    path.write_bytes(FORMS[form](data))
    from headrace.engines.local.tally import tally

    sources = headrace.open(path).sources
    whole = tally(sources, max_line=500, max_depth=256)
    parts = tally(sources, max_line=500, max_depth=256, fragment_bytes=17)
    assert whole == parts
    assert whole.lines == whole.records + whole.blank + whole.bad + whole.too_long
    assert whole.lines == len(slow_rows(data))
