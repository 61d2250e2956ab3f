"""Tasks of an index job: scan a part of a file, or write the index of saved runs.

Tasks exchange data in files of the directory `staging`, which all machines must see. A file name is
unique to one attempt at a task, and the reader compares the file with the size and hash that the
attempt has returned. An error that a retry would repeat is returned as data, so that the driver can
raise it in order.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from headrace.engines.index.collect import scan_fragment
from headrace.errors import HeadraceError, UnwritableError
from headrace.kernel.index_meta import hash_all
from headrace.kernel.rows import File
from headrace.store.files.atomic import NewFile
from headrace.store.files.opened import OpenedFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from headrace.engines.index.collect import Ends, Scanned
    from headrace.engines.index.kinds import AnyBuild
    from headrace.kernel.graph import GraphPlan, GraphWritten
    from headrace.kernel.key_index import Plan, Skipped, Written
    from headrace.physical.fragment import Fragment
    from headrace.store.files.source import Source


class Saved(NamedTuple):
    """A file in the staging directory: its name, size and hash."""

    name: str
    size: int
    hash: int


def _saved(path: Path) -> Saved:
    file, size = File(path), path.stat().st_size
    return Saved(path.name, size, hash_all(file, 0, size))


def _checked(staging: Path, saved: Saved) -> Path:
    """Return the path of a saved file; raises if it was changed."""
    path = staging / saved.name
    try:
        same = _saved(path) == saved
    except OSError:
        same = False
    if not same:
        reason = (
            "the file of another task was changed: is the directory the same on "
            "every machine?"
        )
        raise UnwritableError(str(path), reason, "the index is as it was")
    return path


@dataclass(frozen=True, slots=True)
class Scan:
    """A scan of fragments of one file into one file of runs, the `number`-th.

    With `all_skipped`, another file gets the unindexed lines.
    """

    build: AnyBuild
    fragments: tuple[Fragment, ...]
    ends: Ends
    number: int
    staging: Path
    all_skipped: bool

    @property
    def size(self) -> int:
        """The bytes to read."""
        return sum(each.size for each in self.fragments)

    def do(self) -> ScanDone:
        """Scan the fragments, up to the first error."""
        place = self.staging / f"{self.number:04}-{uuid4().hex}"
        build: AnyBuild = self.build
        if self.all_skipped:
            build = replace(build, skipped=_discard)
        parts: list[Scanned] = []
        try:
            for part in self._scanned(build, place):
                if self.all_skipped:
                    with place.with_suffix(".skipped").open("ab") as file:
                        pickle.dump(part.skipped, file)
                    part = part._replace(skipped=[])  # noqa: PLW2901
                parts.append(part)
        except HeadraceError as error:
            if isinstance(error, OSError):
                # A retry may succeed after an error of the operating system.
                raise
            return ScanDone(parts, failure=error)
        skipped = _saved(place.with_suffix(".skipped")) if self.all_skipped else None
        return ScanDone(parts, _saved(place), skipped)

    def _scanned(self, build: AnyBuild, place: Path) -> Iterator[Scanned]:
        runs = build.begin_runs(self.staging, build.memory_of(1), self.number)
        source = self.fragments[0].source
        opened = OpenedFile(source, decoding=build.decoding, warn=False)
        for fragment in self.fragments:
            yield scan_fragment(fragment, opened, build, runs, self.ends)
        runs.save(place)


def _discard(_skipped: Sequence[Skipped]) -> None:
    """Discard unindexed lines; as the `skipped` callback, it makes the scan report all of them."""


@dataclass(frozen=True, slots=True)
class ScanDone:
    """The results of fragments, up to a `failure`."""

    parts: list[Scanned]
    runs: Saved | None = None
    skipped: Saved | None = None
    failure: HeadraceError | None = None


def parts_of(done: ScanDone, staging: Path) -> Iterator[Scanned]:
    """Yield the result of each fragment, with its unindexed lines."""
    if done.skipped is None:
        yield from done.parts
        return
    with _checked(staging, done.skipped).open("rb") as file:
        for part in done.parts:
            yield part._replace(skipped=pickle.load(file))


@dataclass(frozen=True, slots=True)
class Write:
    """An index to write from saved runs, with the permissions of `like`."""

    build: AnyBuild
    source: Source
    runs: tuple[Saved, ...]
    plan: Plan | GraphPlan
    staging: Path
    like: Path

    @property
    def size(self) -> int:
        """The bytes to read."""
        return sum(each.size for each in self.runs)

    def do(self) -> WriteDone:
        """Write the index durably to a new file of the staging directory."""
        build: Any = self.build
        opened = OpenedFile(self.source, decoding=build.decoding, warn=False)
        new = NewFile(self.staging / f"index-{uuid4().hex}", self.like)
        try:
            runs = [
                build.RUNS.saved(_checked(self.staging, each)) for each in self.runs
            ]
            written = build.write(runs, new.temporary, self.plan, opened)
            new.finish()
        except HeadraceError as error:
            new.discard()
            if isinstance(error, OSError):
                raise
            return WriteDone(failure=error)
        except BaseException:
            new.discard()
            raise
        return WriteDone(new.path.name, written)


class WriteDone(NamedTuple):
    """The name of an index in the staging directory, or why there is none."""

    name: str = ""
    written: Written | GraphWritten | None = None
    failure: HeadraceError | None = None
