"""The row index of an opened source: kept, recorded by its writer, or built by a job.

A plain file or a file of blocks is indexed in place. What any other source decodes to is copied to
a nameless temporary file, and the index is that of the copy.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from headrace.errors import SpoolError
from headrace.kernel.rows import File, IndexBuild, Reader, RowIndex, reading
from headrace.store.rows import checkpoints
from headrace.store.rows.index_job import IndexJob

if TYPE_CHECKING:
    from headrace.store.files.opened import OpenedFile
    from headrace.store.files.source import Source
    from headrace.store.rows.row_file import RowOptions

INTERVAL = 1000
"""Rows from one checkpoint to the next."""


@dataclass(frozen=True, slots=True)
class IndexedRows:
    """A row index, and the file that its offsets are in.

    Without a job, the index is complete. `copied`: the file has the bytes that were decoded so
    far, and the job continues when more are needed.
    """

    index: RowIndex
    file: File
    job: IndexJob | None = None
    copied: bool = False


class KnownRows(Protocol):
    """Facts about the rows of a source that its writer recorded; None where there are none."""

    def total(self, opened: OpenedFile) -> int | None:
        """Return the number of rows."""
        ...

    def index(self, opened: OpenedFile, interval: int) -> RowIndex | None:
        """Return a row index, with a checkpoint at every `interval`-th row."""
        ...

    def moved(self, source: Source) -> Source | None:
        """Return the file that has the rows now, after the source could not be opened."""
        ...


def index_in_place(
    opened: OpenedFile, options: RowOptions, known: KnownRows | None, *, kept: bool
) -> IndexedRows:
    """Return the row index of a seekable file; `kept`: a sidecar may be used."""
    table = opened.counted_table
    counted = None if table is None else table.index()
    if counted is None and known is not None:
        counted = known.index(opened, INTERVAL)
    if counted is not None:
        return IndexedRows(counted, opened.data)
    found = None
    if kept:
        found = checkpoints.load(opened.source, opened, options.keeping)
    if found is not None and found.whole:
        return IndexedRows(found.index, found.file)
    index = RowIndex(INTERVAL) if found is None else found.index
    job = index_job(opened.source, opened, opened.data, opened.codec, options, index)
    return IndexedRows(index, opened.data, job)


def index_copy(
    source: Source,
    opened: OpenedFile | None,
    data: File | Reader,
    codec: str,
    options: RowOptions,
) -> IndexedRows:
    """Return the row index of a copy of the decoded bytes of a source; a pipe is not `opened`."""
    import tempfile

    directory = os.environ.get("HEADRACE_SPOOL_DIR") or tempfile.gettempdir()
    if not os.access(directory, os.W_OK | os.X_OK) or not Path(directory).is_dir():
        raise SpoolError(directory, "it is no directory that can be written to")
    index = RowIndex(INTERVAL)
    job = index_job(source, opened, data, codec, options, index, directory)
    if job.copy is None:
        raise AssertionError("a job with a directory makes a copy")
    return IndexedRows(index, job.copy, job, copied=True)


def index_job(
    source: Source,
    opened: OpenedFile | None,
    data: File | Reader,
    codec: str,
    options: RowOptions,
    index: RowIndex,
    copy_directory: str | None = None,
) -> IndexJob:
    """Return the job that completes an index, and keeps it if the source is a file."""
    with reading(source.location):
        build = IndexBuild(
            data,
            codec,
            size=source.size if opened is None else opened.size,
            index=index,
            copy_dir=copy_directory,
            decoding=options.decoding,
        )

    def keep() -> None:
        if opened is not None:
            opened.check()
            checkpoints.save(source, opened, index, options.keeping)

    return IndexJob(source.location, index, build, keep, spool=copy_directory)
