"""Key indexes: rows by the value of a field."""

from __future__ import annotations

import os
import threading
import warnings
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, Literal

from headrace.api.index import set as set_index
from headrace.api.index.build import Engine, EngineName, build_each
from headrace.engines.index.kinds import Built, KeyBuild
from headrace.engines.local.key_lookup import (
    LedBy,
    Reading,
    rows_in_order,
    rows_of_index,
    rows_of_offsets,
    scan,
)
from headrace.errors import (
    HeadraceWarning,
    KeyIndexError,
    KeyIndexLockedError,
    StrictRowError,
    UsageError,
)
from headrace.kernel.key_index import Key, request, request_of_json
from headrace.kernel.values import DEEPEST, MAX_DEPTH
from headrace.store.files.closing import Closing
from headrace.store.files.source import Source
from headrace.store.files.units import parse_size
from headrace.store.index import file as files
from headrace.store.index import key as store
from headrace.store.index.target import each_with_rows, subject_of
from headrace.store.shards.shard_set import ShardSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from headrace.kernel.index_meta import Lines
    from headrace.kernel.key_index import KeyRequest, Meta, Skipped, Written
    from headrace.kernel.rows import RowBatch
    from headrace.store.files.opened import OpenedFile
    from headrace.store.files.source import SourceSpec
    from headrace.store.index.target import Indexed

MAX_LINE = 64 << 20
MEMORY = 256 << 20
LEAST_MEMORY = 1 << 20

_TOGETHER = 1024
"""Keys that new rows are scanned for together."""


def build_lookup_index(
    source: Indexed,
    key: str | Sequence[str],
    *,
    mode: Literal["multi", "unique"] = "multi",
    version: Literal[1, 2] | None = None,
    memory: int | str = MEMORY,
    threads: int | None = None,
    index: str | os.PathLike[str] | None = None,
    index_dir: str | os.PathLike[str] | None = None,
    force: bool = False,
    strict: bool = False,
    max_line: int | str = MAX_LINE,
    max_depth: int = MAX_DEPTH,
    engine: EngineName = "local",
    master: str | None = None,
    partition_bytes: int | str | None = None,
    progress: Callable[[int, int], None] = lambda _bytes, _records: None,
    skipped: Callable[[Sequence[Skipped]], None] | None = None,
) -> Built[Written]:
    """Build the index of a field, or of several together, and return what came of it.

    With the mode ``"unique"``, two rows with one key are an error that names both
    lines. Version 2 is about six bytes a row, and is taken without being asked for where
    version 1 has no room. Lines that are bad, and rows without the field, are passed
    over and counted, and given to `skipped`, some at a time; with `strict`, a bad line is
    an error. The index is ``SOURCE.jnx``, ``SOURCE.jnx.KEY`` if that is the index of
    another key, which with `force` is replaced; or it is `index`, or lies in `index_dir`.
    Whoever comes while somebody else writes it is refused. With the engine ``"spark"``, tasks
    at `master` read `partition_bytes` of the file each, `memory` is that of one task, and
    the bytes of the index are the same.

    A set of shards has one index for all its parts, a directory beside it, ``SET.jnx.KEY``,
    which is always of version 2.
    """
    (built,) = build_lookup_indexes(
        [subject_of(source).indexed],
        key,
        mode=mode,
        version=version,
        memory=memory,
        threads=threads,
        index=index,
        index_dir=index_dir,
        force=force,
        strict=strict,
        max_line=max_line,
        max_depth=max_depth,
        engine=engine,
        master=master,
        partition_bytes=partition_bytes,
        progress=progress,
        skipped=skipped,
    )
    if no_row_has_key(built.lines):
        warn_of_keyless(subject_of(source).location, ",".join(fields_of(key)))
    return built


