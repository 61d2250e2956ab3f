"""An opened source, and the rows in it.

A file of blocks is read as if it were the plain file that it decodes to, if its block table can be
used; otherwise in order, as any other compressed file.

Opening checks that the file is still the one that was named, and so does every batch of rows. A
file that only grew is read up to the size it had; a file that became shorter or was rewritten in
place is an error.
"""

import resource
import threading
import time
import warnings
import weakref
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, Self, TypeVar

from headrace.errors import (
    HeadraceError,
    HeadraceWarning,
    NotNdjsonError,
    SourceChangedError,
    SourceNotFoundError,
    UnusableTableError,
)
from headrace.kernel.rows import (
    END,
    BlockTable,
    Decoded,
    Decoding,
    File,
    Reader,
    RowBatch,
    RowStream,
    reading,
    sniff,
)
from headrace.record import record, replace
from headrace.store.files.source import Readable, Source, refuse_what_is_no_text

T = TypeVar("T")

_PARTS = ".parts-"
"""Part of the name of every directory with parts of a set."""

_PAUSES = (0.0, 0.001, 0.005, 0.02, 0.1)
"""Seconds between checks of a file whose time has changed, but not its size."""

_PIPE_HEAD_BYTES = 16
"""The first bytes of a pipe, which tell its codec; to wait for more may take long."""

_READ_BYTES = 1 << 16
"""The smallest request to a Python reader, whose calls are slow."""


def read_in_order(source: Source, error: UnusableTableError | None) -> Source:
    """Return the source without blocks, and warn if there is an `error`."""
    if error is not None:
        message = f"{error.what}; it is read in order"
        warnings.warn(message, HeadraceWarning, stacklevel=2)
    return replace(source, blocks=False)


@record
class Keeping:
    """Whether and where row indexes are kept; without `directory`, in any sidecar place."""

    enabled: bool = True
    directory: str | None = None


