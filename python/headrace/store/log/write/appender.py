"""Appender of segments: the order of system calls that the promises of a log rest on.

A *commit* writes all bytes of data, makes them durable, then writes the entries; so a line
with an entry is durable. docs/formats/log.md describes the state after a crash. A failed
write is taken back, and the log can continue when there is space again. A failed sync
cannot be taken back: the content of the disk is unknown then, and nothing more is written
(the appender is *poisoned*). Any other interruption poisons it too.
"""

import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from headrace.errors import (
    LogFailedError,
    LogLockedError,
    LogRemovedError,
    UnwritableError,
)
from headrace.kernel.log import LogLines
from headrace.store.files import system
from headrace.store.log import files
from headrace.store.log import manifest as manifests
from headrace.store.log.entries import Header, create_index, entry_at
from headrace.store.log.files import OpenSegment
from headrace.store.log.manifest import Durability, Manifest
from headrace.store.log.names import LogNames
from headrace.store.log.report.metrics import WriterCounts

_TAKEN_BACK = "nothing of it is in the log, which can be written when that is over"
_KEPT = "the log is as it was"
_WRITTEN = "all that was appended is in the log, and the next writer recovers it"


@dataclass(slots=True)
class Pending:
    """Lines to append, and the number of those that are appended already."""

    data: bytes
    lines: LogLines
    appended: int = 0
    first_line: int = 0
    done: bool = False
    error: Exception | None = None

    @property
    def left(self) -> int:
        """The number of lines that are not appended yet."""
        return len(self.lines) - self.appended

    def piece(self, count: int) -> bytes:
        """Return the bytes of the next `count` lines."""
        start, end = self.appended, self.appended + count
        if start == 0 and count == len(self.lines):
            return self.data
        return self.data[self.lines.end_of(start) : self.lines.end_of(end)]


