"""Sources: files, globs, directories, logs, pipes and URLs that can be read.

A *source* is one file or pipe, pinned: its size and time of change are those it had when it was
named. A later reader, in this process or in a Spark task, reads that state or gets an error.
"""

from __future__ import annotations

import glob
import os
import re
import stat
import warnings
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import (
    TYPE_CHECKING,
    Literal,
    NamedTuple,
    Protocol,
    TypeAlias,
    cast,
    runtime_checkable,
)

from headrace.errors import (
    HeadraceWarning,
    NotNdjsonError,
    RemoteDirectoryError,
    SourceNotFoundError,
    UnreadableError,
    UsageError,
)
from headrace.kernel.rows import END, File, foreign_format, has_blocks, reading, sniff
from headrace.record import field, record, replace

if TYPE_CHECKING:
    from headrace.store.files.units import Between
    from headrace.store.rows.provider import RowProvider

Kind: TypeAlias = Literal["file", "remote", "pipe", "stdin", "reader", "provider"]
OneSource: TypeAlias = "str | os.PathLike[str] | Readable | RowProvider"
SourceSpec: TypeAlias = "OneSource | Sequence[OneSource]"

STDIN = "-"

_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_DATA_NAME = re.compile(r"\.(?:jsonl|ndjson)(?![A-Za-z])")
_SIDECAR_SUFFIXES = (".ckpt", ".idx", ".jnx", ".graph")
_NO_DATA_SUFFIXES = (
    *_SIDECAR_SUFFIXES, "~", ".bak", ".crc", ".crdownload", ".csv", ".download", ".lock", ".md5",
    ".old", ".orig", ".parquet", ".part", ".partial", ".rej", ".sha256", ".swp", ".tmp",
)  # fmt: skip
_KEY_INDEX = ".jnx."
"""Part of the name of every key index of a file except the first."""

_META = ".meta-"
"""Part of the name of every metadata file of a set."""

_NO_DATA = "no NDJSON in this directory; looked for *.jsonl* and *.ndjson*"

_DEEPEST_LOG = 3
"""The depth to which logs below a directory are searched, to be named in an error."""

HEAD_BYTES = 262
"""The first bytes that tell the codec of a file, and whether it is made of blocks."""

_BLOCK_TAIL_BYTES = 9
"""The last bytes that tell whether a file is made of blocks."""


@runtime_checkable
class Readable(Protocol):
    """Anything that bytes can be read from."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes, none at the end."""
        ...


@record
class Segment:
    """A segment of a log: the number of lines before it, and in it.

    `growing`: a writer may append to it. Bytes after the committed lines may be taken back;
    committed lines never change. `times`: only lines with these times are read; `outside`: it is
    known, without opening the file, that no line has such a time.
    """

    file_number: int
    base: int
    rows: int
    salt: int
    growing: bool = False
    times: Between | None = None
    outside: bool = False


@record
class Source:
    """One file or pipe. A pipe's codec is found when it is read, and it has no size.

    `size` is the size on disk. `blocks`: it is compressed in blocks, so it is seekable. `ends` are
    hashes of its first and last bytes: a file that has grown since is the same file only if they
    still hold. `segment`: it is a segment of a log, and `size` counts the committed lines.
    `version` identifies the content of a remote file. `absolute` is the absolute path of a
    relative location at the time it was named. `origin` is the object that rows or bytes come from
    if there is no file.
    """

    location: str
    kind: Kind
    codec: str = "none"
    size: int = END
    mtime_ns: int = 0
    ends: tuple[str, str] = ("", "")
    blocks: bool = False
    segment: Segment | None = None
    version: int = 0
    absolute: str = field(default="", repr=False, compare=False)
    origin: Readable | RowProvider | None = field(
        default=None, repr=False, compare=False
    )

    @property
    def path(self) -> str:
        """The path to open, whatever the working directory is by then."""
        return self.absolute or self.location

    @property
    def seekable(self) -> bool:
        """Whether rows can be read by position: in plain files and files of blocks."""
        enterable = self.codec == "none" or self.blocks
        return enterable and self.kind in ("file", "remote")

    @property
    def times(self) -> Between | None:
        """The times of the lines to read, None for all lines."""
        return None if self.segment is None else self.segment.times

    @property
    def is_pipe(self) -> bool:
        """Whether it can be read only once."""
        return self.kind in ("pipe", "stdin", "reader", "provider")


