"""Groups of lines that are read again: the first ones in memory, the others in a nameless file."""

from __future__ import annotations

import os
import tempfile
import weakref
from typing import TYPE_CHECKING, NamedTuple

from headrace.errors import SpoolError

if TYPE_CHECKING:
    from typing import IO


class _Place(NamedTuple):
    """Where a group is in the file."""

    offset: int
    size: int


class SpooledLines:
    """Groups of lines, of which `most` bytes are in memory [None: all]."""

    def __init__(self, most: int | None) -> None:
        self._left = most
        self._groups: list[bytes | _Place | None] = []
        self._file: IO[bytes] | None = None
        self._end = 0

    def add(self, group: bytes) -> None:
        """Keep a group."""
        if self._left is None or len(group) <= self._left:
            if self._left is not None:
                self._left -= len(group)
            self._groups.append(group)
            return
        # Groups behind one in the file go there too.
        self._left = 0
        directory = os.environ.get("HEADRACE_SPOOL_DIR") or tempfile.gettempdir()
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=directory, buffering=0)  # noqa: SIM115
                # Who reads the groups may stop anywhere.
                weakref.finalize(self, self._file.close)
            self._write(group)
        except OSError as error:
            raise SpoolError(directory, error.strerror or str(error)) from error
        self._groups.append(_Place(self._end, len(group)))
        self._end += len(group)

    def _write(self, group: bytes) -> None:
        assert self._file is not None
        rest = memoryview(group)
        while rest:
            rest = rest[self._file.write(rest) :]

    def read(self, number: int) -> bytes:
        """Return a group that was not dropped."""
        group = self._groups[number]
        if isinstance(group, bytes):
            return group
        if group is None or self._file is None:
            raise AssertionError("the group was dropped")
        self._file.seek(group.offset)
        content = self._file.read(group.size)
        if len(content) < group.size:
            raise AssertionError("no other process can shorten a nameless file")
        return content

    def drop(self, number: int) -> None:
        """Free the memory of a group."""
        self._groups[number] = None
