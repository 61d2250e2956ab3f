"""Files behind a URL, read in ranges through fsspec."""

from __future__ import annotations

import re
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from headrace.errors import (
    HeadraceError,
    MissingExtraError,
    RemoteDirectoryError,
    SourceChangedError,
    SourceNotFoundError,
    UnreadableError,
)
from headrace.kernel.rows import File

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

AHEAD_BYTES = 4 << 20
"""A request takes about as long for this much as for one byte."""

_GONE = (404, 410)
"""How a web server says that a file is not there."""

_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def is_url(location: str) -> bool:
    """Tell a URL from a path.

    >>> is_url("s3://bucket/app.jsonl"), is_url("logs/app.jsonl")
    (True, False)
    """
    return _URL.match(location) is not None


def has_magic(url: str) -> bool:
    """Whether a URL is a pattern."""
    return any(sign in url for sign in "*?[")


@contextmanager
def asking(url: str) -> Iterator[None]:
    """Raise whatever a store or its package says of a URL as an error of ours."""
    try:
        yield
    except HeadraceError:
        raise
    except Exception as error:
        if (cause := _not_found(error)) is not None:
            raise UnreadableError(url, said(cause)) from error
        raise SourceNotFoundError(url) from None


def _not_found(error: BaseException) -> BaseException | None:
    """Return None if a file is not there, else what keeps it from being read.

    The package for the web calls every failure a file that is not there.
    """
    if not isinstance(error, FileNotFoundError):
        return error
    cause = error.__cause__
    if isinstance(cause, FileNotFoundError):
        return _not_found(cause)
    if getattr(cause, "status", None) in _GONE:
        return None
    failed = isinstance(cause, OSError | TimeoutError)
    return cause if failed or type(cause).__module__.startswith("aiohttp") else None


def said(error: BaseException) -> str:
    """Return what a store says, on one line."""
    return " ".join(str(error).split()) or type(error).__name__


def find(url: str) -> list[str]:
    """Return the URLs that `url` names: itself, or what its pattern matches."""
    if not has_magic(url):
        return [url]
    filesystem, path = filesystem_of(url)
    with asking(url):
        found = sorted(filesystem.glob(path))
    if not found:
        raise SourceNotFoundError(url)
    return [filesystem.unstrip_protocol(match) for match in found]


class State(NamedTuple):
    """What a store says of a file. `size` is None, and times are 0, where it does not say.

    `version` stands for everything by which the store tells one content from another:
    an entity tag, a number of the version, times.
    """

    size: int | None
    mtime_ns: int
    version: int


_VERSION_FIELDS = (
    "ETag", "etag", "VersionId", "generation", "Last-Modified", "LastModified", "last_modified",
    "mtime", "created", "md5Hash", "content_md5", "Content-MD5", "Digest", "ino",
)  # fmt: skip


def state(url: str) -> State:
    """Return the state of a remote file."""
    filesystem, path = filesystem_of(url)
    with asking(url):
        # Some packages answer from what they remember of a listing.
        filesystem.invalidate_cache(path)
        info = filesystem.info(path)
    if info.get("type") == "directory":
        raise RemoteDirectoryError(
            url,
            "it is a directory; give a pattern, or of a set of shards its name with a /",
        )
    if info.get("type") != "file":
        raise UnreadableError(url, "it is not a file")
    changed = info.get("mtime") or info.get("LastModified") or info.get("created")
    timestamp = getattr(changed, "timestamp", None)
    seconds = timestamp() if timestamp else changed
    said = repr([(name, info[name]) for name in _VERSION_FIELDS if info.get(name)])
    version = int.from_bytes(blake2b(said.encode(), digest_size=7).digest())
    size = info.get("size")
    return State(
        None if size is None else int(size), int((seconds or 0) * 1e9), version
    )


def open_file(url: str, known: State | None = None) -> File:
    """Open a remote file for reading by position; `known` is its state as it was just now."""
    ranges = _Ranges(url, known)
    return File.remote(ranges.read_at, ranges.stat)