def is_url(location: str) -> bool:
    """Tell a URL from a path.

    >>> is_url("s3://bucket/app.jsonl"), is_url("logs/app.jsonl")
    (True, False)
    """
    return _URL.match(location) is not None


def expand(
    spec: SourceSpec,
    *,
    blocks: bool = True,
    times: Between | None = None,
    name_glob: str | None = None,
) -> list[Source]:
    """List the sources that `spec` names, in order and with duplicates.

    Without `blocks`, compressed files are read in order. With `times`, all sources must be logs,
    and only their lines with these times are read. With `name_glob`, only files whose names match
    are opened.
    """
    several = [spec] if _is_one(spec) else list(cast("Iterable[object]", spec))
    if not several:
        raise UsageError("no source was given")
    # A shell expands ``data*`` to the sidecars of headrace as well.
    paths = {str(one) for one in several if isinstance(one, (str, os.PathLike))}
    sidecars = {path for path in paths if _sidecar_of(path) in paths}
    sources = [
        source
        for one in several
        if str(one) not in sidecars
        for source in _expand_one(one, _Chosen(times, name_glob))
    ]
    if sum(source.kind == "stdin" for source in sources) > 1:
        raise UsageError("standard input can be read only once")
    if times is not None:
        _refuse_without_times(sources)
    return sources if blocks else [replace(source, blocks=False) for source in sources]


def _refuse_without_times(sources: Iterable[Source]) -> None:
    for source in sources:
        if source.segment is None:
            raise UsageError(
                f"{source.location}: since and until select lines of logs by time, and "
                "this is not a log; leave them out, or filter by a field"
            )


def _sidecar_of(path: str) -> str | None:
    """Return the data file if `path` has the name of a sidecar.

    >>> [_sidecar_of(f"a.jsonl{end}") for end in (".ckpt", ".jnx", ".jnx.user_id", "")]
    ['a.jsonl', 'a.jsonl', 'a.jsonl', None]
    """
    if path.endswith(".ckpt"):
        return path.removesuffix(".ckpt")
    data, key_index, _key = f"{path}.".partition(_KEY_INDEX)
    return data if key_index else None


def _is_one(spec: object) -> bool:
    if isinstance(spec, (str, bytes, os.PathLike)) or not isinstance(spec, Iterable):
        return True
    if isinstance(spec, (list, tuple)):
        return False
    from headrace.store.rows.provider import RowProvider

    return isinstance(spec, (Readable, RowProvider))


def _location(one: object) -> str:
    if isinstance(one, (str, os.PathLike)) and isinstance(os.fspath(one), str):
        if location := os.fspath(one):
            return str(location)
        raise UsageError("a source has an empty name; write . for this directory")
    raise UsageError(f"a source is a path, not {type(one).__name__}")


class _Chosen(NamedTuple):
    """A filter on the names of files."""

    times: Between | None
    name_glob: str | None

    def has(self, location: str) -> bool:
        """Whether the filter selects a file."""
        name = PurePath(location).name
        return self.name_glob is None or fnmatchcase(name, self.name_glob)

    def of(self, sources: Iterable[Source]) -> Iterator[Source]:
        """Yield the sources that the filter selects."""
        return (source for source in sources if self.has(source.location))


def _expand_one(one: object, chosen: _Chosen) -> Iterator[Source]:
    if isinstance(one, (str, bytes, os.PathLike)):
        yield from _named(_location(one), chosen)
        return
    from headrace.store.rows.provider import RowProvider

    if isinstance(one, RowProvider):
        yield Source(one.location, "provider", origin=one)
    elif isinstance(one, Readable):
        yield Source(f"<{type(one).__name__}>", "reader", origin=one)
    else:
        _location(one)  # raises