def build_lookup_indexes(
    sources: SourceSpec | ShardSet | Sequence[Source | ShardSet],
    key: str | Sequence[str],
    *,
    mode: Literal["multi", "unique"] = "multi",
    version: Literal[1, 2] | None = None,
    memory: int | str = MEMORY,
    threads: int | None = None,
    index: str | os.PathLike[str] | None = None,
    index_dir: str | os.PathLike[str] | None = None,
    force: bool = False,
    strict: bool = False,
    max_line: int | str = MAX_LINE,
    max_depth: int = MAX_DEPTH,
    engine: EngineName = "local",
    master: str | None = None,
    partition_bytes: int | str | None = None,
    progress: Callable[[int, int], None] = lambda _bytes, _records: None,
    skipped: Callable[[Sequence[Skipped]], None] | None = None,
) -> Iterator[Built[Written]]:
    """Build an index of each of several files or sets, and yield what came of each, in order.

    The segments of a log, the files of a glob, sets, or any others; see
    `build_lookup_index`. With the engine ``"spark"`` files are built together. What is wrong
    with one is raised when those before it are built, and those behind it are not.
    """
    if mode not in ("multi", "unique"):
        raise UsageError(f"mode is 'multi' or 'unique', not {mode!r}")
    if version not in (None, 1, 2):
        raise UsageError(f"version is 1 or 2, not {version!r}")
    asked = KeyBuild(
        fields_of(key),
        mode == "unique",
        version,
        memory=max(parse_size(memory), LEAST_MEMORY),
        threads=threads,
        max_line=parse_size(max_line),
        max_depth=max_depth,
        strict=strict,
        progress=progress,
        skipped=skipped,
    )
    every = each_with_rows(sources)
    return _build_each(
        every,
        asked,
        where_of(index, index_dir, of=len(every)),
        Engine(engine, master, partition_bytes),
        force=force,
    )


def _build_each(
    every: Sequence[Source | ShardSet],
    asked: KeyBuild,
    where: files.Where,
    engine: Engine,
    *,
    force: bool = False,
) -> Iterator[Built[Written]]:
    """Build the index of each file or set in the first place where it can be written."""
    for _kind, some in groupby(every, type):
        together = list(some)
        sources = [one for one in together if isinstance(one, Source)]
        yield from build_each(sources, asked, where, engine, force=force)
        for one in together:
            if isinstance(one, ShardSet):
                yield set_index.build_somewhere(one, asked, where, engine)


def as_it_was(known: store.Stored) -> KeyBuild:
    """Return how an index is built again."""
    meta = known.meta
    return KeyBuild(
        meta.key,
        meta.mode == "unique",
        2 if known.index.version == 2 else None,
        max_line=meta.max_line,
        max_depth=meta.max_depth,
    )


def fields_of(key: str | Sequence[str]) -> tuple[str, ...]:
    """Return the fields of a key.

    A text names one field, or several with commas between them, as on the command line;
    a list has a name in each place, which may have commas itself.

    >>> fields_of("a,b"), fields_of(["a,b"])
    (('a', 'b'), ('a,b',))
    """
    fields = tuple(key.split(",")) if isinstance(key, str) else tuple(key)
    unnamed = isinstance(key, str) and not all(fields)
    if not fields or unnamed or not all(isinstance(each, str) for each in fields):
        raise UsageError(
            f"{key!r}: a key is the name of a field, or several with commas between them"
        )
    if len(set(fields)) < len(fields):
        raise UsageError(f"a key has each field once: {','.join(fields)}")
    return fields


def where_of(
    index: str | os.PathLike[str] | None,
    index_dir: str | os.PathLike[str] | None,
    *,
    of: int = 1,
) -> files.Where:
    """Return where indexes are."""
    if index is not None and of > 1:
        raise UsageError(f"index: there is an index for each of {of} files")
    path, directory = (
        None if place is None else os.fspath(place) for place in (index, index_dir)
    )
    return files.Where(path, directory)


@dataclass(frozen=True, slots=True)
class _Usable:
    """An index, and up to which byte it answers."""

    stored: store.Stored
    below: int
    grown: bool