class _Ranges:
    """Ranges of one remote file. Reading on where the last read ended reads ahead."""

    def __init__(self, url: str, known: State | None) -> None:
        self._url = url
        self._filesystem, self._path = filesystem_of(url)
        self._last = (0, b"")
        self._state = self._asked(known)
        self._is_current = True

    def _asked(self, known: State | None = None) -> tuple[int, int, int]:
        now = known or state(self._url)
        size, mtime_ns, version = now
        if size is None:
            raise UnreadableError(self._url, "it is not a file of known size")
        return size, mtime_ns, version

    def stat(self) -> tuple[int, int, int]:
        """Return size, time of change and version, as they were after the last request."""
        if not self._is_current:
            # Before the request: what another thread fetches meanwhile needs another one.
            self._is_current = True
            try:
                self._state = self._asked()
            except BaseException:
                self._is_current = False
                raise
        return self._state

    def read_at(self, offset: int, length: int) -> bytes:
        start, block = self._last
        end = start + len(block)
        if not start <= offset < end:
            if offset >= self._state[0]:
                return b""
            ahead = AHEAD_BYTES if offset == end else 0
            start, end = offset, offset + max(length, ahead)
            start, block = self._fetched(start, end)
            # One assignment, so that threads see a block with its own start.
            self._last = (start, block)
        return block[offset - start : offset - start + length]

    def _fetched(self, start: int, end: int) -> tuple[int, bytes]:
        with asking(self._url):
            block: bytes = self._filesystem.cat_file(self._path, start=start, end=end)
        self._is_current = False
        if len(block) <= end - start:
            return start, block
        if len(block) == self._state[0]:
            return (
                0,
                block,
            )  # the whole file: servers may ignore that a part was asked for
        reason = (
            f"the server gives {len(block)} bytes where {end - start} were asked for; "
            "copy the file first"
        )
        raise UnreadableError(self._url, reason)


def is_web(url: str) -> bool:
    """Whether a URL is of a web server, which may give files only from their start."""
    return url.lower().startswith(("http://", "https://"))


def gives_ranges(url: str, size: int | None) -> bool:
    """Whether parts of a file can be had; what is read at once anyway is never asked."""
    if not is_web(url):
        return True
    if size is None:
        return False
    if size <= AHEAD_BYTES:
        return True
    with asking(url), _stream(url, Range="bytes=0-0") as first:
        return len(first.read(2)) == 1


class Stream:
    """The bytes of a remote file from its start; nothing is asked before the first.

    They are of one answer of the server, which is that of the `known` state or an error.
    """

    def __init__(self, url: str, known: State) -> None:
        self.url = url
        self._known = known
        self._file: BinaryIO | None = None

    def again(self) -> Stream:
        """Return the same bytes from the start."""
        return Stream(self.url, self._known)

    def read(self, size: int, /) -> bytes:
        """Return some bytes, at most `size`, none at the end."""
        with asking(self.url):
            if self._file is None:
                self._file = _stream(self.url)
                if state(self.url) != self._known:
                    reason = "the file was changed since it was opened"
                    raise SourceChangedError(self.url, 0, reason)
            return self._file.read(size)


def _stream(url: str, **headers: str) -> BinaryIO:
    filesystem, path = filesystem_of(url)
    known = filesystem.kwargs.get("headers", {})
    wanted = {**known, "Accept-Encoding": "identity", **headers}
    stream: BinaryIO = filesystem.open(path, block_size=0, headers=wanted)
    return stream


def filesystem_of(url: str) -> tuple[Any, str]:
    """Return what fsspec has for a URL, and the path that it has there."""
    try:
        filesystem, path = _fsspec().core.url_to_fs(url)
    except ValueError as error:
        raise UnreadableError(url, str(error)) from error
    except ImportError as error:
        raise UnreadableError(url, f"{error}; install that package") from error
    return filesystem, path


def _fsspec() -> ModuleType:
    try:
        import fsspec
    except ModuleNotFoundError as error:
        raise MissingExtraError("remote", "fsspec") from error
    module: ModuleType = fsspec
    return module