def _named(location: str, chosen: _Chosen) -> Iterator[Source]:
    if location == STDIN:
        yield Source(STDIN, "stdin")
    elif is_url(location):
        yield from _at_url(location, chosen)
    elif _is_set(location):
        yield from chosen.of(_shards(location))
        _warn_of_files_beside(Path(location))
    elif Path(location).is_dir():
        yield from _directory(location, chosen)
    elif os.path.lexists(location) or not glob.has_magic(location):
        yield from _local(location, chosen)
    else:
        from headrace.store.files.patterns import matches
        from headrace.store.log.names import is_log

        found = matches(location)
        logs = [match for match in found if is_log(Path(match))]
        read = {Path(log) for log in logs}
        files = [match for match in found if _is_data(match, read)]
        if not logs and not files:
            raise SourceNotFoundError(location)
        for match in sorted(logs + files):
            if Path(match) in read:
                yield from _directory(match, chosen)
            else:
                yield from _local(match, chosen)


def _is_set(location: str) -> bool:
    """Whether a location is a set; a file without the mark of metadata in its name is none."""
    if _META not in location and Path(location).is_file():
        return False
    from headrace.store.shards.names import is_set

    return is_set(Path(location))


def _directory(location: str, chosen: _Chosen) -> Iterable[Source]:
    from headrace.store.log.names import is_log, lost_manifest

    if is_log(Path(location)) or lost_manifest(Path(location)):
        from headrace.store.log.read.sources import log_sources  # imports this module

        return chosen.of(log_sources(location, chosen.times))
    paths = _some_data_files(Path(location))
    return (source for path in paths for source in _local(path, chosen))


def _shards(location: str) -> list[Source]:
    from headrace.store.shards.shard_set import ShardSet  # imports this module

    return ShardSet(location).sources()


def _warn_of_files_beside(directory: Path) -> None:
    """Warn that a directory with a set has data files that are not part of the set."""
    beside = data_files(directory) if directory.is_dir() else []
    if beside:
        more = f" and {len(beside) - 1} more" if len(beside) > 1 else ""
        message = (
            f"{directory}: the set of shards in it is read, {Path(beside[0]).name}{more} "
            "beside it is not; name files to read them"
        )
        warnings.warn(message, HeadraceWarning, stacklevel=2)


def _at_url(url: str, chosen: _Chosen) -> Iterable[Source]:
    from headrace.store.files import remote
    from headrace.store.shards.remote_set import is_remote_set, may_be_set

    if is_remote_set(url):
        if url.endswith("/") and not may_be_set(url):
            return _remote_directory(url, chosen)
        return chosen.of(_shards(url))
    try:
        return [remote_file(each) for each in filter(chosen.has, remote.find(url))]
    except (SourceNotFoundError, UnreadableError) as error:
        if may_be_set(url):
            return chosen.of(_shards(url))
        if isinstance(error, RemoteDirectoryError):
            return _remote_directory(url, chosen)
        raise


def _remote_directory(url: str, chosen: _Chosen) -> list[Source]:
    from headrace.store.files.object_store import ObjectDirectory
    from headrace.store.shards.names import is_ours

    directory = ObjectDirectory(url)
    names = directory.files()
    data = [directory.at(name) for name in sorted(names) if _is_data_name(name)]
    if not data:
        beside = directory.names()
        if not beside or any(map(is_ours, beside)):
            return _shards(url)  # raises the error that names the missing file
        raise NotNdjsonError(url, _NO_DATA)
    return [remote_file(each) for each in filter(chosen.has, data)]


def data_files(directory: Path) -> list[str]:
    """List the data files of a directory, sorted by name, without subdirectories."""
    with reading(str(directory)):
        names = sorted(path.name for path in directory.iterdir())
    paths = [directory / name for name in names if _is_data_name(name)]
    # A broken link is kept, so that the error on opening it names it.
    return [str(path) for path in paths if path.is_file() or path.is_symlink()]


def matching_files(pattern: str) -> list[str]:
    """List the data files that match a glob, sorted by name."""
    from headrace.store.files.patterns import matches

    return [match for match in matches(pattern) if _is_data(match, set())]


def _some_data_files(directory: Path) -> list[str]:
    """List the data files that match a glob, and raise if there are none."""
    data = data_files(directory)
    if not data:
        reason = _NO_DATA
        if log := _log_below(directory):
            reason = (
                f"no NDJSON in this directory, but logs below it: name one, such as {log}, "
                f"or all of them: '{directory / '**'}/'"
            )
        raise NotNdjsonError(str(directory), reason)
    return data


