"""Layout: the files of a pipeline in its directory.

result/        the output: a set of shards called `rows`
work/N/        the rows between two passes, also sets; N counts from 1
quarantine/    rejected rows, in files that the ledgers name
reports/       a report of each run; report.json and report.html are the latest
"""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import (
    BadSetError,
    PipelineRunningError,
    SetLockedError,
)
from headrace.pipeline.state import ledger
from headrace.store.files import system
from headrace.store.files.atomic import unwritable
from headrace.store.files.directories import make_directories, remove_directories
from headrace.store.rows.checkpoints import SUFFIX
from headrace.store.shards.local_set import LocalSet
from headrace.store.shards.shard_set import ShardSet
from headrace.store.shards.vacuum import local

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from headrace.pipeline.plan.passes import Pass
    from headrace.pipeline.spec import Pipeline
    from headrace.pipeline.state.ledger import Ledger
    from headrace.store.files.lock import FileLock
    from headrace.store.shards.metadata import Metadata

SET = "rows"

_QUARANTINE_FILE = re.compile(r"\d+-[0-9a-f]{12}-\d{8}\.jsonl\.zst(\.ckpt)?")

_UNFINISHED_REPORT = re.compile(r"\.(report|\d{6})\.(json|html)\.tmp-.*")


class Layout:
    """The directories of a pipeline."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.base = Path(pipeline.base).absolute()
        self.root = self.base / pipeline.directory
        self.result = self.root / "result"
        self.work = self.root / "work"
        self.quarantine = self.root / "quarantine"
        self.reports = self.root / "reports"

    def names(self, one: Pass) -> LocalSet:
        """Return the names of the set that a pass makes."""
        return LocalSet(self.result if one.last else self.work / str(one.number), SET)

    def output(self) -> ShardSet:
        """Return the newest generation of the output."""
        return ShardSet(self.result, SET)

    def current(self, one: Pass, pipeline: Pipeline) -> tuple[Metadata, Ledger] | None:
        """Return the set and ledger of a pass; raises if another pipeline made them."""
        names = self.names(one)
        if not names.directory.exists():
            return None
        metadata = names.newest()
        if metadata is None:
            return None
        found = ledger.read(metadata, names.text)
        if found.name != pipeline.name:
            reason = (
                f"the pipeline {found.name} made it; give {pipeline.name} "
                "its own directory"
            )
            raise BadSetError(names.text, reason)
        return metadata, found

    def gone(self, one: Pass, metadata: Metadata, ledger: Ledger) -> str | None:
        """Return a file of a pass that was removed or changed, if there is one."""
        made = {
            self.names(one).directory / part.path: part.bytes for part in metadata.parts
        }
        rejected = (file.name for job in ledger.jobs for file in job.quarantine)
        wanted = made | dict.fromkeys(map(self.quarantine.joinpath, rejected))
        for path, size in wanted.items():
            try:
                found = path.stat().st_size
            except (FileNotFoundError, NotADirectoryError):
                found = -1
            if found < 0 or size not in (None, found):
                return path.relative_to(self.root).as_posix()
        return None

    def quarantine_file(self, one: Pass, job: str, task: int) -> Path:
        """Return the file for the rejected rows of a task."""
        return self.quarantine / f"{one.number}-{job[:12]}-{task:08}.jsonl.zst"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the pipeline; a run that writes nothing leaves no directory."""
        made: list[Path] = []
        try:
            lock = self._lock(made)
            left = "what is committed is whole; run the pipeline again"
            try:
                with unwritable(self.root, left, or_named=True):
                    yield
            finally:
                lock.release()
        finally:
            remove_directories(made)

    def _lock(self, made: list[Path]) -> FileLock:
        try:
            with unwritable(self.root, "nothing was done"):
                make_directories(self.root, made)
                return LocalSet(self.root, "pipeline").locked()
        except SetLockedError as error:
            raise PipelineRunningError(str(self.root), error.holder) from None

    def sweep(self, every: list[Pass], ledgers: Collection[Ledger]) -> None:
        """Remove leftovers of killed runs, and of passes that no longer exist.

        The caller holds the lock.
        """
        needed = {
            file.name
            for each in ledgers
            for job in each.jobs
            for file in job.quarantine
        }
        needed |= {name + SUFFIX for name in needed}
        for path in _entries(self.quarantine):
            if path.name.startswith(".staging-"):
                system.calls.remove_tree(path)
            elif _QUARANTINE_FILE.fullmatch(path.name) and path.name not in needed:
                system.unlink_if_exists(path)
        for path in (*_entries(self.root), *_entries(self.reports)):
            if _UNFINISHED_REPORT.fullmatch(path.name):
                system.unlink_if_exists(path)
        for one in every:
            if (names := self.names(one)).directory.is_dir():
                local.remove_orphans(names, age=0.0)
        used = {str(one.number) for one in every if not one.last}
        for path in _entries(self.work):
            if path.name.isdigit() and path.name not in used:
                system.calls.remove_tree(path)

    def vacuum(self, one: Pass) -> None:
        """Remove superseded generations of the set of a pass."""
        with suppress(BadSetError):
            shards = ShardSet(self.names(one).directory, SET)
            shards.vacuum() if one.last else shards.vacuum(grace=0.0)


def _entries(directory: Path) -> list[Path]:
    try:
        return sorted(map(directory.joinpath, system.calls.list_directory(directory)))
    except (FileNotFoundError, NotADirectoryError):
        return []
