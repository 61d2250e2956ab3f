"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO


def write_atomically(path: Path, content: Iterable[bytes]) -> None:
    """Replace `path` by the pieces of `content` in one instant, durably."""
    with replacing(path) as file:
        file.writelines(content)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Give a file that takes the place of `path` when the block ends without error.

    It stands beside `path` until then, so several writers at once do not meet, and
    whoever reads sees an old or a new file, never a part.
    """
    temporary = path.with_name(f".{path.name}.tmp-{os.getpid()}-{os.urandom(4).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with _naming(path, temporary):
        descriptor = os.open(temporary, flags, 0o666)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(descriptor)
            temporary.replace(path)
        except BaseException:
            with suppress(FileNotFoundError):
                temporary.unlink()
            raise
        _sync_directory(path.parent)


@contextmanager
def _naming(path: Path, temporary: Path) -> Iterator[None]:
    """Say of which file an error is, for a full disk says nothing and others too much."""
    try:
        yield
    except HeadraceError:
        raise
    except OSError as error:
        if error.filename in {None, os.fspath(temporary)}:
            error.filename = os.fspath(path)
        raise


def destination(path: str | os.PathLike[str]) -> Path:
    """Return the file that writing to `path` replaces: behind links, and no device.

    What is replaced is a name in a directory. For a pipe or a device that would be
    its end, so those are refused.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        what = "a directory" if target.is_dir() else "not a regular file"
        raise UsageError(f"{os.fspath(path)}: is {what}; name a file to write")
    return target


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
