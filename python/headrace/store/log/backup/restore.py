"""Restore of a log from its backup: complete, or not at all."""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from headrace.errors import LogLockedError, UsageError
from headrace.kernel.rows import reading
from headrace.store.files import system
from headrace.store.files.atomic import temporary_name, unwritable
from headrace.store.files.directories import make_durable_directories
from headrace.store.log import files
from headrace.store.log import manifest as manifests
from headrace.store.log.backup import manifest
from headrace.store.log.backup.backup import refuse_damaged
from headrace.store.log.backup.manifest import Backup, BackupNames
from headrace.store.log.lock import LogLock
from headrace.store.log.names import LOCK, LogNames


def restore_log(
    directory: str | os.PathLike[str],
    target: str | os.PathLike[str],
    progress: Callable[[int], object] = lambda _bytes: None,
) -> None:
    """Create the log of a backup, in a directory that is empty or does not exist.

    Every file is compared with its checksum before it is copied, and its copy after that.
    """
    names = BackupNames(directory)
    backup = manifest.found(names)
    final = Path(os.path.abspath(target))  # noqa: PTH100, links are to stay as they are
    if os.path.lexists(final) and not (final.is_dir() and not any(final.iterdir())):
        raise UsageError(
            f"{os.fspath(target)}: is not empty; restore to a new directory"
        )
    with unwritable(target, "nothing was restored"):
        make_durable_directories(final.parent)
        _restore(names, backup, final, progress)


def _restore(
    names: BackupNames,
    backup: Backup,
    final: Path,
    progress: Callable[[int], object],
) -> None:
    _remove_leftovers(final)
    log = LogNames(temporary_name(final))
    lock = None
    try:
        system.calls.make_directory(log.directory)
        lock = LogLock(log, wait=0)
        _fill(names, backup, log, progress)
        system.calls.rename(log.directory, final)
    except BaseException:
        system.calls.remove_tree(log.directory)
        raise
    finally:
        if lock is not None:
            lock.release()
    system.calls.sync_directory(final.parent)


def _fill(
    names: BackupNames,
    backup: Backup,
    log: LogNames,
    progress: Callable[[int], object],
) -> None:
    """Copy all files of a backup, and make the log in them durable."""
    done = 0
    for kept in backup.files:
        target = log.directory / kept.name
        refuse_damaged(names.stored(kept), kept)
        _copy(names.stored(kept), kept.bytes, target)
        refuse_damaged(target, kept)
        progress(done := done + kept.bytes)
    files.put_in_place(log.manifest, manifests.encode(backup.manifest))
    system.calls.sync_directory(log.directory)


def _remove_leftovers(final: Path) -> None:
    """Remove the copies of killed processes for the same log: their locks are free."""
    ours = re.compile(re.escape(f".{final.name}.tmp-") + r"[0-9]+-[0-9a-f]{8}")
    for name in filter(ours.fullmatch, system.calls.list_directory(final.parent)):
        path = final.parent / name
        if path.is_symlink() or not path.is_dir():
            continue
        if not (path / LOCK).is_file():
            with suppress(OSError):  # it is not empty, so it is not ours
                system.calls.remove_directory(path)
            continue
        with suppress(LogLockedError):
            lock = LogLock(LogNames(path), wait=0)
            try:
                system.calls.remove_tree(path)
            finally:
                lock.forget()


def _copy(path: Path, size: int, target: Path) -> None:
    with system.closing(system.calls.create(target)) as descriptor:
        with reading(str(path)):
            source = files.open_file(path)
        for offset, length in files.pieces(0, size):
            with reading(str(path)):
                data = source.read_at(offset, length)
            files.write_at(descriptor, data, offset)
        system.calls.sync_data(descriptor)
