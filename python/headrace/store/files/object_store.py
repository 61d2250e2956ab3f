"""Directories of an object store, through fsspec: listed, and written without replacing.

An object store has no lock and no rename. It has *create if absent*: of several writers of one
name, one succeeds, and the others get an error. Every decision here rests on that.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headrace.errors import HeadraceError, UnreadableError, UnwritableError
from headrace.store.files.remote import filesystem_of

NOTHING = "nothing was committed"

BLANK = b"\n"
"""The content of a file of which only the name matters: stores refuse to read an empty range."""

_REFUSED = (PermissionError, TypeError, ValueError, NotImplementedError)
"""The errors with which stores and their packages refuse a request, whatever exists there."""


class ObjectDirectory:
    """All objects whose URLs begin with a URL."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._filesystem, self._root = filesystem_of(self.url)

    def at(self, name: str) -> str:
        """Return the URL of a name in it."""
        return f"{self.url}/{name}"

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def names(self) -> list[str]:
        """List the names in it, without a cache, so also names that were just written."""
        return [name for name, _kind in self._listed()]

    def files(self) -> list[str]:
        """List the names of the files in it, without directories."""
        return [name for name, kind in self._listed() if kind == "file"]

    def _listed(self) -> list[tuple[str, str]]:
        try:
            with self._reading(self.url):
                self._filesystem.invalidate_cache()
                found = self._filesystem.ls(self._root, detail=True)
        except FileNotFoundError:
            return []
        return [
            (each["name"].rstrip("/").rpartition("/")[2], each["type"])
            for each in found
        ]

    def sizes(self, below: str) -> dict[str, int]:
        """Return the names of all files below a directory in it, however deep, and their sizes."""
        try:
            with self._reading(self.at(below)):
                self._filesystem.invalidate_cache()
                found = self._filesystem.find(self._path(below), detail=True)
        except FileNotFoundError:
            return {}
        before = len(self._path(below)) - len(below)
        return {path[before:]: int(info["size"]) for path, info in found.items()}

    def content(self, name: str, longest: int) -> bytes | None:
        """Return the first `longest` bytes of a file; None if it does not exist."""
        try:
            with self._reading(self.at(name)):
                content: bytes = self._filesystem.cat_file(
                    self._path(name), start=0, end=longest
                )
        except FileNotFoundError:
            return None
        return content

    def modified(self, name: str) -> float:
        """Return when a file was written, in seconds since 1970."""
        with self._reading(self.at(name)):
            changed: float = self._filesystem.modified(self._path(name)).timestamp()
        return changed

    def create(self, name: str, content: bytes) -> bool:
        """Write a file that must not exist; false if it does."""
        with self._writing(name):
            try:
                self._filesystem.pipe_file(self._path(name), content, mode="create")
            except FileExistsError:
                return False
            except _REFUSED:
                raise
            except Exception:
                # Not every package distinguishes a failed condition from other errors.
                if self.content(name, 1) is None:
                    raise
                return False
        return True

    def refuse_unless_creating(self, probe: str) -> None:
        """Raise unless the store creates a file only if it is not there.

        Some stores ignore the condition and write. The empty file `probe` stays, so that the next
        check is immediate.
        """
        if self.create(probe, BLANK) and self.create(probe, BLANK):
            self.remove(probe)
            reason = (
                "this store cannot create a file only if it is not there, so two "
                "writers could destroy each other's sets; write to a file system, and "
                "copy the set by other means"
            )
            raise UnwritableError(self.at(probe), reason, NOTHING)

    def upload(self, source: Path, name: str, size: int) -> None:
        """Write a file with a unique name, and check its size."""
        with self._writing(name):
            self._filesystem.put_file(str(source), self._path(name))
            self._filesystem.invalidate_cache()
            found = self._filesystem.info(self._path(name))["size"]
        if found != size:
            reason = f"{size} bytes were sent, but {found} are there"
            raise UnwritableError(self.at(name), reason, NOTHING)

    def blank(self, name: str) -> None:
        """Empty a file and keep its name, so that no writer can create it."""
        with self._writing(name):
            self._filesystem.pipe_file(self._path(name), BLANK)

    def remove(self, name: str) -> None:
        """Remove a file if possible."""
        # Each store has its own errors.
        with suppress(Exception):
            self._filesystem.rm_file(self._path(name))

    @contextmanager
    def _reading(self, url: str) -> Iterator[None]:
        try:
            yield
        except (HeadraceError, FileNotFoundError):
            raise
        except Exception as error:
            raise UnreadableError(url, _reason_of(error)) from error

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        try:
            if "file" in self._filesystem.protocol:
                # Only a file system has directories that must exist.
                parent = self._path(name).rpartition("/")[0]
                self._filesystem.makedirs(parent, exist_ok=True)
            yield
        except (HeadraceError, FileExistsError):
            raise
        except Exception as error:
            raise UnwritableError(self.at(name), _reason_of(error), NOTHING) from error


def _reason_of(error: Exception) -> str:
    """Return the message of a store, with advice; each store has its own errors."""
    message = str(error) or type(error).__name__
    match error:
        case PermissionError():
            return (
                f"{message} (these credentials may not; a writer lists, reads, creates and "
                "removes files below it)"
            )
        case FileNotFoundError():
            return f"{message} (is there such a bucket?)"
        case TypeError() | ValueError() | NotImplementedError():
            return f"{message} (a newer version of the package for this store may know how)"
        case _:
            return message
