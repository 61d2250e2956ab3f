"""Remote files: read in ranges through fsspec."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, BinaryIO, NamedTuple

from headrace.errors import (
    HeadraceError,
    MissingExtraError,
    RemoteDirectoryError,
    SourceChangedError,
    SourceNotFoundError,
    UnreadableError,
)
from headrace.kernel.rows import File

AHEAD_BYTES = 4 << 20
"""A request for this many bytes takes about as long as a request for one."""

_GONE = (404, 410)
"""The status codes of a web server for a file that does not exist."""


def has_magic(url: str) -> bool:
    """Whether a URL is a pattern."""
    return any(sign in url for sign in "*?[")


@contextmanager
def asking(url: str) -> Iterator[None]:
    """Raise any error of a store or its package about a URL as a `HeadraceError`."""
    try:
        yield
    except HeadraceError:
        raise
    except Exception as error:
        if (cause := _not_found(error)) is not None:
            raise UnreadableError(url, message(cause)) from error
        raise SourceNotFoundError(url) from None


def _not_found(error: BaseException) -> BaseException | None:
    """Return None if a file does not exist, otherwise the error that prevents reading it.

    The package for HTTP reports every failure as a missing file.
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


def message(error: BaseException) -> str:
    """Return the message of a store, on one line."""
    return " ".join(str(error).split()) or type(error).__name__


def find(url: str) -> list[str]:
    """Return the URLs that `url` names: itself, or the matches of its pattern."""
    if not has_magic(url):
        return [url]
    filesystem, path = filesystem_of(url)
    with asking(url):
        found = sorted(filesystem.glob(path))
    if not found:
        raise SourceNotFoundError(url)
    return [filesystem.unstrip_protocol(match) for match in found]


class State(NamedTuple):
    """The state of a remote file. `size` is None, and times are 0, where the store gives none.

    `version` combines everything by which the store tells one content from another: an entity
    tag, a version number, times.
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
        # Some packages answer from a cached listing.
        filesystem.invalidate_cache(path)
        info = filesystem.info(path)
    if info.get("type") == "directory":
        raise RemoteDirectoryError(
            url,
            "it is a directory; give a pattern, or for a set of shards its name with a /",
        )
    if info.get("type") != "file":
        raise UnreadableError(url, "it is not a file")
    changed = info.get("mtime") or info.get("LastModified") or info.get("created")
    timestamp = getattr(changed, "timestamp", None)
    seconds = timestamp() if timestamp else changed
    versions = repr([(name, info[name]) for name in _VERSION_FIELDS if info.get(name)])
    version = int.from_bytes(blake2b(versions.encode(), digest_size=7).digest())
    size = info.get("size")
    return State(
        None if size is None else int(size), int((seconds or 0) * 1e9), version
    )


def open_file(url: str, known: State | None = None) -> File:
    """Open a remote file for reading by position; `known` is its present state, if the caller has it."""
    ranges = _Ranges(url, known)
    return File.remote(ranges.read_at, ranges.stat)


class _Ranges:
    """Ranges of one remote file. A read that begins where the last one ended reads ahead."""

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
        """Return size, time of change and version after the last request."""
        if not self._is_current:
            # Read before the request: another thread may fetch another block meanwhile.
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
            # One assignment, so that other threads see a block with its own start.
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
            )  # the whole file: servers may ignore the range of a request
        reason = (
            f"the server returned {len(block)} bytes for a request of {end - start}; "
            "copy the file first"
        )
        raise UnreadableError(self._url, reason)


def is_web(url: str) -> bool:
    """Whether a URL belongs to a web server, which may not support ranges."""
    return url.lower().startswith(("http://", "https://"))


def gives_ranges(url: str, size: int | None) -> bool:
    """Whether the server supports ranges; not checked for a file that one request reads."""
    if not is_web(url):
        return True
    if size is None:
        return False
    if size <= AHEAD_BYTES:
        return True
    with asking(url), _stream(url, Range="bytes=0-0") as first:
        return len(first.read(2)) == 1


class Stream:
    """The bytes of a remote file from its start; the request is made for the first byte.

    They come from one response of the server, which must match the `known` state.
    """

    def __init__(self, url: str, known: State) -> None:
        self.url = url
        self._known = known
        self._file: BinaryIO | None = None

    def again(self) -> "Stream":
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
    """Return the fsspec file system of a URL, and the path in it."""
    try:
        import fsspec
    except ModuleNotFoundError as error:
        raise MissingExtraError("remote", "fsspec") from error
    try:
        filesystem, path = fsspec.core.url_to_fs(url)
    except ValueError as error:
        raise UnreadableError(url, str(error)) from error
    except ImportError as error:
        raise UnreadableError(url, f"{error}; install that package") from error
    return filesystem, path