class SegmentAppender:
    """The last segment of a recovered log, whose lock the writer holds.

    Threads hold `committing` while they append or change the manifest.
    """

    def __init__(
        self,
        names: LogNames,
        manifest: Manifest,
        durability: Durability,
        committing: AbstractContextManager[object],
    ) -> None:
        self.names = names
        self._committing = committing
        self._durability = durability
        self.manifest = manifest
        """The manifest as it was last written."""
        self._clock = manifest.active.clock(manifest.timing.late)
        self._segment = OpenSegment(names, _header(manifest))
        self._known = names.manifest.stat()
        self.place = manifest.mark
        """The place after the last written line."""
        self.began = time.monotonic() - self._age()
        """The time of the first line of the segment, even if an earlier writer wrote it."""
        self.failure: str | None = None
        """The reason why nothing more is written."""
        self.counts = WriterCounts()
        self._settled = self.place
        self._entries: list[bytes] = []

    def _age(self) -> float:
        """Return the seconds since the first line of the segment.

        The clocks of two processes are compared; a clock that went back counts as zero
        seconds.
        """
        begun = self.manifest.active.begun
        if begun is None and self.place.rows:
            first = entry_at(self._segment.index, 0, self.manifest.salt)
            if first is not None and not first.extracted:
                begun = first.time
        now = _now()
        if begun is None:
            active = replace(self.manifest.active, begun=now)
            self.manifest = replace(self.manifest, active=active)
            return 0.0
        return max(now - begun, 0) / 1000

    @property
    def unsettled(self) -> int:
        """Bytes written but neither durable nor indexed."""
        return self.place.end - self._settled.end

    @property
    def unsettled_rows(self) -> int:
        """Lines written but neither durable nor indexed."""
        return self.place.rows - self._settled.rows

    @property
    def fallbacks(self) -> int:
        """The number of times that were missing or implausible."""
        return self._clock.times[3]

    # Lines

    def append(self, pieces: Sequence[tuple[Pending, int]]) -> None:
        """Append the next lines of each `Pending` to this segment, and commit."""
        with self.counts.commit, self._writing():
            self._refuse_changes()
            created = _now()
            if self.place.rows == 0:
                self.began = time.monotonic()
                active = replace(self.manifest.active, begun=created)
                self.manifest = replace(self.manifest, active=active)
            clock, place = self._clock.copy(), self.place
            entries, data = [], []
            for pending, count in pieces:
                start, end = pending.appended, pending.appended + count
                made, following = pending.lines.entries(
                    start, end, place, clock, created=created, reconstructed=False
                )
                place = place.at(*following)
                entries.append(made)
                data.append(pending.piece(count))
            self._write_data(b"".join(data))
            before = self.place, self._clock
            self.place, self._clock = place, clock
            self._entries += entries
            if self._durability != "interval":
                try:
                    self._settle()
                except LogFailedError:
                    raise
                except OSError as error:
                    # The entries cannot be written, so the lines must go as well.
                    self.place, self._clock = before
                    self._entries = []
                    self._cut_data(error)
                    raise
            self.counts.records += sum(count for _pending, count in pieces)
            self.counts.bytes += sum(map(len, data))

    def _write_data(self, data: bytes) -> None:
        try:
            files.write_at(self._segment.data, data, self.place.end)
        except OSError as error:
            self._cut_data(error)
            raise

    def settle(self) -> None:
        """Make written lines as durable as promised, then index them."""
        with self._writing(_WRITTEN):
            self._settle()

    def sync(self) -> None:
        """Make everything durable."""
        with self._writing(_WRITTEN):
            self._sync_all()

    def _sync_all(self) -> None:
        self._settle()
        self._sync(self._segment.data)
        self._sync(self._segment.index)

    def _settle(self) -> None:
        if not self._entries:
            return
        if self._durability != "os":
            self._sync(self._segment.data)
        try:
            entries = b"".join(self._entries)
            with self.counts.index:
                files.write_at(self._segment.index, entries, self._settled.index_end)
        except OSError as error:
            with self._or_fail(error):
                system.calls.truncate(self._segment.index, self._settled.index_end)
            raise
        if self._durability == "always":
            self._sync(self._segment.index)
        self._settled = self.place
        self._entries = []

    def _sync(self, descriptor: int) -> None:
        try:
            with self.counts.sync:
                system.calls.sync_data(descriptor)
        except OSError as error:
            # The system may forget that these bytes are not on disk, and report success for
            # the next sync. Recovery writes them again.
            self.failure = f"a sync failed: {error.strerror or error}"
            raise LogFailedError(self.names.text, self.failure) from error

    def _cut_data(self, error: OSError) -> None:
        """Take back the bytes after the last line."""
        with self._or_fail(error):
            system.calls.truncate(self._segment.data, self.place.end)
            # Without this, a crash could mix the next write with the old bytes.
            system.calls.sync_data(self._segment.data)

    @contextmanager
    def _or_fail(self, first: OSError) -> Iterator[None]:
        """Write nothing more if written bytes cannot be taken back."""
        try:
            yield
        except OSError as error:
            self.failure = (
                f"{first.strerror or first}, and what was written could not be taken "
                f"back: {error.strerror or error}"
            )
            raise LogFailedError(self.names.text, self.failure) from error

    @contextmanager
    def _writing(self, left: str = _TAKEN_BACK) -> Iterator[None]:
        if self.failure is not None:
            raise LogFailedError(self.names.text, self.failure)
        try:
            yield
        except (LogFailedError, LogLockedError):
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise UnwritableError(self.names.text, reason, left) from error
        except BaseException as error:
            self.failure = f"it was interrupted by {type(error).__name__}"
            raise

    def _refuse_changes(self) -> None:
        """Raise if another process changed the files."""
        try:
            now = self.names.manifest.stat()
        except FileNotFoundError as error:
            self.failure = "the manifest was removed"
            raise LogRemovedError(self.names.text, self.failure) from error
        if (
            not os.path.samestat(now, self._known)
            or now.st_mtime_ns != self._known.st_mtime_ns
        ):
            self._refuse_other_epoch()
        data = os.fstat(self._segment.data)
        name = self._segment.path.name
        if data.st_nlink == 0:
            self.failure = f"{name} was removed"
            raise LogRemovedError(self.names.text, self.failure)
        if data.st_size != self.place.end:
            self.failure = (
                f"{name} was changed by another process: it has {data.st_size} bytes, but "
                f"{self.place.end} were written"
            )
            raise LogFailedError(self.names.text, self.failure)

    def _refuse_other_epoch(self) -> None:
        found = manifests.load(self.names)
        epoch = None if found is None else found.epoch
        if epoch != self.manifest.epoch:
            self.failure = f"the log has a later writer, of epoch {epoch}"
            raise LogFailedError(self.names.text, self.failure)

    # Segments

    def rotate(self) -> None:
        """Begin another segment, durably; a failure before that changes nothing."""
        with self._writing():
            self._refuse_changes()
            self._sync_all()
            active = self.manifest.active.reached(self.place, self._clock)
            following = replace(self.manifest, active=active).rotated(_now())
            segment = self._begun(following)
            self._segment.close()
            self._segment = segment
            self.place = self._settled = self.manifest.mark
            self._clock.begin_file()
            self.counts.rotations += 1

    def _begun(self, following: Manifest) -> OpenSegment:
        """Create the files of an empty segment, and make it the last one."""
        names, header = self.names, _header(following)
        made = list[Path]()
        try:
            with suppress(FileNotFoundError):
                if names.data(header.base).stat().st_size == 0:
                    # An earlier attempt could not remove it.
                    system.calls.unlink(names.data(header.base))
            os.close(system.calls.create(names.data(header.base)))
            made.append(names.data(header.base))
            create_index(names, header)
            made.append(names.index(header.base))
            system.calls.sync_directory(names.directory)
            segment = OpenSegment(names, header)
            try:
                self.manifest = following.put(names)
            except OSError:
                segment.close()
                raise
        except OSError:
            for path in made:
                with suppress(OSError):
                    system.calls.unlink(path)
            raise
        try:
            self._make_manifest_durable("a new segment could not be begun")
        except LogFailedError:
            segment.close()
            raise
        return segment

    def _make_manifest_durable(self, what_failed: str) -> None:
        try:
            system.calls.sync_directory(self.names.directory)
            self._known = self.names.manifest.stat()
        except OSError as error:
            # It is unknown which of the two manifests a crash would leave.
            self.failure = f"{what_failed}: {error.strerror}"
            raise LogFailedError(self.names.text, self.failure) from error

    # Full segments

    @property
    def last_bytes(self) -> int:
        """The bytes of the last segment, with its index."""
        return self.place.end + self.place.index_end

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Keep other threads from changing the log; refuse if another process has."""
        with self._committing, self._writing(_KEPT):
            self._refuse_changes()
            yield

    def put(self, manifest: Manifest, what_failed: str) -> None:
        """Replace the manifest, durably."""
        self.manifest = manifest.put(self.names)
        self._make_manifest_durable(what_failed)

    def removed(self, bases: Collection[int]) -> None:
        """Note that the files of removed segments are gone; the next manifest says so."""
        with self._committing:
            self.manifest = self.manifest.without_files(bases)

    def close(self) -> None:
        """Make everything durable, and record that in the manifest."""
        try:
            if self.failure is None:
                with self._writing(_WRITTEN):
                    self._refuse_changes()
                    self._sync_all()
                    active = self.manifest.active.reached(self.place, self._clock)
                    replace(self.manifest, active=active).save(self.names)
        finally:
            self._segment.close()


def _header(manifest: Manifest) -> Header:
    active = manifest.active
    return Header(active.file_number, active.base, manifest.salt)


def _now() -> int:
    return time.time_ns() // 1_000_000
