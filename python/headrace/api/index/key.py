"""Key indexes: finding rows by the value of a field."""

from __future__ import annotations

import threading
import warnings
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Self, Unpack

from headrace.api.index import key_upkeep
from headrace.api.index.build import MAX_LINE, Engine, place_wanted
from headrace.api.index.key_upkeep import (
    as_it_was,
    build_in,
    maybe_fields,
    no_row_has_key,
    warn_of_keyless,
)
from headrace.api.options import KeyIndexOptions, refuse_unknown
from headrace.engines.index.kinds import KeyBuild
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
    UsageError,
)
from headrace.kernel.key_index import Key, KeyRequest, Meta, request, request_of_json
from headrace.kernel.values import DEEPEST, MAX_DEPTH
from headrace.store.files.opened import Closing, OpenedFile
from headrace.store.files.units import parse_size
from headrace.store.index import key as store
from headrace.store.index import stored_index
from headrace.store.index.catalog import key_options
from headrace.store.index.subject import Indexed, subject_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from headrace.api.options import (
        Fields,
    )
    from headrace.kernel.rows import RowBatch

_TOGETHER = 1024
"""Keys for which new rows are scanned together."""


class KeyIndex(Closing):
    """The rows of a file, or of a set of shards, by the value of a field.

    `open` it to look keys up. Every row that it returns has the key. Where the index is
    missing, damaged or not that of the file any more, the file is scanned, and a
    `HeadraceWarning` says so; with `auto_rebuild` the index is built again first, and with
    `require_index` it is an error. Of a file that has grown, only the new rows are scanned.
    Threads may share a `KeyIndex`. `report_keyless` is called with the name and the key of a
    file that was scanned and has no row with the key [default: a `HeadraceWarning`].

    The other class methods build, update, compact and check the index of a file or a set
    without opening it; `on` may be left out where there is only one.
    """

    def __init__(
        self,
        source: Indexed,
        on: Fields | None = None,
        **options: Unpack[KeyIndexOptions],
    ) -> None:
        refuse_unknown(options, KeyIndexOptions)
        self._subject = subject_of(source)
        self._where = place_wanted(options)
        self._require_index = options.get("require_index", False)
        self._auto_rebuild = options.get("auto_rebuild", False)
        self._report = options.get("report") or warn_of_index
        self.report_keyless: Callable[[str, str], object] = warn_of_keyless
        max_line = options.get("max_line")
        self._max_line = None if max_line is None else parse_size(max_line)
        self._max_depth = options.get("max_depth")
        self._lock = threading.Lock()
        self._opened: OpenedFile | None = self._subject.open()
        self.source = self._opened.source
        stored_index.refuse_unless_file(self.source)
        self._fields = maybe_fields(on)
        # The index as an access to rows; None if every answer is a scan.
        self.leads: LedBy | None = self._open(self._fields)
        # The key of an index that does not fit is known all the same.
        assert self._fields is not None
        self.key = self._fields
        self._reading = Reading(self.key, *self._limits(self.meta))

    @classmethod
    def open(
        cls,
        source: Indexed,
        on: Fields | None = None,
        **options: Unpack[KeyIndexOptions],
    ) -> Self:
        """Open the index of a source to look keys up."""
        return cls(source, on, **options)

    # Index files

    build = staticmethod(key_upkeep.build)
    build_each = staticmethod(key_upkeep.build_each)
    update = staticmethod(key_upkeep.update)
    compact = staticmethod(key_upkeep.compact)
    check = staticmethod(key_upkeep.check)
    stats = staticmethod(key_upkeep.stats)

    # Opening

    def _open(self, fields: tuple[str, ...] | None) -> LedBy | None:
        found = self._look(fields)
        may_build = self._auto_rebuild and self._file.source.seekable
        if isinstance(found, KeyIndexError) and may_build:
            found = self._rebuilt(fields, found)
        if isinstance(found, LedBy):
            return found
        if self._require_index or self._fields is None:
            raise found
        self._report(found)
        return None

    def _rebuilt(
        self, fields: tuple[str, ...] | None, trouble: KeyIndexError
    ) -> LedBy | KeyIndexError:
        """Build the index again with the settings that it has."""
        place = (self._subject.location, self._where, fields)
        known = self._subject.indexes.find(*place)
        if isinstance(known, store.Stored):
            wanted = as_it_was(known)
        elif fields is not None and trouble.kind in ("missing", "corrupt"):
            wanted = KeyBuild(fields)
        else:
            return trouble
        if not isinstance(known, store.Stored) or trouble.kind == "limits":
            max_line, max_depth = self._limits(None)
            wanted = replace(wanted, max_line=max_line, max_depth=max_depth)
        self._report(trouble)
        try:
            list(build_in([self._subject.indexed], wanted, self._where, Engine()))
        except KeyIndexLockedError as error:
            reason = f"{error.holder} is writing it"
            return KeyIndexError(trouble.path, error.path, "locked", reason)
        return self._look(wanted.fields)

    def _look(self, fields: tuple[str, ...] | None) -> LedBy | KeyIndexError:
        """Find an index that can be used, or the reason why there is none."""
        place = (self._subject.location, self._where, fields)
        match self._subject.indexes.find(*place):
            case None:
                return self._subject.indexes.missing(*place)
            case stored_index.Unreadable(path, fault, reason):
                return self._trouble(path, fault, reason, fields)
            case store.Stored() as stored:
                self._fields = stored.meta.key
                return self._judge(stored)

    def _judge(self, stored: store.Stored) -> LedBy | KeyIndexError:
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
            return LedBy(fitting, self._file, self._file.size, grown=False)
        trouble = self._trouble(path, fresh.state, fresh.reason, key)
        if fresh.state == "grown" and not (self._require_index or self._auto_rebuild):
            if (unused := fitting.unused) is not None and unused.fault == "corrupt":
                damage = unused.reason
                self._report(self._trouble(unused.path, "corrupt", damage, key))
            self._report(trouble)
            below = fitting.newest.coverage_end
            return LedBy(fitting, self._file, below, grown=True)
        return trouble

    def _trouble(
        self, path: Path, kind: str, reason: str, key: Sequence[str] | None
    ) -> KeyIndexError:
        build = KeyIndexError.build if key is None else key_options(key, self._where)
        return KeyIndexError(self.source.location, str(path), kind, reason, build)

    def _wants_more_than(self, stored: store.Stored) -> bool:
        """Whether the caller may want rows that were too long or too deep for the index."""
        meta = stored.whole
        longer = self._max_line is not None and self._max_line > meta.max_line
        deeper = self._max_depth is not None and self._max_depth > meta.max_depth
        return (longer and meta.lines.too_long > 0) or (deeper and meta.lines.bad > 0)

    def _limits(self, meta: Meta | None) -> tuple[int, int]:
        """Return the longest and deepest rows to read: the limits that the index was built with."""
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

        A number matches however it is written, and as text too unless `typed`: 1 finds
        ``1``, ``1.0`` and ``"1"``. A key of several fields is a list with a value for each.
        """
        answers = self.answers([request(key, self.key, typed=typed)])
        return [value for _, rows in answers for value in _values(rows)]

    def get_many(
        self, keys: Iterable[Key], *, typed: bool = False
    ) -> Iterator[list[Any]]:
        """Yield the rows of each key, a list for each."""
        requests = (request(key, self.key, typed=typed) for key in keys)
        for some in self.together(requests):
            found: list[list[Any]] = [[] for _ in some]
            for number, rows in self.answers(some):
                found[number] += _values(rows)
            yield from found

    def lookup(self, key: Key, *, typed: bool = False) -> Iterator[int]:
        """Yield the byte offset of each row with a key, after decompression."""
        for _, rows in self.answers([request(key, self.key, typed=typed)]):
            yield from rows.offsets

    def request_of_json(self, text: str) -> KeyRequest:
        """Return the key that is written as JSON; a number does not match text."""
        return request_of_json(text, self.key, typed=True)

    def together(self, requests: Iterable[KeyRequest]) -> Iterator[list[KeyRequest]]:
        """Yield requests in groups that one scan answers.

        One by one with an index, all together without, and in groups of 1024 where a file
        has grown.
        """
        usable, waiting = self.leads, iter(requests)
        most = None if usable is None else _TOGETHER if usable.grown else 1
        while some := list(islice(waiting, most)):
            yield some

    def answers(self, requests: Sequence[KeyRequest]) -> Iterator[tuple[int, RowBatch]]:
        """Yield the number of each request with its rows, in file order."""
        usable = self.leads
        if usable is None:
            yield from self._scanned(requests, 0)
            return
        behind = self._scan(requests, usable.below) if usable.grown else None
        for number, wanted in enumerate(requests):
            given = False
            try:
                for rows in rows_of_index(
                    self._file, usable.stored, wanted, usable.below
                ):
                    given = given or len(rows) > 0
                    yield number, rows
            except KeyIndexError as error:
                if given or self._require_index:
                    raise
                self._give_up(error)
                yield from self._scanned(requests, number)
                return
            if behind is not None:
                yield from self._read(number, wanted, behind[number])

    def _give_up(self, error: KeyIndexError) -> None:
        with self._lock:
            if self.leads is None:
                return
            self.leads = None
        self._report(error)

    def _scanned(
        self, requests: Sequence[KeyRequest], first: int
    ) -> Iterator[tuple[int, RowBatch]]:
        """Answer the requests from `first` on by a scan of all rows."""
        found = self._scan(requests[first:], 0)
        for number, offsets in enumerate(found, start=first):
            yield from self._read(number, requests[number], offsets)

    def _scan(self, requests: Sequence[KeyRequest], start: int) -> list[list[int]]:
        sought = scan(self._file, self._reading, requests, start)
        if start == 0 and no_row_has_key(sought.lines):
            self.report_keyless(self.source.location, ",".join(self.key))
        return sought.offsets

    def _read(
        self, number: int, wanted: KeyRequest, offsets: list[int]
    ) -> Iterator[tuple[int, RowBatch]]:
        if self._file.source.seekable:
            found = rows_of_offsets(self._file, self._reading, wanted, offsets)
        else:
            found = rows_in_order(self._file, self._reading, offsets)
        for rows in found:
            yield number, rows

    # The index itself

    @property
    def usable(self) -> bool:
        """Whether there is an index; if not, every answer is a scan."""
        return self.leads is not None

    @property
    def path(self) -> str | None:
        """The file of the index."""
        return None if self.leads is None else str(self.leads.stored.path)

    @property
    def meta(self) -> Meta | None:
        """What the index and its delta cover."""
        return None if self.leads is None else self.leads.stored.whole

    def is_fresh(self) -> bool:
        """Whether the index is that of the file as it is now."""
        if self.leads is None:
            return False
        now = subject_of(self._subject.location)
        try:
            _, found = now.fitting(self.leads.stored, now.open())
        except KeyIndexError:
            return False
        return found.state == "fresh"

    @property
    def _file(self) -> OpenedFile:
        if self._opened is None:
            raise UsageError(f"{self.source.location}: its key index was closed")
        return self._opened

    def close(self) -> None:
        """Close the files."""
        self._opened = self.leads = None


def _values(rows: RowBatch) -> list[Any]:
    # None is refused: each row was checked when its key was read.
    values, _refused = rows.values(DEEPEST)
    return values


def warn_unless_missing(trouble: KeyIndexError) -> None:
    """Warn of an index that cannot be used, unless there is none."""
    if trouble.kind != "missing":
        warn_of_index(trouble)


def warn_of_index(trouble: KeyIndexError) -> None:
    """Warn of an index that cannot be used, and that rows are scanned instead."""
    done = "the new rows are" if trouble.kind == "grown" else "the file is"
    warnings.warn(f"{trouble.what}; {done} scanned", HeadraceWarning, stacklevel=2)
