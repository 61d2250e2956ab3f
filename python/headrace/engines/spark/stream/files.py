"""Files as a stream: lines appended to files, and new files.

A position is the byte after the last line that was read; an unterminated last line is not read
yet. Bytes that were read must not change, so a position has hashes of the first and the last
bytes before it. A compressed file is read in full once it is complete, and must not change
after that. Files are read in the order of their names.
"""

import glob
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import ClassVar

from headrace.engines.rows.fragment import count_rows_of
from headrace.engines.spark.source.partitions import numbered_rows
from headrace.engines.spark.stream.offset import FilePlace
from headrace.engines.spark.stream.options import Budget, Spending, StreamOptions
from headrace.errors import (
    DamagedSourceError,
    HeadraceWarning,
    SourceNotFoundError,
    StreamLossError,
    StreamReplacedError,
    UsageError,
)
from headrace.kernel.rows import File, line_end, reading
from headrace.physical.fragment import Fragment, fragments
from headrace.store.files.opened import OpenedFile, rows_from
from headrace.store.files.source import Source, data_files, local_file, matching_files


@dataclass(frozen=True, slots=True)
class _Seen:
    """The last known state of a file, and the position up to which it can be read."""

    state: tuple[int, int, int]
    place: FilePlace


class FileStream:
    """The files of paths, directories and globs, including new files."""

    kind: ClassVar[str] = "files"
    place: ClassVar[type[FilePlace]] = FilePlace

    def __init__(
        self, paths: Sequence[str], options: StreamOptions, *, numbered: bool
    ) -> None:
        self._paths = paths
        self._options = options.read
        self._skip = options.skip_lost
        self._numbered = numbered
        self._seen: dict[str, _Seen] = {}
        self._rows: dict[str, tuple[int, int]] = {}
        """For each path, an offset and the number of rows before it."""

    # Available input

    def earliest(self) -> dict[str, FilePlace]:
        """Return nothing: files begin at their first row."""
        return {}

    def latest(self) -> dict[str, FilePlace]:
        """Return the end of the last terminated line of each file."""
        found = {}
        for path in self._found():
            try:
                found[path] = self._look(path)
            except SourceNotFoundError:
                continue  # removed in between
        return found

    def _found(self) -> Iterator[str]:
        """Yield the files that exist, each once, in order."""
        wanted = self._options.name_glob
        named = {os.path.abspath(path) for path in self._named()}  # noqa: PTH100, links stay
        for path in sorted(named):
            if wanted is None or fnmatchcase(Path(path).name, wanted):
                yield path

    def _named(self) -> Iterator[str]:
        for path in self._paths:
            if Path(path).is_dir():
                yield from data_files(Path(path))
            elif os.path.lexists(path) or not glob.has_magic(path):
                yield path
            else:
                yield from matching_files(path)

    def _look(self, path: str) -> FilePlace:
        with reading(path):
            found = os.stat(path)  # noqa: PTH116, called often
        state = (found.st_ino, found.st_size, found.st_mtime_ns)
        seen = self._seen.get(path)
        if seen is None or seen.state != state:
            seen = self._seen[path] = _Seen(state, self._readable(path, seen))
        return seen.place

    def _readable(self, path: str, before: _Seen | None) -> FilePlace:
        """Return the position up to which a file can be read."""
        source = local_file(path)
        if source.is_pipe:
            raise UsageError(f"{path}: a stream cannot read a pipe; use a file")
        if source.codec != "none":
            whole = self._is_whole(source)
            return FilePlace(source.size, "-".join(source.ends)) if whole else _NOTHING
        known = (
            0 if before is None or before.state[1] > source.size else before.place.byte
        )
        end = _line_end(path, known, source.size)
        return FilePlace(end, _ends(path, end)) if end else _NOTHING

    def _is_whole(self, source: Source) -> bool:
        """Whether a compressed file is not truncated; other damage fails when it is read."""
        try:
            self._count(source)
        except DamagedSourceError as error:
            if not error.ends_early:
                return True
            waiting = f"{error.path}: {error.reason}; the stream waits for the rest"
            warnings.warn(waiting, HeadraceWarning, stacklevel=2)
            return False
        return True

    def _count(self, source: Source) -> int:
        """Count the rows of a complete file."""
        fragment = Fragment(source, 0, source.size)
        return count_rows_of(fragment, self._options.decoding)

    # Batches

    def within(
        self,
        start: Mapping[str, FilePlace],
        latest: Mapping[str, FilePlace],
        budget: Budget,
    ) -> dict[str, FilePlace]:
        """Return the end positions of the batch after `start`."""
        spending = Spending(budget)
        reached = dict(start)
        for path, place in latest.items():
            before = start.get(path, _NOTHING)
            if place == before or spending.spent:
                continue
            self._refuse_another(path, before, place)
            taken = self._taken(path, before, place, spending)
            if taken != before:
                reached[path] = taken
        return reached

    def _refuse_another(self, path: str, before: FilePlace, now: FilePlace) -> None:
        """Raise if the file does not begin with the bytes that were read."""
        if before == _NOTHING:
            return
        if now.byte < before.byte:
            reason = f"{before.byte} bytes were read, but its lines now end at byte {now.byte}"
        elif local_file(path).codec != "none":
            reason = (
                "it is compressed, and was changed after it was read; write such files under "
                "another name, and rename them when they are complete"
            )
        elif _ends(path, before.byte) != before.ends:
            reason = (
                f"its first {before.byte} bytes were read, and have changed; write new "
                "content to a new file"
            )
        else:
            return
        raise StreamReplacedError(path, reason)

    def _taken(
        self, path: str, before: FilePlace, end: FilePlace, spending: Spending
    ) -> FilePlace:
        """Take as many lines of a file as the budget of the batch allows; return their end."""
        source = local_file(path)
        if source.codec != "none":
            rows = 0 if spending.max_rows is None else self._count(source)
            return end if spending.first_of([(end.byte, rows)]) else before
        byte, rows = end.byte, 0
        if spending.max_bytes is not None:
            byte = _within_bytes(source, before.byte, byte, spending.max_bytes)
        if spending.max_rows is not None:
            byte, rows = _within_rows(source, before.byte, byte, spending.max_rows)
        spending.take(byte - before.byte, rows)
        return end if byte == end.byte else FilePlace(byte, _ends(path, byte))

    # The rows between two offsets

    def fragments(
        self, start: Mapping[str, FilePlace], end: Mapping[str, FilePlace]
    ) -> list[list[Fragment]]:
        """Return the rows between two offsets."""
        files = [
            self._fragments(path, start.get(path, _NOTHING), place)
            for path, place in end.items()
            if start.get(path) != place
        ]
        return numbered_rows(files, self._options) if self._numbered else files

    def _fragments(self, path: str, start: FilePlace, end: FilePlace) -> list[Fragment]:
        try:
            source = self._pinned(local_file(path), end)
        except SourceNotFoundError:
            self._lost(path)
            return []
        found = fragments(source, self._options.partition_bytes, start.byte)
        if self._numbered:
            found[0] = replace(found[0], first_row=self._first_row(source, start.byte))
        return found

    def _pinned(self, source: Source, end: FilePlace) -> Source:
        """Return the file pinned to the end of a batch; raise if its bytes have changed."""
        path, plain = source.location, source.codec == "none"
        same_size = source.size >= end.byte if plain else source.size == end.byte
        if not same_size or _ends(path, end.byte) != end.ends:
            reason = f"its first {end.byte} bytes have changed"
            raise StreamReplacedError(path, reason)
        # Only a reader of the whole file knows its decoded size, which the limit needs.
        blocks = self._options.blocks and self._options.max_decoded is None
        first, last = end.ends.split("-")
        return replace(
            source,
            size=end.byte,
            ends=(first, last),
            blocks=source.blocks and blocks,
        )

    def _lost(self, path: str) -> None:
        error = StreamLossError(path, "the file was removed before all of it was read")
        if not self._skip:
            raise error
        warnings.warn(error.what, HeadraceWarning, stacklevel=2)

    def _first_row(self, source: Source, byte: int) -> int:
        """Return the number of the row that begins at a byte."""
        if byte == 0:
            return 0
        known, rows = self._rows.get(source.location, (0, 0))
        if known > byte:
            known, rows = 0, 0
        rows += count_rows_of(Fragment(source, known, byte))
        self._rows[source.location] = (byte, rows)
        return rows


_NOTHING = FilePlace(0, "")


def _ends(path: str, byte: int) -> str:
    """Return a fingerprint of the bytes of a file before `byte`."""
    with reading(path):
        return "-".join(File(path).fingerprint(byte))


def _line_end(path: str, start: int, end: int) -> int:
    with reading(path):
        return line_end(File(path), start, end)


def _within_bytes(source: Source, start: int, end: int, most: int) -> int:
    """Return the end of the first lines of a range, in at most `most` bytes but at least one line."""
    if end - start <= most:
        return end
    found = _line_end(source.location, start, start + most)
    if found > start:
        return found
    rows = rows_from(OpenedFile(source), 0, start=start + most, end=end)
    following = rows.next_batch(1, 1)
    return end if following is None else following.offsets[0]


def _within_rows(source: Source, start: int, end: int, most: int) -> tuple[int, int]:
    """Return the end of the first lines of a range, at most `most`, and their number."""
    count = count_rows_of(Fragment(source, start, end))
    if count <= most:
        return end, count
    rows = rows_from(OpenedFile(source), 0, start=start, end=end)
    rows.skip(most)
    following = rows.next_batch(1, 1)
    assert following is not None
    return following.offsets[0], most
