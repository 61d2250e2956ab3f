"""Directories of an object store, through fsspec: listed, and written without replacing.

An object store has no lock and no rename. What it has is *create if absent*: of several
who write one name, one succeeds, and the others are told. Everything that is decided
here is decided by that.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError, UnreadableError, UnwritableError
from headrace.store.remote import filesystem_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class ObjectDirectory:
    """What begins with a URL."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._filesystem, self._root = filesystem_of(self.url)

    def at(self, name: str) -> str:
        """Return the URL of something in it."""
        return f"{self.url}/{name}"

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def names(self) -> list[str]:
        """List the names of what is in it, also of what somebody else has just written."""
        self._filesystem.invalidate_cache()
        try:
            found = self._filesystem.ls(self._root, detail=False)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UnreadableError(self.url, str(error)) from error
        return [path.rstrip("/").rpartition("/")[2] for path in found]

    def content(self, name: str, longest: int) -> bytes | None:
        """Return the first `longest` bytes of a file; None if it is not there."""
        try:
            content: bytes = self._filesystem.cat_file(
                self._path(name), start=0, end=longest
            )
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UnreadableError(self.at(name), str(error)) from error
        return content

    def create(self, name: str, content: bytes) -> bool:
        """Write a file that must not be there; false if it is."""
        with self._writing(name):
            try:
                self._filesystem.pipe_file(self._path(name), content, mode="create")
            except FileExistsError:
                return False
        return True

    def upload(self, source: Path, name: str, size: int) -> None:
        """Write a file whose name is ours alone, and see that all of it came."""
        with self._writing(name):
            self._filesystem.put_file(str(source), self._path(name))
            self._filesystem.invalidate_cache()
            found = self._filesystem.info(self._path(name))["size"]
        if found != size:
            reason = f"{size} bytes were sent, but {found} are there"
            raise UnwritableError(self.at(name), reason, "nothing was committed")

    def remove(self, name: str) -> None:
        """Remove a file, if that can be done."""
        with suppress(OSError):
            self._filesystem.rm_file(self._path(name))

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        try:
            if "file" in self._filesystem.protocol:
                # Only a file system has directories that must be there.
                parent = self._path(name).rpartition("/")[0]
                self._filesystem.makedirs(parent, exist_ok=True)
            yield
        except (HeadraceError, FileExistsError):
            raise
        # Each store has errors of its own for what it does not know or allow.
        except (OSError, TypeError, ValueError, NotImplementedError) as error:
            reason, left = str(error) or type(error).__name__, "nothing was committed"
            raise UnwritableError(self.at(name), reason, left) from error
