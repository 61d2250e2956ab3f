"""Partitions: logs below directories.

Logs that belong together are *partitions*, such as one for each symbol of each exchange.
The name of a partition is its path below the named directory, or the last part of its path
if it was named itself.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from headrace.errors import UsageError
from headrace.store.log.names import CONSUMERS, QUARANTINE, is_log


class Partition(NamedTuple):
    """A log, and its name."""

    name: str
    directory: Path


def find_partitions(directories: Iterable[str | os.PathLike[str]]) -> list[Partition]:
    """Return the logs in and below directories, in the order of their names."""
    found = [each for directory in directories for each in _below(Path(directory))]
    if not found:
        raise UsageError("no directory was given; name one with logs")
    names: dict[str, Partition] = {}
    places: dict[str, Partition] = {}
    for each in found:
        place = os.path.realpath(each.directory)
        if place in places:
            raise UsageError(f"{each.directory}: this log is named twice")
        if each.name in names:
            raise UsageError(
                f"{names[each.name].directory} and {each.directory} would both be called "
                f"{each.name!r}; name a directory above them instead"
            )
        names[each.name] = places[place] = each
    return sorted(found, key=lambda each: os.fsencode(each.name))


def has_logs(directory: Path) -> bool:
    """Whether there is a log in a directory or below it."""
    return next(_logs(directory), None) is not None


def _below(directory: Path) -> list[Partition]:
    if not directory.is_dir():
        raise UsageError(f"{directory}: no such directory")
    found = list(_logs(directory))
    if not found:
        raise UsageError(f"{directory}: there is no log in this directory or below it")
    top = directory.resolve().name
    return [
        Partition(
            top if each == directory else each.relative_to(directory).as_posix(), each
        )
        for each in found
    ]


def _logs(directory: Path) -> Iterator[Path]:
    for path, below, _files in os.walk(directory):
        # A log may contain another.
        if is_log(Path(path)):
            yield Path(path)
            below[:] = [each for each in below if each not in (CONSUMERS, QUARANTINE)]
