"""Where the faulty rows of a read go, if they are not to be rows.

Each attempt of a task writes a file of its own, which gets its name when the attempt has
read all of its partition: an attempt that fails leaves nothing. Two attempts that both end
well, or two uses of one DataFrame, write the same lines twice; `file` and `offset` tell
which are the same.
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

    from headrace.kernel.columns import ColumnFault
    from headrace.kernel.rows import RowBatch
    from headrace.physical.fragment import Fragment


class Quarantine:
    """A file of lines of JSON in `directory`; there is none if no row is faulty."""

    def __init__(self, directory: str, attempt: str) -> None:
        self._directory = Path(directory.removeprefix("file://"))
        self._name = f"bad-{attempt}-{uuid4().hex}.jsonl"
        self._file: NewFile | None = None

    def add(
        self, batch: RowBatch, fragment: Fragment, faults: list[ColumnFault]
    ) -> None:
        """Write down faulty rows of a batch."""
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
