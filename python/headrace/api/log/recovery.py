"""Recovery of a log: for its owner, and before it is read."""

import os
import warnings

from headrace.api.log.writer import recovery_options
from headrace.errors import (
    HeadraceError,
    HeadraceWarning,
    LogDamagedError,
    LogLockedError,
    SourceNotFoundError,
)
from headrace.store.log.lock import LogLock
from headrace.store.log.names import LogNames, is_log
from headrace.store.log.read.reader import LogReader
from headrace.store.log.recover.indexes import RecoveryOptions
from headrace.store.log.recover.recovery import recover
from headrace.store.log.recover.report import Action, Report


def recover_under_lock(
    names: LogNames, options: RecoveryOptions, lock: LogLock
) -> Report:
    """Recover a log, and return what was done."""
    try:
        _manifest, report = recover(names, lock, options)
    finally:
        lock.release()
    return report


def open_recovered(
    directory: str | os.PathLike[str],
) -> tuple[LogReader | None, list[Action]]:
    """Open a log to read it, and return how it was recovered; None if there is none.

    A log that another process writes, that is read-only, or that is damaged is read as it is.
    """
    names = LogNames(directory)
    if not names.directory.exists():
        return None, []
    names.refuse_what_is_no_log()
    actions: list[Action] = []
    if is_log(names.directory) or names.bases():
        try:
            actions = _recovered(names)
        except LogDamagedError as error:
            return _damaged(names, error), []
    elif names.foreign():
        names.refuse_unless_log()
    try:
        return LogReader(directory), actions
    except SourceNotFoundError:
        return None, actions


def _damaged(names: LogNames, damage: LogDamagedError) -> LogReader:
    """Open a log that cannot be recovered, if any of it can be read."""
    try:
        reader = LogReader(names.directory)
    except HeadraceError:
        raise damage from None
    warnings.warn(
        f"not recovered, and read as far as that can be: {damage}",
        HeadraceWarning,
        stacklevel=3,
    )
    return reader


def _recovered(names: LogNames) -> list[Action]:
    try:
        # Bytes that are no record stay: a reader does not decide about them.
        options = recovery_options("keep")
        return recover_under_lock(names, options, LogLock(names, wait=0)).actions
    except LogLockedError:
        return []
    except OSError as error:
        if isinstance(error, HeadraceError):
            raise
        warnings.warn(
            f"{names.text}: not recovered: {error.strerror}; lines of a writer that "
            "crashed may be missing",
            HeadraceWarning,
            stacklevel=2,
        )
        return []