class OpenedFile:
    """A file that can be read by offset, in the state that its source is pinned to.

    `file` is the file on disk. Rows are read from `data`, with its `codec` and `size`: for a file
    of blocks, that is the decoded file, which has a `table`. If several readers open the same file,
    one of them should `warn` of a table that cannot be used.
    """

    def __init__(
        self,
        source: Source,
        keeping: Keeping = Keeping(),  # noqa: B008, frozen
        decoding: Decoding = Decoding(),  # noqa: B008, frozen
        *,
        warn: bool = True,
    ) -> None:
        self.source = source
        self.path = source.location
        self.decoding = decoding
        self.file = self._opened()
        source = self.source  # the file may have moved since
        self._seen = (source.size, source.mtime_ns, source.version)
        self.check()
        self.table: BlockTable | None = None
        self._whole = True
        self.data, self.codec, self.size = self.file, source.codec, source.size
        if source.blocks:
            try:
                self._enter(keeping)
            except UnusableTableError as error:
                self.source = read_in_order(source, error if warn else None)
        elif source.codec == "none" and _PARTS in source.path:
            self._compare_blocks(keeping)
        if source.segment is not None and source.segment.rows:
            from headrace.store.log.read.sources import checked

            size = self.size if self.codec == "none" else None
            self.data = checked(self.source, source.segment, self.data, size)
            if size is not None and self.data.checked_size != size:
                # The segment may be full and compressed by now: read its first lines.
                self.size = self.data.checked_size or 0
                self._whole = False

    def _opened(self) -> File:
        source = self.source
        try:
            with reading(self.path):
                if source.kind == "remote":
                    from headrace.store.files.remote import open_file

                    return open_file(self.path)
                if source.segment is not None:
                    from headrace.store.log.files import open_file as open_segment

                    return open_segment(Path(self.path))
                return File(source.path)
        except SourceNotFoundError:
            if source.segment is None:
                return self._superseded()
            from headrace.store.log.read.sources import gone

            raise gone(source) from None

    def _superseded(self) -> File:
        """Open a part of a set that another generation has replaced."""
        from headrace.store.shards.names import is_superseded, superseded_path

        location = self.source.path
        superseded = superseded_path(location) if self.source.kind == "file" else None
        if superseded is None:
            raise SourceNotFoundError(self.path)
        try:
            with reading(str(superseded)):
                file = File(superseded)
        except SourceNotFoundError:
            if not is_superseded(location):
                raise SourceNotFoundError(self.path) from None
            reason = "the set was replaced, and this part of the old one is removed"
            raise SourceChangedError(self.path, 0, reason) from None
        self.path = str(superseded)
        self.source = replace(self.source, location=self.path, absolute="")
        return file

    @property
    def is_hopped_over(self) -> bool:
        """Whether each block gives the offset of the next one, so that each needs its own request."""
        return (self.source.kind, self.source.codec) == ("remote", "gzip")

    @property
    def is_checked(self) -> bool:
        """Whether each block is compared with a checksum when it is read."""
        return self.data is not self.file

    @property
    def counted_table(self) -> BlockTable | None:
        """The block table, if it has the rows of blocks."""
        if self.table is None or not self.table.counted or not self._whole:
            return None
        return self.table

    def _enter(self, keeping: Keeping) -> None:
        from headrace.store.rows import checkpoints

        source = self.source
        table = checkpoints.load_blocks(source, self, keeping)
        with reading(self.path):
            if table is None and self.is_hopped_over:
                self.source = read_in_order(source, None)
                return
            if table is None:
                table = BlockTable.find(self.file, source.codec, source.size)
            if table is None:
                raise UnusableTableError(
                    self.path, 0, "the table of its blocks is gone"
                )
            self.data = table.decoded(self.file, source.size, self.decoding)
        self.table, self.codec, self.size = table, "none", table.logical_size

    def _compare_blocks(self, keeping: Keeping) -> None:
        """Compare blocks with the checksums in the sidecar; the blocks themselves have none."""
        from headrace.store.rows import checkpoints

        if not checkpoints.is_part(self.source):
            return
        table = checkpoints.load_blocks(self.source, self, keeping)
        if table is not None:
            with reading(self.path):
                self.data = table.decoded(
                    self.file, self.size, self.decoding, strict=True
                )

    def stat(self) -> tuple[int, int, int]:
        """Return size, mtime and ctime, in nanoseconds, as they are now."""
        with reading(self.path):
            return self.file.stat()

    def check(self) -> None:
        """Raise if the pinned bytes of the file have changed."""
        seen = self._looks()
        if seen == self._seen:
            return
        segment = self.source.segment
        # In a log, bytes after the pinned ones may have been taken back.
        growing = segment is not None and segment.growing
        if seen[0] == self._seen[0] and not growing:
            seen = self._grown()
        size = seen[0]
        pinned = self.source.size
        if size < pinned:
            reason = f"the file became shorter: {pinned} bytes when opened, now {size}"
            raise SourceChangedError(self.path, size, reason)
        with reading(self.path):
            ends = self.file.fingerprint(pinned)
        if (size == self._seen[0] and not growing) or ends != self.source.ends:
            raise SourceChangedError(
                self.path, 0, "the file was changed since it was opened"
            )
        self._seen = seen

    def _looks(self) -> tuple[int, int, int]:
        size, mtime_ns, version = self.stat()
        return size, mtime_ns, version if self.source.kind == "remote" else 0

    def _grown(self) -> tuple[int, int, int]:
        """Return how the file looks when it has had time to become longer.

        Who appends to a file changes its time first, then its size.
        """
        for pause in _PAUSES if self.source.kind == "file" else ():
            time.sleep(pause)
            seen = self._looks()
            if seen[0] != self._seen[0]:
                return seen
        return self._looks()


class Rows:
    """Rows in order. Whole rows before an error are delivered before it is raised."""

    def __init__(self, path: str, stream: RowStream, opened: OpenedFile | None) -> None:
        self.path = path
        self._stream = stream
        self._opened = opened

    def skip(self, count: int) -> None:
        """Skip `count` rows."""
        self.advance(lambda stream: stream.skip_rows(count))

    def next_batch(self, max_rows: int, max_bytes: int) -> RowBatch | None:
        """Return the next rows, None after the last."""
        return self.advance(lambda stream: stream.next_batch(max_rows, max_bytes))

    def advance(self, look_at: Callable[[RowStream], T]) -> T:
        """Call a function of the core on the next rows, and return its result."""
        try:
            with reading(self.path):
                result = look_at(self._stream)
        except HeadraceError:
            # If the file was replaced, that is the error.
            self._check()
            raise
        self._check()
        return result

    @property
    def bytes_read(self) -> int:
        """How many bytes of the file were read so far; of a pipe, 0."""
        return 0 if self._opened is None else self._opened.file.bytes_read

    def _check(self) -> None:
        if self._opened is not None:
            self._opened.check()


