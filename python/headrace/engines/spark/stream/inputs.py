"""Inputs of a stream: files, sets of shards, or logs, chosen by the paths."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from headrace.engines.spark.source.options import local_path
from headrace.errors import SourceNotFoundError, UsageError
from headrace.store.files.patterns import matches
from headrace.store.files.source import data_files, is_url
from headrace.store.log.names import is_log
from headrace.store.log.read.find_partitions import has_logs
from headrace.store.shards.names import is_set

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.engines.spark.stream.options import Budget, StreamOptions
    from headrace.physical.fragment import Fragment


class StreamInput(Protocol):
    """An input that is only appended to."""

    kind: ClassVar[str]
    place: ClassVar[type[Any]]

    def earliest(self) -> dict[str, Any]:
        """Return the first positions; sources that begin at their first row are left out."""
        ...

    def latest(self) -> dict[str, Any]:
        """Return the current end positions."""
        ...

    def within(
        self, start: Mapping[str, Any], latest: Mapping[str, Any], budget: Budget
    ) -> dict[str, Any]:
        """Return the end positions of the batch after `start`; raise if `start` is gone."""
        ...

    def fragments(
        self, start: Mapping[str, Any], end: Mapping[str, Any]
    ) -> list[list[Fragment]]:
        """Return the rows between two offsets; repeated calls return the same rows."""
        ...


def stream_input(options: StreamOptions, *, numbered: bool) -> StreamInput:
    """Return the input of a stream; all paths must be of one kind.

    With `numbered`, fragments have the numbers of their first rows.
    """
    paths = [local_path(path) for path in options.read.paths]
    kinds = {path: _kind(path) for path in paths}
    if len(set(kinds.values())) > 1:
        found = ", ".join(f"{path} has {kind}" for path, kind in kinds.items())
        raise UsageError(f"a stream reads one kind of input, but {found}")
    match kinds[paths[0]]:
        case "logs":
            from headrace.engines.spark.stream.logs import LogStream

            return LogStream(paths, options)
        case "sets":
            from headrace.engines.spark.stream.sets import SetStream

            return SetStream(paths, options, numbered=numbered)
        case _:
            from headrace.engines.spark.stream.files import FileStream

            return FileStream(paths, options, numbered=numbered)


def _kind(path: str) -> str:
    if is_url(path):
        raise UsageError(
            f"{path}: a stream cannot read URLs; copy new files to a file system"
        )
    if is_set(Path(path)):
        return "sets"
    if Path(path).is_dir():
        # An empty directory may receive files.
        logs = is_log(Path(path)) or (
            not data_files(Path(path)) and has_logs(Path(path))
        )
        return "logs" if logs else "files"
    if glob.has_magic(path):
        return (
            "logs" if any(is_log(Path(match)) for match in matches(path)) else "files"
        )
    if not Path(path).exists():
        raise SourceNotFoundError(path)
    return "files"
