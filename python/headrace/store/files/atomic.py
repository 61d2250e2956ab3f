"""Atomic files: a temporary name, fsync, rename; readers see a whole file or none."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import stat
import time
from contextlib import AbstractContextManager, contextmanager, suppress
from io import BufferedWriter, FileIO, RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from headrace.errors import (
    HeadraceError,
    SourceNotFoundError,
    UnwritableError,
    UsageError,
)
from headrace.store.files import system

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from typing_extensions import Buffer

NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)
"""The errors of a file system without hard links."""

_BACKUP_MARK = "user.headrace.backup"
"""The extended attribute of a backup that headrace made."""


def write_atomically(path: Path, content: Iterable[bytes]) -> None:
    """Replace `path` by the pieces of `content` atomically and durably."""
    with replacing(path) as file:
        file.writelines(content)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that replaces `path` when the block ends without error."""
    with in_place_of(path) as new, BufferedWriter(_Appender(new)) as file:
        yield file


@contextmanager
def in_place_of(path: Path) -> Iterator[NewFile]:
    """Yield a new file that replaces `path`, to be written through its temporary name."""
    remove_abandoned(path)
    with naming(path):
        new = NewFile(path)
        try:
            yield new
            new.finish()
        except BaseException:
            new.discard()
            raise
        system.calls.sync_directory(path.parent)


class NewFile:
    """A file under a temporary name, which is renamed to `path` when it is finished.

    The temporary name is in the same directory and unique, so concurrent writers do not collide,
    and a reader sees the old or the new file, never a part. Appended bytes are written
    immediately. The caller makes the directory durable.
    """

    def __init__(self, path: Path, like: Path | None = None) -> None:
        self.path = path
        self.temporary = temporary_name(path)
        self.size = 0
        # An object, so that an interrupt cannot leave it open: it is closed when it is collected.
        self._file = FileIO(self.temporary, "x", opener=_created)
        try:
            with suppress(OSError):  # not every file system has locks
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._be_like(like or path)
        except BaseException:
            self.discard()
            raise

    def _be_like(self, path: Path) -> None:
        """Copy the permissions of `path`, and its owner if this process may."""
        with suppress(OSError):
            known = path.stat()
            os.fchmod(self.descriptor, stat.S_IMODE(known.st_mode))
            os.fchown(self.descriptor, known.st_uid, known.st_gid)

    def rest(self) -> None:
        """Close the file, which is opened again when it is needed."""
        self._file.close()

    @property
    def descriptor(self) -> int:
        """The descriptor of the open file."""
        if self._file.closed:
            follow_none = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
            opener = system.opener(follow_none)
            self._file = FileIO(self.temporary, "a", opener=opener)
        return self._file.fileno()

    def append(self, data: bytes) -> None:
        """Append all of `data`; `size` counts the bytes on disk."""
        rest = memoryview(data)
        while rest:
            rest = rest[self.append_some(rest) :]

    def append_some(self, data: memoryview) -> int:
        """Write a part of `data` behind what is there; return its length."""
        written = system.calls.write(self.descriptor, data)
        self.size += written
        return written

    def finish(self) -> None:
        """Make it durable and rename it."""
        try:
            system.calls.sync(self.descriptor)
        finally:
            self._file.close()
        system.calls.rename(self.temporary, self.path)

    def discard(self) -> None:
        """Remove it, unless it was renamed."""
        self._file.close()
        with suppress(FileNotFoundError):
            system.calls.unlink(self.temporary)


class _Appender(RawIOBase):
    """A new file, for a buffer to write to."""

    def __init__(self, new: NewFile) -> None:
        super().__init__()
        self._new = new

    def writable(self) -> bool:
        """Report that it can be written."""
        return True

    def fileno(self) -> int:
        """Return the descriptor of the file."""
        return self._new.descriptor

    def write(self, data: Buffer) -> int:
        """Write a part of `data`; return its length."""
        return self._new.append_some(memoryview(data))


def temporary_name(path: Path) -> Path:
    """Return a unique temporary name in the directory of `path`."""
    return path.with_name(f".{path.name}.tmp-{os.getpid()}-{os.urandom(4).hex()}")


_LEFT_SECONDS = 600.0
"""Seconds within which the writer of a temporary file has locked it."""


def remove_abandoned(path: Path, *beside: Path) -> None:
    """Remove temporary files of `path`, and of others `beside` it, whose writers were killed.

    Other processes may write the same files: a writer has its temporary file locked, and
    the lock ends with its process.
    """
    temporary = r"\.tmp-[0-9]+-[0-9a-f]{8}"
    name = "|".join(re.escape(each.name) for each in (path, *beside))
    ours = re.compile(rf"\.({name}){temporary}|\.\.({name}){temporary}{temporary}")
    with suppress(OSError):
        for each in system.calls.list_directory(path.parent):
            if ours.fullmatch(each):
                with suppress(OSError):
                    _remove_unless_locked(path.with_name(each))


def _remove_unless_locked(path: Path) -> None:
    found = path.lstat()
    # A second name, as a backup has it at first, is younger than the content.
    changed = found.st_mtime if found.st_nlink == 1 else found.st_ctime
    if not stat.S_ISREG(found.st_mode) or time.time() - changed < _LEFT_SECONDS:
        return
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        system.calls.unlink(path)


