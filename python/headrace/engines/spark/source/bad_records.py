"""Quarantine of a read: the directory `badRecordsPath` for its faulty rows.

Each attempt of a task writes its own file, which gets its name when the attempt has
read all of its partition: an attempt that fails leaves nothing. Two attempts that both
succeed, or two uses of one DataFrame, write the same lines twice; `file` and `offset`
identify the duplicates.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

from headrace.engines.rows import rejected
from headrace.engines.spark.source.line_batches import lines, rows_before
from headrace.errors import UsageError
from headrace.store.files import system
from headrace.store.files.atomic import NewFile

if TYPE_CHECKING:
    from types import TracebackType

    from headrace.kernel.arrow.columns import ColumnFault
    from headrace.kernel.rows import RowBatch
    from headrace.physical.fragment import Fragment


class Quarantine:
    """A file of JSON lines in `directory`, created at the first faulty row."""

    def __init__(self, directory: str, attempt: str) -> None:
        self._directory = Path(directory.removeprefix("file://"))
        self._name = f"bad-{attempt}-{uuid4().hex}.jsonl"
        self._file: NewFile | None = None

    def add(
        self, batch: RowBatch, fragment: Fragment, faults: list[ColumnFault]
    ) -> None:
        """Write the faulty rows of a batch."""
        every = lines(batch, pa.binary())
        first_line = rows_before(fragment) + batch.first_row + 1
        path = fragment.source.location
        written = [
            rejected.facts(
                path,
                first_line + fault.position,
                fault.offset,
                fault.reason,
                every[fault.position].as_py(),
            )
            for fault in faults
        ]
        self._opened().append(b"".join(map(rejected.as_line, written)))

    def _opened(self) -> NewFile:
        if self._file is None:
            try:
                self._directory.mkdir(parents=True, exist_ok=True)
                self._file = NewFile(self._directory / self._name)
            except OSError as error:
                raise UsageError(
                    f"badRecordsPath {self._directory} cannot be written: {error}"
                ) from error
        return self._file

    def __enter__(self) -> Quarantine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is None:
            return
        if kind is not None:
            self._file.discard()
            return
        self._file.finish()
        system.calls.sync_directory(self._directory)