def rows_from(
    opened: OpenedFile,
    max_line: int,
    *,
    start: int = 0,
    end: int = END,
    first_row: int = 0,
    at_row: bool = False,
    ends_at_long_row: bool = False,
) -> Rows:
    """Return the rows of a file that begin in ``[start, end)``.

    `at_row`: rows are known to begin at `start` and, if it is in the file, at `end`. With
    `ends_at_long_row`, reading stops at the limit of a row.
    """
    with reading(opened.path):
        stream = RowStream(
            opened.data,
            opened.codec,
            size=min(end, opened.size) if at_row else opened.size,
            start=start,
            end=end,
            first_row=first_row,
            max_line=max_line,
            at_row=at_row,
            decoding=opened.decoding,
            ends_at_long_row=ends_at_long_row,
        )
    return Rows(opened.path, stream, opened)


def open_pipe(source: Source) -> tuple[Reader, str]:
    """Open a pipe, and return its codec, which its first bytes tell."""
    with reading(source.location):
        reader = _reader(source)
        head = reader.peek(_PIPE_HEAD_BYTES)
    refuse_what_is_no_text(source.location, head)
    return reader, sniff(head)


def _reader(source: Source) -> Reader:
    if source.origin is not None:
        return _calling(source.location, source.origin)
    return Reader.stdin() if source.kind == "stdin" else Reader(source.location)


def _calling(location: str, origin: object) -> Reader:
    from headrace.store.files.remote import Stream

    if isinstance(origin, Stream):
        return Reader.calling(origin.again().read)
    assert isinstance(origin, Readable)
    return Reader.calling(_Reading(location, origin).read)


class _Reading:
    """Bytes of a Python reader, which may return fewer or more than requested."""

    def __init__(self, location: str, reader: Readable) -> None:
        self._location = location
        # The bytes that a pipe has now are better than waiting for more.
        self._read = getattr(reader, "read1", reader.read)
        self._ahead = b""

    def read(self, size: int) -> bytes:
        data = self._ahead or self._read(max(size, _READ_BYTES))
        if not isinstance(data, (bytes, bytearray, memoryview)):
            reason = (
                f"its read returns {type(data).__name__}, not bytes; open it as binary"
            )
            raise NotNdjsonError(self._location, reason)
        data = bytes(data)
        self._ahead = data[size:]
        return data[:size]


MOST_OPEN = 128


def _most_open() -> int:
    """Return how many files may stay open: a quarter of the limit of the process."""
    limit, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_OPEN if limit < 0 else max(min(MOST_OPEN, limit // 4), 1)


class Resting(Protocol):
    """An object that has a file open."""

    def rest(self) -> bool:
        """Close the file; false if it is in use."""
        ...


class OpenFiles:
    """The objects that have a file open, the object used last at the end."""

    def __init__(self, most: int | None = None) -> None:
        self._most = _most_open() if most is None else most
        self._lock = threading.Lock()
        self._open: OrderedDict[int, Callable[[], Resting | None]] = OrderedDict()

    def use(self, file: Resting) -> None:
        """Record that `file` is used now, and close the least recently used ones over the limit."""
        with self._lock:
            self._open[id(file)] = weakref.ref(file)
            self._open.move_to_end(id(file))
            surplus = len(self._open) - self._most
            others = list(self._open.items())[:-1] if surplus > 0 else []
        for key, other in others:
            if surplus <= 0:
                return
            found = other()
            if found is None or found.rest():
                surplus -= 1
                with self._lock:
                    self._open.pop(key, None)


OPEN_FILES = OpenFiles()


class Closing(ABC):
    """An object that is open until `close`, which leaving a `with` calls."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources; a second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def decoded(
    source: Source,
    keeping: Keeping = Keeping(),  # noqa: B008, frozen
    decoding: Decoding = Decoding(),  # noqa: B008, frozen
) -> Iterator[bytes]:
    """Yield the decoded bytes of a file or a pipe in order, in pieces."""
    if source.is_pipe:
        reader, codec = open_pipe(source)
        native = Decoded(reader, codec, size=END, decoding=decoding)
        yield from _pieces(source.location, native, None)
        return
    given = 0
    try:
        for piece in _of_file(OpenedFile(source, keeping, decoding)):
            given += len(piece)
            yield piece
    except UnusableTableError as error:
        # Decoding in order yields the same bytes first, so skip what was already yielded.
        source = read_in_order(source, error)
        for piece in _of_file(OpenedFile(source, keeping, decoding)):
            if rest := piece[given:]:
                yield rest
            given = max(given - len(piece), 0)


def _of_file(opened: OpenedFile) -> Iterator[bytes]:
    native = Decoded(
        opened.data, opened.codec, size=opened.size, decoding=opened.decoding
    )
    return _pieces(opened.path, native, opened)


def _pieces(path: str, native: Decoded, opened: OpenedFile | None) -> Iterator[bytes]:
    while True:
        with reading(path):
            piece = native.read()
        if opened is not None:
            opened.check()
        if not piece:
            return
        yield piece