def remove_temporary(path: Path) -> None:
    """Remove temporary files of `path` that killed writers left; no other writer may be active."""
    ours = re.compile(re.escape(f".{path.name}.tmp-") + r"[0-9]+-[0-9a-f]{8}")
    for name in filter(ours.fullmatch, system.calls.list_directory(path.parent)):
        other = path.with_name(name)
        if other.is_dir() and not other.is_symlink():
            system.calls.remove_tree(other)
        else:
            system.unlink_if_exists(other)


def _created(path: str, _flags: int) -> int:
    return system.calls.create(Path(path))


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Raise the error of a write with the name of its file, which a full disk does not give."""
    try:
        yield
    except HeadraceError:
        raise
    except OSError as error:
        ours = os.fspath(path.with_name(f".{path.name}.tmp-"))
        if error.filename is None or str(error.filename).startswith(ours):
            error.filename = os.fspath(path)
        raise


def destination(path: str | os.PathLike[str]) -> Path:
    """Return the file that writing to `path` replaces, after following links.

    A rename would destroy a pipe or a device, so those are refused.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        what = "a directory" if target.is_dir() else "not a regular file"
        raise UsageError(f"{os.fspath(path)}: is {what}; name a file to write")
    if not target.parent.is_dir():
        reason = "there is no such directory"
        missing = UnwritableError(os.fspath(path), reason, "create it first")
        missing.errno = errno.ENOENT
        raise missing
    return target


def replace_file(
    tmp: str | os.PathLike[str],
    final: str | os.PathLike[str],
    *,
    keep_backup: bool = False,
) -> None:
    """Replace `final` by the finished file `tmp`, atomically and durably.

    If `final` exists, there is a file of this name at every moment. With `keep_backup`, the old
    file stays as ``FINAL.bak``; a file of that name that is not a backup of headrace is never
    touched. If `tmp` is on another file system, it is copied, and removed at the end.
    """
    source, target = Path(tmp), destination(final)
    _refuse_unless_file(source, target)
    backup = target.with_name(target.name + ".bak")
    remove_abandoned(target, backup)
    with unwritable_whole(target), naming(target):
        _sync(source)
        if keep_backup:
            _back_up(target, backup)
        if target.exists() and source.samefile(target):
            system.calls.unlink(
                source
            )  # renaming a file to another of its names keeps both
        else:
            _move(source, target)
        system.calls.sync_directory(target.parent)


@contextmanager
def unwritable(
    path: str | os.PathLike[str],
    left: str | Callable[[], str],
    *,
    or_named: bool = False,
) -> Iterator[None]:
    """Raise an error of the operating system as `UnwritableError`; `left` says what is there now.

    It is about `path`, or with `or_named` about the file that the system names, if it names one.
    """
    try:
        yield
    except HeadraceError:
        raise
    except OSError as error:
        where = (error.filename if or_named else None) or path
        there = left if isinstance(left, str) else left()
        made = UnwritableError(os.fspath(where), error.strerror or str(error), there)
        made.errno = error.errno
        raise made from error


def unwritable_whole(target: Path) -> AbstractContextManager[None]:
    """Raise `UnwritableError` where the system refuses to write a file as a whole."""
    left = f"{target.name} is whole, either what it was or what is new"
    return unwritable(target, left, or_named=True)


def _refuse_unless_file(source: Path, target: Path) -> None:
    try:
        mode = source.lstat().st_mode
    except FileNotFoundError:
        # Another process may have written `target` meanwhile: do not report success.
        raise SourceNotFoundError(os.fspath(source)) from None
    if not stat.S_ISREG(mode):
        raise UsageError(
            f"{source}: not a regular file; only a regular file can be moved"
        )
    if os.path.realpath(source) == os.fspath(target):
        raise UsageError(f"{source}: is the file it is to replace; write another first")


def _sync(path: Path) -> None:
    with system.closing(
        system.calls.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    ) as descriptor:
        system.calls.sync(descriptor)


def _move(source: Path, target: Path) -> None:
    try:
        system.calls.rename(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy(source, target)
        system.calls.unlink(source)


def _copy(source: Path, target: Path, *, mark: bool = False) -> None:
    """Replace `target` by a copy of `source`, durably."""
    new = NewFile(target)
    try:
        with source.open("rb") as file:
            while data := file.read(1 << 20):
                new.append(data)
        shutil.copymode(source, new.temporary)
        if mark:
            _mark(new.temporary)
        new.finish()
    except BaseException:
        new.discard()
        raise


def _back_up(target: Path, backup: Path) -> None:
    """Give the existing file a second name, marked before it is called a backup."""
    if not target.exists():
        return
    if os.path.lexists(backup) and not _is_marked(backup):
        raise UsageError(
            f"{backup}: exists, and is not a backup that headrace made; "
            "move it away, or keep no backup"
        )
    link = temporary_name(backup)
    try:
        system.calls.link(target, link)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        _copy(target, backup, mark=True)
        return
    try:
        _mark(link)
        system.calls.rename(link, backup)
    finally:
        # It still exists if both were names of one file.
        system.unlink_if_exists(link)


def _mark(backup: Path) -> None:
    # A file without the mark, also on file systems without attributes, is not ours to replace.
    if hasattr(os, "setxattr"):
        with suppress(OSError):
            os.setxattr(backup, _BACKUP_MARK, b"1")


def _is_marked(backup: Path) -> bool:
    if not hasattr(os, "getxattr") or backup.is_symlink():
        return False
    with suppress(OSError):
        return os.getxattr(backup, _BACKUP_MARK) == b"1"
    return False
