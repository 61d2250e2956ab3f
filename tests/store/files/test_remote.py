"""Files of web servers and object stores: ranges, versions, errors, directories."""

import gzip
import pickle
import re
import threading
from contextlib import suppress
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import headrace
from headrace.errors import (
    NotNdjsonError,
    SourceChangedError,
    SourceNotFoundError,
    UnreadableError,
)

pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

SMALL, LARGE = 2_000, 40_000
"""Rows: read in one request, or in several."""


PADDING = " " * 120


def numbered(rows, ids="id"):
    return "".join(f'{{"{ids}": {row}{PADDING}}}\n' for row in range(rows)).encode()


class Site:
    """The files of a web server, and its way of answering."""

    def __init__(self):
        self.files = {}
        self.ranges = True
        self.lengths = True
        self.tags = True
        self.cut = False


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(with_body=False)

    def do_GET(self):
        self.answer(with_body=True)

    def answer(self, *, with_body):
        site, body = self.server.site, self.server.site.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        part = body
        if wanted and site.ranges:
            first, last = int(wanted[1]), int(wanted[2])
            if first >= len(body):
                self.send_error(416)
                return
            part = body[first : last + 1]
            self.send_response(206)
        else:
            self.send_response(200)
        if site.tags:
            self.send_header("ETag", f'"{md5(body).hexdigest()}"')
        if site.lengths:
            self.send_header("Content-Length", str(len(part)))
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        if with_body:
            with suppress(ConnectionError):
                self.wfile.write(part[: len(part) // 2] if site.cut else part)
        if site.cut or not site.lengths:
            self.close_connection = True


@pytest.fixture
def site():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.daemon_threads = True
    server.site = Site()
    server.site.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server.site
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("ranges", [True, False], ids=["ranges", "no ranges"])
@pytest.mark.parametrize("lengths", [True, False], ids=["length", "no length"])
@pytest.mark.parametrize("rows", [0, 1, SMALL, LARGE])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_rows_are_complete_from_any_server(site, ranges, lengths, rows, packed):
    site.ranges, site.lengths = ranges, lengths
    content = numbered(rows)
    site.files["/a.jsonl"] = gzip.compress(content, 1) if packed else content
    url = f"{site.url}/a.jsonl"
    last = [{"id": row} for row in range(max(rows - 3, 0), rows)]
    assert headrace.open(url).tail(3) == last
    assert headrace.open(url).head(2) == [{"id": row} for row in range(min(rows, 2))]
    assert len(headrace.open(url)) == rows
    ds = headrace.open(url)
    if rows:
        assert (ds[-1], ds[rows // 2]) == ({"id": rows - 1}, {"id": rows // 2})
    assert headrace.open(url).raw[:] == content.splitlines()
    backwards = [next(reversed(headrace.open(url)), None)]
    assert backwards == (last[-1:] or [None])


@pytest.mark.parametrize("ranges", [True, False], ids=["ranges", "no ranges"])
@pytest.mark.parametrize("rows", [SMALL, LARGE])
def test_a_file_that_is_replaced_while_it_is_read_is_noticed(site, ranges, rows):
    site.ranges = ranges
    site.files["/a.jsonl"] = numbered(rows, "id")
    url = f"{site.url}/a.jsonl"
    ds = headrace.open(url)
    elsewhere = headrace.open(url)
    if ranges or rows == SMALL:
        elsewhere = pickle.loads(pickle.dumps(ds))
    assert len(ds) == rows
    site.files["/a.jsonl"] = numbered(rows, "ix")
    with pytest.raises(SourceChangedError, match="open it again"):
        elsewhere[rows // 2]
    if ranges and rows == LARGE:
        with pytest.raises(SourceChangedError, match="open it again"):
            ds[rows // 2]
    else:
        # All of it was fetched before.
        assert ds[rows // 2] == {"id": rows // 2}


def test_an_object_that_is_replaced_is_noticed_and_one_that_grew_is_not():
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe("/replaced/a.jsonl", numbered(LARGE, "id"))
    ds = headrace.open("memory://replaced/a.jsonl")
    assert ds[3] == {"id": 3}
    memory.pipe("/replaced/a.jsonl", numbered(LARGE + 1, "id"))
    assert ds[LARGE - 1] == {"id": LARGE - 1}
    memory.pipe("/replaced/a.jsonl", numbered(LARGE + 1, "ix"))
    with pytest.raises(SourceChangedError):
        ds[LARGE // 2]
    memory.pipe("/replaced/a.jsonl", numbered(3))
    with pytest.raises(SourceChangedError, match="shorter"):
        ds[LARGE // 3]


def test_a_fault_of_a_server_is_an_error_of_the_file(site):
    site.files["/a.jsonl"] = numbered(LARGE)
    url = f"{site.url}/a.jsonl"
    ds = headrace.open(url)
    site.cut = True
    with pytest.raises(UnreadableError) as raised:
        list(ds)
    assert str(raised.value).startswith(f"{url}: cannot be read: ")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("{site}/none.jsonl", SourceNotFoundError),
        ("http://127.0.0.1:1/a.jsonl", UnreadableError),
        ("http://no-such-host.invalid/a.jsonl", UnreadableError),
        ("memory://no-such/a.jsonl", SourceNotFoundError),
    ],
)
def test_an_unreachable_server_is_not_reported_as_a_missing_file(site, url, error):
    with pytest.raises(error) as raised:
        headrace.open(url.format(site=site.url)).head(1)
    assert type(raised.value) is error


@pytest.mark.parametrize("end", ["", "/"])
def test_a_directory_of_a_store_is_read_as_a_local_one_is(end):
    import fsspec

    memory = fsspec.filesystem("memory")
    for name, rows in [("b.jsonl", 3), ("a.ndjson", 2), ("_c.jsonl", 1), ("d.txt", 1)]:
        memory.pipe(f"/folder/{name}", numbered(rows))
    memory.pipe("/folder/deeper/e.jsonl", numbered(7))
    memory.pipe("/texts/a.txt", b"")
    ds = headrace.open(f"memory://folder{end}")
    assert [row["id"] for row in ds] == [0, 1, 0, 1, 2]
    with pytest.raises(NotNdjsonError, match="no NDJSON in this directory"):
        headrace.open(f"memory://texts{end}")
    with pytest.raises(SourceNotFoundError):
        headrace.open(f"memory://no-such-folder{end}")


def test_a_server_that_gives_too_much_is_refused(monkeypatch):
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe("/much/a.jsonl", numbered(SMALL))
    ds = headrace.open("memory://much/a.jsonl")
    give = type(memory).cat_file
    monkeypatch.setattr(
        type(memory),
        "cat_file",
        lambda self, path, start, end: give(self, path, start, end) + bytes(1 << 23),
    )
    with pytest.raises(UnreadableError, match="for a request of"):
        ds[-1]
