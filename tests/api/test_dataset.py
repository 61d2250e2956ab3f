"""Data set: values, errors with their place, other processes, changing files."""

import gzip
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence
from decimal import Decimal

import pytest
import zstandard

import headrace
from headrace.errors import (
    BadRowError,
    DamagedSourceError,
    LineTooLongError,
    NotNdjsonError,
    RowOutOfRangeError,
    SourceChangedError,
    SourceNotFoundError,
    UnreadableError,
    UsageError,
)
from headrace.store.files.opened import OpenedFile


@pytest.fixture
def write(tmp_path):
    def write(data, name="data.jsonl"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


MIXED = (
    b'{"a": 1}\n\n[1, 2.50, null]\r\n"text"\n12345678901234567890123\n1e400\n \t\nnull'
)
VALUES = [
    {"a": 1},
    None,
    [1, 2.5, None],
    "text",
    12345678901234567890123,
    Decimal("1e400"),
    None,
    None,
]


def test_rows_are_values_and_blank_rows_are_none(write):
    ds = headrace.open(write(MIXED))
    assert isinstance(ds, Sequence)
    assert list(ds) == VALUES
    assert [ds[row] for row in range(len(ds))] == VALUES
    assert ds[2:4] == VALUES[2:4]
    assert list(reversed(ds)) == VALUES[::-1]
    assert VALUES[0] in ds
    assert ds.index("text") == 3


def test_records_leave_out_blank_rows_and_keep_null(write):
    assert list(headrace.open(write(MIXED)).records()) == [
        *VALUES[:1],
        *VALUES[2:6],
        None,
    ]


def test_raw_rows_are_bytes_without_their_endings(write):
    ds = headrace.open(write(MIXED)).raw
    assert ds[0] == b'{"a": 1}'
    assert ds[1] == b""
    assert ds[2] == b"[1, 2.50, null]"
    assert ds[6] == b" \t"
    assert list(ds) == [row.rstrip(b"\r") for row in MIXED.split(b"\n")]


def test_a_byte_order_mark_is_skipped_only_at_byte_zero(write):
    ds = headrace.open(write(b"\xef\xbb\xbf1\n\xef\xbb\xbf2\n"))
    assert ds[0] == 1
    assert ds.raw[1] == b"\xef\xbb\xbf2"
    with pytest.raises(BadRowError, match="line 2, byte 5"):
        ds[1]


def test_a_row_may_be_a_number_or_a_string(write):
    ds = headrace.open(write(b'{"n": 1.50, "s": "5", "null": "<null>", "n": 2}\n'))
    assert ds[0] == {"n": 2, "s": "5", "null": "<null>"}
    assert ds.raw[0] == b'{"n": 1.50, "s": "5", "null": "<null>", "n": 2}'


# Bad rows


BAD = b'{"a": 1}\n{"a": \n{"a": 3}\n'


def test_a_bad_row_has_a_place_and_a_reason_and_its_neighbours_are_read(write):
    path = write(BAD)
    ds = headrace.open(path)
    assert ds[0] == {"a": 1}
    assert ds[2] == {"a": 3}
    with pytest.raises(BadRowError) as caught:
        ds[1]
    assert (caught.value.path, caught.value.line, caught.value.offset) == (
        str(path),
        2,
        15,
    )
    assert str(caught.value).startswith(f"{path}: line 2, byte 15: ")
    with pytest.raises(BadRowError, match="line 2"):
        list(ds)
    # Read from the end, rows are not counted.
    with pytest.raises(BadRowError, match=r"data\.jsonl: byte 15"):
        ds.tail(2)


def test_bad_rows_can_be_skipped(write):
    ds = headrace.open(write(BAD + b"{}}\n" + BAD), max_line=20)
    assert [record["a"] for record in ds.records(on_error="skip")] == [1, 3, 1, 3]
    with pytest.raises(BadRowError):
        list(ds.records())


def test_a_row_over_the_limit_leaves_its_neighbours_alone(write):
    path = write(b"1\n" + b"x" * 100 + b"\n3\n")
    ds = headrace.open(path, max_line=50)
    assert (ds[0], ds[2], len(ds)) == (1, 3, 3)
    with pytest.raises(
        LineTooLongError, match="line 2, byte 2: 100 bytes long, over the limit of 50"
    ):
        ds[1]
    with pytest.raises(LineTooLongError):
        ds.raw[1]
    assert list(ds.records(on_error="skip")) == [1, 3]
    stats = ds.stats()
    assert (stats.lines, stats.records, stats.too_long) == (3, 2, 1)
    assert stats.first_bad[0].line == 2


def test_a_line_of_a_hundred_megabytes_is_reported_and_skipped(tmp_path):
    path = tmp_path / "data.jsonl"
    with path.open("wb") as file:
        file.write(b"1\n")
        for _ in range(100):
            file.write(b"x" * (1 << 20))
        file.write(b"\n3\n")
    ds = headrace.open(path)
    assert (ds[0], ds[2], ds[-1], len(ds)) == (1, 3, 3, 3)
    with pytest.raises(LineTooLongError, match="104857600 bytes long"):
        ds[1]
    longer = headrace.open(path, max_line="128MiB")
    assert len(longer.raw[1]) == 100 << 20


def test_a_row_at_the_limit_is_read(write):
    path = write(b"x" * 50 + b"\r\n" + b"y" * 51 + b"\n")
    ds = headrace.open(path, max_line=50).raw
    assert ds[0] == b"x" * 50
    with pytest.raises(LineTooLongError):
        ds[1]


def test_nul_bytes_are_content(write):
    ds = headrace.open(write(b"1\n\x00\x00\x00\n3\n"))
    assert ds.raw[1] == b"\x00\x00\x00"
    with pytest.raises(BadRowError, match="line 2, byte 2"):
        ds[1]
    assert ds.stats().bad == 1


@pytest.mark.parametrize(
    ("row", "total"), [(3, 3), (-4, 3), (10**15, 3), (-(10**15), 3)]
)
def test_a_row_out_of_range_names_file_row_and_total(write, row, total):
    path = write(b"1\n2\n3\n")
    ds = headrace.open(path)
    with pytest.raises(
        RowOutOfRangeError, match=rf"data\.jsonl: no row .*of {total} rows"
    ):
        ds[row]
    with pytest.raises(IndexError):
        ds[row]


def test_stats_add_up_and_name_the_first_bad_lines(write):
    path = write(b"{}\n\n{\n \n[1,]\n" + b"nope\n" * 20)
    stats = headrace.open(path).stats()
    assert (stats.lines, stats.records, stats.blank, stats.bad) == (25, 1, 2, 22)
    assert [bad.line for bad in stats.first_bad] == [3, 5, *range(6, 14)]
    assert stats.first_bad[1].offset == 10
    assert headrace.open([path, path]).stats().lines == 50


# Sources


@pytest.mark.parametrize("spec", ["none.jsonl", "*.jsonl"])
def test_a_missing_source_is_named(tmp_path, spec):
    with pytest.raises(SourceNotFoundError, match=r"\.jsonl: no "):
        headrace.open(tmp_path / spec)


def test_a_directory_is_its_data_files_in_order(tmp_path):
    for name in (
        "b.jsonl",
        "a.ndjson",
        "c.jsonl.gz",
        "a.ndjson.ckpt",
        ".hidden.jsonl",
        "_tmp.jsonl",
        "x.txt",
    ):
        content = name.encode().join([b'"', b'"\n'])
        (tmp_path / name).write_bytes(
            gzip.compress(content) if name.endswith("gz") else content
        )
    assert list(headrace.open(tmp_path)) == ["a.ndjson", "b.jsonl", "c.jsonl.gz"]
    assert list(headrace.open(tmp_path / "*.jsonl")) == ["_tmp.jsonl", "b.jsonl"]
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "d.jsonl").write_bytes(b'"d"\n')
    assert list(headrace.open(str(tmp_path / "**" / "*.jsonl"))) == [
        "_tmp.jsonl",
        "b.jsonl",
        "d",
    ]


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["x.txt"],
    ],
)
def test_a_directory_without_plain_data_files_is_refused(tmp_path, names):
    for name in names:
        (tmp_path / name).write_bytes(b"{}")
    with pytest.raises(NotNdjsonError):
        headrace.open(tmp_path)