def open_lookup_index(
    source: str | os.PathLike[str],
    key: str | Sequence[str] | None = None,
    *,
    index: str | os.PathLike[str] | None = None,
    index_dir: str | os.PathLike[str] | None = None,
    strict: bool = False,
    auto_rebuild: bool = False,
) -> KeyIndex:
    """Open the index of a source for looking keys up; see `KeyIndex`."""
    return KeyIndex(
        source,
        key,
        index=index,
        index_dir=index_dir,
        strict=strict,
        auto_rebuild=auto_rebuild,
    )


class KeyIndex(Closing):
    """Finds the rows of a file, or of a set of shards, by the value of a field.

    Any number of threads may ask. Every row that is given has the key that was asked
    for. Where the index is missing, damaged or not that of the file any more, the file is
    scanned, and a `HeadraceWarning` says so; with `auto_rebuild` the index is built anew
    first, and with `strict` it is an error. Of a file that has grown, only the new rows
    are scanned. `report_keyless` is called with the name and the key of a file that was
    scanned and has no row with the key; its default is a `HeadraceWarning`.
    """

    def __init__(
        self,
        source: Indexed,
        key: str | Sequence[str] | None = None,
        *,
        index: str | os.PathLike[str] | None = None,
        index_dir: str | os.PathLike[str] | None = None,
        strict: bool = False,
        auto_rebuild: bool = False,
        max_line: int | str | None = None,
        max_depth: int | None = None,
        tell: Callable[[KeyIndexError], None] | None = None,
    ) -> None:
        self._subject = subject_of(source)
        fields = None if key is None else fields_of(key)
        self._where = where_of(index, index_dir)
        self._strict, self._auto_rebuild = strict, auto_rebuild
        self._tell = tell or warn_of_index
        self.report_keyless: Callable[[str, str], object] = warn_of_keyless
        self._max_line = None if max_line is None else parse_size(max_line)
        self._max_depth = max_depth
        self._lock = threading.Lock()
        self._opened: OpenedFile | None = self._subject.open()
        self.source = self._opened.source
        files.refuse_unless_file(self.source)
        self._fields = fields
        self._usable = self._open(fields)
        # Of an index that does not fit, the key is known all the same.
        assert self._fields is not None
        self.key = self._fields
        self._reading = Reading(self.key, *self._limits(self.meta))

    # Opening

    def _open(self, fields: tuple[str, ...] | None) -> _Usable | None:
        found = self._look(fields)
        may_build = self._auto_rebuild and self._file.source.seekable
        if isinstance(found, KeyIndexError) and may_build:
            found = self._rebuilt(fields, found)
        if isinstance(found, _Usable):
            return found
        if self._strict or self._fields is None:
            raise found
        self._tell(found)
        return None

    def _rebuilt(
        self, fields: tuple[str, ...] | None, trouble: KeyIndexError
    ) -> _Usable | KeyIndexError:
        """Build the index anew, as it was."""
        known = self._subject.find(fields, self._where)
        if isinstance(known, store.Stored):
            asked = as_it_was(known)
        elif fields is not None and trouble.kind in ("missing", "corrupt"):
            asked = KeyBuild(fields)
        else:
            return trouble
        if not isinstance(known, store.Stored) or trouble.kind == "limits":
            max_line, max_depth = self._limits(None)
            asked = replace(asked, max_line=max_line, max_depth=max_depth)
        self._tell(trouble)
        try:
            list(_build_each([self._subject.indexed], asked, self._where, Engine()))
        except KeyIndexLockedError as error:
            reason = f"{error.holder} is writing it"
            return KeyIndexError(trouble.path, error.path, "locked", reason)
        return self._look(asked.fields)

    def _look(self, fields: tuple[str, ...] | None) -> _Usable | KeyIndexError:
        """Find an index that can be used, or say why there is none."""
        match self._subject.find(fields, self._where):
            case None:
                return self._subject.missing(fields, self._where)
            case files.Unreadable(path, fault, reason):
                return self._trouble(path, fault, reason, fields)
            case store.Stored() as stored:
                self._fields = stored.meta.key
                return self._judge(stored)

    def _judge(self, stored: store.Stored) -> _Usable | KeyIndexError:
        key, path = stored.meta.key, stored.path
        if not self._file.source.seekable:
            return self._trouble(path, "stale", "source_unseekable", key)
        if self._wants_more_than(stored):
            reason = (
                "rows that it left out are wanted: max_line or max_depth was smaller"
            )
            return self._trouble(path, "limits", reason, key)
        try:
            fitting, fresh = self._subject.fitting(stored, self._file)
        except KeyIndexError as error:
            return error
        if fresh.state == "fresh":
            return _Usable(fitting, self._file.size, grown=False)
        trouble = self._trouble(path, fresh.state, fresh.reason, key)
        if fresh.state == "grown" and not (self._strict or self._auto_rebuild):
            if (unused := fitting.unused) is not None and unused.fault == "corrupt":
                damage = unused.reason
                self._tell(self._trouble(unused.path, "corrupt", damage, key))
            self._tell(trouble)
            return _Usable(fitting, fitting.newest.coverage_end, grown=True)
        return trouble

    def _trouble(
        self, path: Path, kind: str, reason: str, key: Sequence[str] | None
    ) -> KeyIndexError:
        build = (
            KeyIndexError.build
            if key is None
            else store.build_options(key, self._where)
        )
        return KeyIndexError(self.source.location, str(path), kind, reason, build)

    def _wants_more_than(self, stored: store.Stored) -> bool:
        """Whether rows may be wanted that were too long or too deep for an index."""
        meta = stored.whole
        longer = self._max_line is not None and self._max_line > meta.max_line
        deeper = self._max_depth is not None and self._max_depth > meta.max_depth
        return (longer and meta.lines.too_long > 0) or (deeper and meta.lines.bad > 0)

    def _limits(self, meta: Meta | None) -> tuple[int, int]:
        """Return how long and how deep rows are read: as those in the index were."""
        if meta is not None:
            return meta.max_line, meta.max_depth
        line, depth = self._max_line, self._max_depth
        return (
            MAX_LINE if line is None else line,
            MAX_DEPTH if depth is None else depth,
        )

    # Answers

    def get(self, key: Key, *, typed: bool = False) -> list[Any]:
        """Return the rows that have a key, in file order.

        A number is looked for however it is written, and unless `typed` as text too:
        1 finds ``1``, ``1.0`` and ``"1"``. Of a composite key, give a value for each field.
        """
        asked = request(key, self.key, typed=typed)
        return [value for _, rows in self.answers([asked]) for value in _values(rows)]

    def get_many(
        self, keys: Iterable[Key], *, typed: bool = False
    ) -> Iterator[list[Any]]:
        """Yield the rows of each key."""
        requests = (request(key, self.key, typed=typed) for key in keys)
        for some in self.together(requests):
            found: list[list[Any]] = [[] for _ in some]
            for number, rows in self.answers(some):
                found[number] += _values(rows)
            yield from found

    def lookup(self, key: Key, *, typed: bool = False) -> Iterator[int]:
        """Yield the bytes at which the rows with a key begin, after decompression."""
        for _, rows in self.answers([request(key, self.key, typed=typed)]):
            yield from rows.offsets

    def request_of_json(self, text: str) -> KeyRequest:
        """Return the key that a JSON text says; a number is not looked for as text."""
        return request_of_json(text, self.key, typed=True)

    def together(self, requests: Iterable[KeyRequest]) -> Iterator[list[KeyRequest]]:
        """Yield requests as they are best answered.

        With an index at once, without one all in one scan, and of a file that has grown
        some at a time.
        """
        usable, waiting = self._usable, iter(requests)
        most = None if usable is None else _TOGETHER if usable.grown else 1
        while some := list(islice(waiting, most)):
            yield some

    def answers(self, requests: Sequence[KeyRequest]) -> Iterator[tuple[int, RowBatch]]:
        """Yield the rows of each request as they stand in the file, with its number."""
        usable = self._usable
        if usable is None:
            yield from self._scanned(requests, 0)
            return
        behind = self._scan(requests, usable.below) if usable.grown else None
        for number, asked in enumerate(requests):
            given = False
            try:
                for rows in rows_of_index(
                    self._file, usable.stored, asked, usable.below
                ):
                    given = given or len(rows) > 0
                    yield number, rows
            except KeyIndexError as error:
                if given or self._strict:
                    raise
                self._give_up(error)
                yield from self._scanned(requests, number)
                return
            if behind is not None:
                yield from self._read(number, asked, behind[number])

    def _give_up(self, error: KeyIndexError) -> None:
        with self._lock:
            if self._usable is None:
                return
            self._usable = None
        self._tell(error)

    def _scanned(
        self, requests: Sequence[KeyRequest], first: int
    ) -> Iterator[tuple[int, RowBatch]]:
        """Answer the requests from `first` on by looking at every row."""
        found = self._scan(requests[first:], 0)
        for number, offsets in enumerate(found, start=first):
            yield from self._read(number, requests[number], offsets)

    def _scan(self, requests: Sequence[KeyRequest], start: int) -> list[list[int]]:
        sought = scan(self._file, self._reading, requests, start)
        bad = [row for row in sought.skipped if row.cause in ("bad", "too_long")]
        if bad and self._strict:
            line = bad[0].line if start == 0 else None
            raise StrictRowError(
                self.source.location, line, bad[0].offset, bad[0].reason
            )
        if start == 0 and no_row_has_key(sought.lines):
            self.report_keyless(self.source.location, ",".join(self.key))
        return sought.offsets

    def _read(
        self, number: int, asked: KeyRequest, offsets: list[int]
    ) -> Iterator[tuple[int, RowBatch]]:
        if self._file.source.seekable:
            found = rows_of_offsets(self._file, self._reading, asked, offsets)
        else:
            found = rows_in_order(self._file, self._reading, offsets)
        for rows in found:
            yield number, rows

    # The index itself

    @property
    def usable(self) -> bool:
        """Whether there is an index; if not, every answer is a scan."""
        return self._usable is not None

    @property
    def path(self) -> str | None:
        """The file of the index."""
        return None if self._usable is None else str(self._usable.stored.path)

    @property
    def meta(self) -> Meta | None:
        """What the index is of, with its delta if it has one."""
        return None if self._usable is None else self._usable.stored.whole

    @property
    def leads(self) -> LedBy | None:
        """The index as a way to rows, for who looks up many keys at once."""
        usable = self._usable
        if usable is None:
            return None
        return LedBy(usable.stored, self._file, usable.below, usable.grown)

    def is_fresh(self) -> bool:
        """Whether the index is that of the file as it is now."""
        if self._usable is None:
            return False
        now = self._subject.now()
        try:
            _, found = now.fitting(self._usable.stored, now.open())
        except KeyIndexError:
            return False
        return found.state == "fresh"

    @property
    def _file(self) -> OpenedFile:
        if self._opened is None:
            raise UsageError(f"{self.source.location}: its key index was closed")
        return self._opened

    def close(self) -> None:
        """Let go of the files."""
        self._opened = self._usable = None


def _values(rows: RowBatch) -> list[Any]:
    # None is refused: each row was checked when its key was read.
    values, _refused = rows.values(DEEPEST)
    return values


def no_row_has_key(lines: Lines) -> bool:
    """Whether there are rows, none of them with the key; its name may be mistyped."""
    return lines.records == 0 and lines.lines > lines.blank


def warn_of_keyless(location: str, key: str) -> None:
    """Say that no row has the key, as a Python warning."""
    message = f"{location}: no row has the key {key}"
    warnings.warn(message, HeadraceWarning, stacklevel=2)


def warn_unless_missing(trouble: KeyIndexError) -> None:
    """Say what is wrong with an index, where one would be welcome but need not be."""
    if trouble.kind != "missing":
        warn_of_index(trouble)


def warn_of_index(trouble: KeyIndexError) -> None:
    """Say what is wrong with an index, and what is done about it, as a Python warning."""
    done = "the new rows are" if trouble.kind == "grown" else "the file is"
    warnings.warn(f"{trouble.what}; {done} scanned", HeadraceWarning, stacklevel=2)
