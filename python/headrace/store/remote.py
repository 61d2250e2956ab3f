"""Files behind a URL, read in ranges through fsspec."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol

from headrace.errors import MissingExtraError, SourceNotFoundError, UnreadableError
from headrace.kernel.rows import File

if TYPE_CHECKING:
    from types import ModuleType

AHEAD_BYTES = 4 << 20
"""A request takes about as long for this much as for one byte."""

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


def find(url: str) -> list[str]:
    """Return the URLs that `url` names: itself, or what its pattern matches."""
    if not has_magic(url):
        return [url]
    filesystem, path = filesystem_of(url)
    found = sorted(filesystem.glob(path))
    if not found:
        raise SourceNotFoundError(url)
    return [filesystem.unstrip_protocol(match) for match in found]


def stat(url: str) -> tuple[int, int]:
    """Return size and time of change (in nanoseconds, 0 if unknown) of a remote file."""
    filesystem, path = filesystem_of(url)
    try:
        info = filesystem.info(path)
    except FileNotFoundError:
        raise SourceNotFoundError(url) from None
    except OSError as error:
        raise UnreadableError(url, str(error)) from error
    if info.get("type") == "directory":
        raise UnreadableError(
            url,
            "it is a directory; give a pattern, or of a set of shards its name with a /",
        )
    if info.get("type") != "file" or info.get("size") is None:
        raise UnreadableError(url, "it is not a file of known size")
    changed = info.get("mtime") or info.get("LastModified") or info.get("created")
    timestamp = getattr(changed, "timestamp", None)
    seconds = timestamp() if timestamp else changed
    return int(info["size"]), int((seconds or 0) * 1e9)


def open_file(url: str) -> File:
    """Open a remote file for reading by position."""
    size, mtime_ns = stat(url)
    return File.remote(_Ranges(*filesystem_of(url)).read_at, size, mtime_ns)


class _Filesystem(Protocol):
    def cat_file(self, path: str, *, start: int, end: int) -> bytes: ...


class _Ranges:
    """Ranges of one remote file. Reading on where the last read ended reads ahead."""

    def __init__(self, filesystem: _Filesystem, path: str) -> None:
        self._filesystem = filesystem
        self._path = path
        self._last = (0, b"")

    def read_at(self, offset: int, length: int) -> bytes:
        start, block = self._last
        end = start + len(block)
        if not start <= offset < end:
            ahead = AHEAD_BYTES if offset == end else 0
            start, end = offset, offset + max(length, ahead)
            block = self._filesystem.cat_file(self._path, start=start, end=end)
            # One assignment, so that threads see a block with its own start.
            self._last = (start, block)
        return block[offset - start : offset - start + length]


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