def test_a_file_whose_name_looks_like_a_pattern_is_found(tmp_path):
    path = tmp_path / "data[1].jsonl"
    path.write_bytes(b"1\n")
    assert list(headrace.open(path)) == [1]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_named(write):
    path = write(b"{}\n")
    path.chmod(0)
    with pytest.raises(UnreadableError, match="Permission denied"):
        headrace.open(path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings_are_refused_with_the_reason(write, encoding):
    with pytest.raises(NotNdjsonError, match=r"it is UTF-(16|32), and NDJSON is UTF-8"):
        headrace.open(write('{"a": 1}\n'.encode(encoding)))


def until_failure(rows, failure):
    """Return the rows before `failure`, which must be raised."""
    delivered = []
    try:
        for row in rows:
            delivered.append(row)  # noqa: PERF402, a list would be lost with the error
    except failure:
        return delivered
    raise AssertionError("nothing failed")


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_rows_before_the_damage_are_delivered(write, compress):
    rows = b"".join(
        b'{"id": %d, "noise": "%s"}\n' % (row, os.urandom(20).hex().encode())
        for row in range(20_000)
    )
    path = write(compress(rows)[:-1000])
    ds = headrace.open(path)
    with pytest.raises(
        DamagedSourceError, match=r"data\.jsonl: .*compressed byte \d+"
    ) as caught:
        list(ds)
    delivered = until_failure(ds, DamagedSourceError)
    assert len(delivered) > 10_000
    assert [row["id"] for row in delivered] == list(range(len(delivered)))
    assert 0 < caught.value.offset <= path.stat().st_size
    assert ds[100]["id"] == 100
    for whole in (
        len,
        list,
        lambda ds: ds.count(),
        lambda ds: ds.tail(1),
        lambda ds: ds[-1],
        lambda ds: ds.stats(),
    ):
        with pytest.raises(DamagedSourceError):
            whole(headrace.open(path))


def test_urls_are_read_in_ranges():
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    rows = b"".join(b'{"id": %d}\n' % row for row in range(50_000))
    memory.pipe("/logs/a.jsonl", rows)
    memory.pipe("/logs/b.jsonl.gz", gzip.compress(rows))
    ds = headrace.open("memory://logs/a.jsonl")
    assert ds.tail(1) == [{"id": 49_999}]
    assert ds.bytes_read() < 200_000
    assert ds[31_000] == {"id": 31_000}
    assert len(ds) == 50_000
    both = headrace.open("memory://logs/*")
    assert len(both) == 100_000
    assert both[81_000] == {"id": 31_000}
    with pytest.raises(SourceNotFoundError):
        headrace.open("memory://logs/none.jsonl")


def test_a_pipe_supports_rows_by_number(write):
    code = (
        "import headrace\n"
        "ds = headrace.open('-')\n"
        "print(ds[70_000]['id'], ds[3]['id'], len(ds), ds[-1]['id'], sum(1 for _ in ds))\n"
    )
    rows = b"".join(b'{"id": %d}\n' % row for row in range(100_000))
    for data in (rows, gzip.compress(rows), zstandard.compress(rows)):
        answer = subprocess.run(
            [sys.executable, "-c", code], input=data, capture_output=True, check=True
        )
        assert answer.stdout == b"70000 3 100000 99999 100000\n"


def test_reading_a_pipe_twice_is_an_error(write):
    code = (
        "import headrace\n"
        "ds = headrace.open('-')\n"
        "print(ds.count())\n"
        "try:\n    list(ds)\n"
        "except headrace.HeadraceError as error:\n    print(error)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], input=b"1\n2\n", capture_output=True, check=True
    )
    assert answer.stdout == b"2\n-: a pipe can be read only once\n"


def test_a_fifo_is_a_pipe(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    ds = headrace.open(fifo)
    writing = threading.Thread(target=lambda: fifo.write_bytes(b"1\n2\n"))
    writing.start()
    assert list(ds) == [1, 2]
    writing.join()


# Other processes


def _in_child(ds, results):
    results.put((ds[1500], len(ds), ds.raw[2999]))


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded:DeprecationWarning"
)
def test_another_process_can_use_it(write, method):
    ds = headrace.open(write(b"".join(b"%d\n" % row for row in range(3000))))
    assert ds[1500] == 1500
    context = multiprocessing.get_context(method)
    results = context.Queue()
    child = context.Process(target=_in_child, args=(ds, results))
    child.start()
    assert results.get(timeout=60) == (1500, 3000, b"2999")
    child.join(60)
    assert child.exitcode == 0


def test_a_pickled_data_set_is_small_and_works(write):
    ds = headrace.open(write(b"1\n" * 5000))
    assert len(ds) == 5000
    text = pickle.dumps(ds)
    assert len(text) < 1000
    assert len(pickle.loads(text)) == 5000


def test_a_pickled_data_set_is_pinned_to_the_state_of_its_file(write):
    path = write(b"1\n2\n")
    text = pickle.dumps(headrace.open(path))
    with path.open("ab") as file:
        file.write(b"3\n")
    assert list(pickle.loads(text)) == [1, 2]
    path.write_bytes(b"9\n8\n7\n"[:4])
    os.utime(path, ns=(1, 1))
    with pytest.raises(SourceChangedError):
        list(pickle.loads(text))


def test_many_threads_may_read_at_once(write):
    ds = headrace.open(write(b"".join(b"%d\n" % row for row in range(50_000))))
    wrong = []

    def look(seed):
        for row in range(seed, 50_000, 997):
            wrong.extend([row] if ds[row] != row else [])

    threads = [threading.Thread(target=look, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# Files that change while open


@pytest.fixture
def numbered(write):
    return write(b"".join(b"%06d\n" % row for row in range(100_000, 120_000)))


def test_a_file_that_shrinks_is_an_error_not_a_wrong_row(numbered):
    ds = headrace.open(numbered)
    assert ds[19_999] == 119_999
    os.truncate(numbered, 7 * 500)
    for use in (
        lambda: ds[19_999],
        lambda: ds[10],
        lambda: list(ds),
        lambda: ds.tail(1),
    ):
        with pytest.raises(SourceChangedError, match=r"data\.jsonl: .*shorter"):
            use()


def test_a_file_rewritten_in_place_is_an_error_not_a_wrong_row(numbered):
    ds = headrace.open(numbered)
    assert ds[10] == 100_010
    with numbered.open("r+b") as file:
        file.write(b"\n" * 70_000)
    os.utime(numbered, ns=(5, 5))
    for use in (
        lambda: ds[10],
        lambda: ds[19_999],
        lambda: list(ds),
        lambda: ds.tail(1),
    ):
        with pytest.raises(SourceChangedError, match="changed"):
            use()


def test_a_file_whose_time_changes_before_its_size_has_grown(numbered, monkeypatch):
    """Between the two changes, the file looks as if it was rewritten in place."""
    ds = headrace.open(numbered)
    before = numbered.stat()
    with numbered.open("ab") as file:
        file.write(b"7\n")
    looks = []
    look = OpenedFile.stat

    def early(self):
        looks.append(look(self))
        size = before.st_size if len(looks) < 4 else looks[-1][0]
        return size, *looks[-1][1:]

    monkeypatch.setattr(OpenedFile, "stat", early)
    assert ds.head(1) == [100_000]
    assert len(looks) >= 4
    assert len(ds) == 20_000


def test_a_file_that_grows_keeps_the_rows_it_had(numbered):
    ds = headrace.open(numbered)
    with numbered.open("ab") as file:
        file.write(b"7\n" * 10)
    assert len(ds) == 20_000
    assert ds[-1] == 119_999
    assert ds[19_999] == 119_999
    assert sum(1 for _ in ds) == 20_000
    assert len(headrace.open(numbered)) == 20_010


def test_a_file_that_is_replaced_is_read_as_it_was(numbered):
    ds = headrace.open(numbered)
    assert ds[5] == 100_005
    other = numbered.with_name("other")
    other.write_bytes(b"0\n")
    other.replace(numbered)
    assert ds[19_999] == 119_999
    assert len(ds) == 20_000


def test_an_unfinished_last_row_stays_as_it_was(write):
    path = write(b"1\n2")
    ds = headrace.open(path)
    assert list(ds) == [1, 2]
    with path.open("ab") as file:
        file.write(b"3\n")
    assert list(ds) == [1, 2]
    assert ds[1] == 2
    assert ds[-1] == 2
    assert list(headrace.open(path)) == [1, 23]


def test_opening_another_file_ends_the_work_on_the_first(numbered, write):
    first = headrace.open(numbered)
    assert first[0] == 100_000
    first.close()
    assert not [
        thread
        for thread in threading.enumerate()
        if thread.name.startswith("headrace-index")
    ]
    assert headrace.open(write(b"1\n", "other.jsonl"))[0] == 1
    # And the first can be used again.
    assert first[1] == 100_001


def test_a_program_does_not_wait_for_the_index_at_its_end(tmp_path):
    path = tmp_path / "sparse.jsonl"
    with path.open("wb") as file:
        file.write(b"1\n2\n")
        file.truncate(20 << 30)
    code = f"import headrace; ds = headrace.open({str(path)!r}); print(ds[1])"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=5, check=True
    )
    assert answer.stdout == b"2\n"


# Options


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"max_line": "64 MiB of"}, "not a size"),
        ({"max_line": -1}, "negative"),
        ({"max_depth": 0}, "max_depth 0"),
        ({"max_depth": 1001}, "max_depth 1001"),
    ],
)
def test_wrong_options_are_refused(write, options, reason):
    with pytest.raises(UsageError, match=reason):
        headrace.open(write(b"1\n"), **options)