def _log_below(directory: Path) -> Path | None:
    from headrace.store.log.names import LOCK, is_log

    for depth in range(1, _DEEPEST_LOG + 1):
        below = (path.parent for path in directory.glob("*/" * depth + LOCK))
        if log := min(filter(is_log, below), default=None):
            return log
    return None


def _is_data_name(name: str) -> bool:
    return (
        not name.startswith((".", "_"))
        and not name.endswith(_NO_DATA_SUFFIXES)
        and _KEY_INDEX not in name
        and bool(_DATA_NAME.search(name))
    )


def _is_data(path: str, logs: set[Path]) -> bool:
    """Whether a match of a glob is data: no directory, no sidecar, no metadata.

    Of a log, only segments are data, unless the whole log is read as one of `logs`.
    """
    from headrace.store.log.names import is_segment, is_within_log
    from headrace.store.shards.names import meta_file

    name = Path(path).name
    sidecar = name.endswith(_SIDECAR_SUFFIXES) or _KEY_INDEX in name
    beside = sidecar or meta_file(name) is not None
    if beside or Path(path).is_dir():
        return False
    if is_within_log(Path(path)):
        return is_segment(Path(path)) and Path(path).parent not in logs
    return True


def _local(location: str, chosen: _Chosen) -> Iterator[Source]:
    if not chosen.has(location):
        return
    # The name of a segment of a log begins with the number of lines before it.
    if Path(location).name[:1].isdigit():
        from headrace.store.log.names import is_segment
        from headrace.store.log.read.sources import segment_source

        if is_segment(Path(location)):
            source = segment_source(Path(location), chosen.times)
            if source is not None:
                yield source
                return
    yield local_file(location)


def local_file(location: str) -> Source:
    """Pin a file as it is now."""
    with reading(location):
        if not stat.S_ISREG(Path(location).stat().st_mode):
            return Source(location, "pipe")
        source = _sniffed(location, "file", File(location))
    if os.path.isabs(location):  # noqa: PTH117, as the path is written
        return source
    return replace(source, absolute=os.path.abspath(location))  # noqa: PTH100, without links


def remote_file(url: str) -> Source:
    """Pin a file at a URL as it is now."""
    from headrace.store.files import remote

    state = remote.state(url)
    if not remote.gives_ranges(url, state.size):
        return Source(url, "reader", origin=remote.Stream(url, state))
    with reading(url):
        return _sniffed(url, "remote", remote.open_file(url, state))


def _sniffed(location: str, kind: Kind, file: File) -> Source:
    size, mtime_ns, ctime_ns = file.stat()
    head = file.read_at(0, HEAD_BYTES)
    if head and size == 0:
        # The kernel generates such files (as in /proc) on reading; they have no size.
        return Source(location, "pipe")
    refuse_what_is_no_text(location, head)
    ends = file.fingerprint(size)
    codec = sniff(head)
    tail = file.read_at(max(size - _BLOCK_TAIL_BYTES, 0), _BLOCK_TAIL_BYTES)
    blocks = has_blocks(codec, head, tail)
    version = ctime_ns if kind == "remote" else 0
    return Source(location, kind, codec, size, mtime_ns, ends, blocks, version=version)


_MARKS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)


_INDEXES = (b"JNX\x01", b"JNX\x02")


def refuse_what_is_no_text(location: str, head: bytes) -> None:
    """Raise if a file that begins with `head` is not in UTF-8, or is an index of headrace."""
    if what := foreign_format(head):
        raise NotNdjsonError(location, what)
    if head.startswith(_INDEXES):
        reason = "it is a key index; name its data file"
        raise NotNdjsonError(location, reason)
    encoding = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    if encoding is None and len(head) >= 4:
        # ASCII in UTF-16 has a zero in every other byte; four zeros are no text.
        zeros = [byte == 0 for byte in head[:4]]
        if zeros in ([False, True] * 2, [True, False] * 2):
            encoding = "UTF-16"
    if encoding is not None:
        reason = (
            f"it is {encoding}, and NDJSON is UTF-8; "
            f"convert it: iconv -f {encoding} -t UTF-8 FILE"
        )
        raise NotNdjsonError(location, reason)


def total_size(sources: Iterable[Source]) -> int | None:
    """Return the bytes of all sources on disk, None if a pipe is among them."""
    sizes = [source.size for source in sources]
    return None if END in sizes else sum(sizes)
