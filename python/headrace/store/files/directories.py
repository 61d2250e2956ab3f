"""Directories: create those that are missing, remove those that are empty."""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from headrace.store.files import system

T = TypeVar("T")

_TRIES = 100
"""Limit on attempts to use a directory that vanishes meanwhile."""


def make_directories(directory: Path, made: list[Path]) -> None:
    """Create `directory` and those above it; append the created ones to `made`."""
    for each in _missing(directory):
        # Appended first: an interrupt must not leave one that the caller never removes.
        made.append(each)
        try:
            system.calls.make_directory(each)
        except FileExistsError:
            made.pop()


def use_directory(directory: Path, made: list[Path], use: Callable[[], T]) -> T:
    """Create a directory and use it; again, if another process removes it meanwhile.

    A writer that fails removes the directories that it made.
    """
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):
            make_directories(directory, made)
            return use()
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(directory))


def make_durable_directories(directory: Path) -> None:
    """Create `directory` and those above it, and make their names durable."""
    # Not resolved: links stay as they are.
    for each in _missing(Path(os.path.abspath(directory))):  # noqa: PTH100
        with suppress(FileExistsError):
            system.calls.make_directory(each)
        system.calls.sync_directory(each.parent)


def _missing(directory: Path) -> list[Path]:
    """List the directories to create, the outermost first."""
    missing = []
    while not directory.exists():
        missing.append(directory)
        directory = directory.parent
    return missing[::-1]


def remove_directories(made: list[Path]) -> None:
    """Remove directories that were created, the innermost first; those in use stay."""
    while made:
        with suppress(OSError):
            system.calls.remove_directory(made[-1])
        made.pop()