def test_no_source_is_refused():
    with pytest.raises(UsageError):
        headrace.open([])


def test_depth_can_be_raised(write):
    path = write(b"[" * 300 + b"]" * 300)
    with pytest.raises(BadRowError, match="256"):
        headrace.open(path)[0]
    assert headrace.open(path, max_depth=300)[0]


def test_the_public_names_are_there():
    assert {"open", "Dataset", "RowIndexer", "functions"} <= set(dir(headrace))
    for name in headrace.__all__:
        assert getattr(headrace, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        headrace.nothing  # noqa: B018


# Mistakes of a first user


def test_a_slice_decodes_only_its_own_rows(write):
    ds = headrace.open(
        write(b"".join(b"%d\n" % row if row != 5 else b"bad\n" for row in range(5000)))
    )
    assert ds[0:12:4] == [0, 4, 8]
    assert ds[12:0:-4] == [12, 8, 4]
    assert ds[::1500] == [0, 1500, 3000, 4500]
    assert ds[4900::33] == [4900, 4933, 4966, 4999]
    with pytest.raises(BadRowError, match="line 6"):
        ds[0:12:5]


@pytest.mark.parametrize(
    "rows", [slice(1, 3, 0), slice(None, None, 0), slice(-2, None, 0)]
)
def test_a_step_of_zero_is_refused_as_by_a_list(write, rows):
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        headrace.open(write(b"1\n2\n3\n"))[rows]


@pytest.mark.parametrize("far", [2**63, 2**64, 10**30])
def test_row_numbers_far_beyond_the_file(write, far):
    ds = headrace.open(write(b"1\n2\n"))
    for row in (far, -far):
        with pytest.raises(RowOutOfRangeError, match=f"no row {row};"):
            ds[row]
    assert ds.head(far) == ds.tail(far) == list(ds.rows(0, far)) == [1, 2]
    assert ds[:far] == ds[-far:] == [1, 2]
    assert ds[far:] == []
    assert ds[::-far] == [2]


@pytest.mark.parametrize("on_error", ["raise", "Abort", None, True])
def test_a_misspelt_policy_is_refused(write, on_error):
    with pytest.raises(UsageError, match="on_error"):
        headrace.open(write(b"1\n")).records(on_error=on_error)


@pytest.mark.parametrize("source", [None, b"a.jsonl", 7, "", [""]])
def test_a_source_that_is_not_a_path_is_refused(source):
    with pytest.raises(UsageError, match="a source"):
        headrace.open(source)


def test_an_opened_file_is_a_source(write):
    with write(b"1\n2\n").open("rb") as file:
        assert list(headrace.open(file)) == [1, 2]


def test_an_index_that_is_not_a_number_is_a_type_error(write):
    with pytest.raises(TypeError):
        headrace.open(write(b"1\n"))["x"]


def test_a_sidecar_beside_its_data_is_not_a_source(write):
    data = write(b"1\n2\n")
    sidecar = write(b"not data\n", "data.jsonl.ckpt")
    assert len(headrace.open([data, sidecar])) == 2
    assert len(headrace.open(sidecar)) == 1


def test_a_directory_has_only_files(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"1\n")
    (tmp_path / "out.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    for name in ("a.jsonl~", "a.jsonl.md5", "a.jsonl.tmp", "model.meta-v1.json"):
        (tmp_path / name).write_bytes(b"x\n")
    assert list(headrace.open(tmp_path)) == [1]


def test_a_pattern_finds_what_it_names(tmp_path):
    (tmp_path / "_u.jsonl").write_bytes(b"1\n")
    (tmp_path / "old.jsonl.bak").write_bytes(b"2\n")
    assert list(headrace.open(tmp_path / "_*.jsonl")) == [1]
    assert list(headrace.open(tmp_path / "*.bak")) == [2]


@pytest.mark.skipif(not os.path.exists("/proc/cpuinfo"), reason="needs /proc")  # noqa: PTH110
def test_a_file_that_claims_to_be_empty_is_read():
    with open("/proc/cpuinfo", "rb") as file:  # noqa: PTH123
        lines = file.read().splitlines()
    assert headrace.open("/proc/cpuinfo").count() == len(lines)


def test_a_wrong_checksum_is_not_reported_as_a_truncated_file(write):
    rows = b"".join(b'{"id": %d}\n' % row for row in range(1000))
    flipped = bytearray(gzip.compress(rows))
    flipped[-6] ^= 1
    with pytest.raises(
        DamagedSourceError, match="from somewhere before it on may be wrong"
    ):
        list(headrace.open(write(bytes(flipped))))
    behind = write(gzip.compress(rows) + b"rubbish")
    with pytest.raises(DamagedSourceError, match="not gzip stand behind it"):
        list(headrace.open(behind))


def test_a_line_longer_than_two_gigabytes_is_measured_and_skipped(tmp_path):
    path = tmp_path / "sparse.jsonl"
    length = (1 << 31) + 12_345
    with path.open("wb") as file:
        file.write(b"1\n")
        file.seek(2 + length)
        file.write(b"\n3\n")
    with headrace.open(path) as ds:
        assert (len(ds), ds[0], ds[2], ds[-1]) == (3, 1, 3, 3)
        with pytest.raises(
            LineTooLongError, match=f"line 2, byte 2: {length} bytes long"
        ):
            ds[1]
