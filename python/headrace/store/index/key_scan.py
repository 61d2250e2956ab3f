"""Key scan: the rows that may match a filter on keys, read through a key index.

An index is used only if the result is the same as that of a scan: the index belongs to the file,
every line of the file is blank or valid within the limits of the query, and values that the query
language calls equal have one key in the index. A query over these rows, with the lines that the
index has counted added, has the answers, errors and counts of a query over all rows.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, permutations
from typing import TYPE_CHECKING, NamedTuple

from headrace.errors import HeadraceWarning, KeyIndexError, UsageError
from headrace.kernel.key_index import KeyCandidates, KeyRequest, Meta, request
from headrace.kernel.rows import File, RowBatch, SidecarError, count_rows, reading
from headrace.kernel.tally import Tally
from headrace.store.files.opened import OpenedFile, rows_from
from headrace.store.files.sidecars import sidecar_places
from headrace.store.index.catalog import SUFFIX, suffix_of
from headrace.store.index.key import INDEXES, Stored
from headrace.store.index.stored_index import Unreadable, fitting
from headrace.store.rows.demand import IndexEstimate, IndexPolicy, Keys, NoKeyRows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from headrace.store.files.source import Source
    from headrace.store.index.set.manifest import CoveredPart
    from headrace.store.rows.row_file import RowFile

_MOST_FIELDS = 3
"""Limit on the fields of a filter of which all orders are tried as keys."""

_FIRST_ROWS = 16
_BATCH_ROWS = 4096
_BATCH_BYTES = 1 << 20


class Proven(NamedTuple):
    """The identity of an index that is proven to belong to its file."""

    path: str
    build: tuple[object, ...]


class Passed(NamedTuple):
    """The number of lines that a scan would have read, and of blank lines among them."""

    lines: int
    blank: int


class PartPlace(NamedTuple):
    """The bytes of a part among those of all parts of the index of its set."""

    part: CoveredPart
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class KeyRows:
    """The rows of one file that an index leads to, in file order, and why it is used.

    `part`: the file is a part of a set, and the index is that of the set.
    """

    file: RowFile
    stored: Stored
    candidates: KeyCandidates
    part: PartPlace | None = None
    reason: str = ""

    @property
    def opened(self) -> OpenedFile:
        """The opened file."""
        return self.file.open()

    @property
    def source(self) -> Source:
        """The file with the rows."""
        return self.file.source

    def place(self, row: int, offset: int, *, reverse: bool) -> tuple[int | None, int]:
        """Return the line and the byte of a place in a row, whose number is not known."""
        del reverse
        return self.file.place(row, offset, reverse=True)

    @property
    def proven(self) -> Proven:
        """The identity of the index, with which other processes use it without a proof."""
        path, index = str(self.stored.path.absolute()), self.stored.index
        if self.part is not None:
            return Proven(path, (self.part.part,))
        return Proven(path, (index.build_id, index.delta))

    def doubt(self, *, prove: bool, proven: Collection[Proven] = ()) -> str:
        """Return why the index may not be that of the file, empty if it is.

        `prove`: the file may be read for that, which takes less than reading its rows. An index
        that is `proven` needs no other proof.
        """
        if self.proven in proven:
            return ""
        if self.part is not None:
            if self.part.part.is_unchanged(self.source, prove=prove):
                return ""
            return "part_modified" if prove else "source_unproven"
        stored, opened = self.stored, self.opened
        try:
            usable, fresh = fitting(stored, opened.source, opened, prove=prove)
        except KeyIndexError as error:
            warn(error.what)
            return error.reason
        if fresh.state == "fresh" and usable is stored:
            return ""
        return fresh.reason or "its delta does not belong to the file"

    @property
    def estimate(self) -> IndexEstimate:
        """The number of found rows, of all rows of the file."""
        path, meta = str(self.stored.path), self.stored.whole
        return IndexEstimate(path, meta.key, meta.keys, len(self), self.lines().lines)

    def __len__(self) -> int:
        return len(self.candidates)

    def batches(self, *, ends_at_long_row: bool = False) -> Iterator[RowBatch]:  # noqa: ARG002, an index is of rows within the limit
        """Yield the rows in order."""
        at, count = 0, _FIRST_ROWS
        while at < len(self):
            batch = self._read(at, count)
            yield batch
            at, count = at + len(batch), min(2 * count, _BATCH_ROWS)

    def backwards(self) -> Iterator[RowBatch]:
        """Yield runs of rows, the last run first; a run is in order."""
        end, count = len(self), _FIRST_ROWS
        while end > 0:
            count = min(count, end)
            batch = self._read(end - count, count)
            if len(batch) < count:
                # The rows are long: a shorter run contains its last row.
                count = max(count // 2, 1)
                continue
            yield batch
            end, count = end - count, min(2 * count, _BATCH_ROWS)

    def _read(self, first: int, count: int) -> RowBatch:
        try:
            with reading(self.opened.path):
                batch = self._rows(first, count, _BATCH_BYTES)
        except SidecarError as error:
            # If the source was changed, that is the error, not its index.
            self.opened.check()
            raise _damaged(self.opened.path, self.stored.path, error) from None
        self.opened.check()
        return batch

    def _rows(self, first: int, count: int, max_bytes: int) -> RowBatch:
        opened, part = self.opened, self.part
        data, size = opened.data, opened.size
        if part is not None:
            size = part.end
            data = File.remote(partial(_read_in_set, data, part), lambda: (size, 0, 0))
        return self.stored.index.rows(
            data,
            self.candidates,
            size=size,
            first=first,
            count=count,
            max_bytes=max_bytes,
            begins=self._start,
        )

    @property
    def _start(self) -> int:
        """The byte of the index at which the file begins."""
        return 0 if self.part is None else self.part.start

    @property
    def offsets(self) -> list[int]:
        """The offset of each row in the decoded file."""
        start = self._start
        return [offset - start for offset in self.candidates.offsets]

    def _offset(self, number: int) -> int:
        """Return the offset of a row in the file."""
        offset = self.candidates.offset(number)
        assert offset is not None  # the number is below the length
        return offset - self._start

    def lines(self) -> Passed:
        """Return the lines of the file."""
        part = self.part
        lines = self.stored.whole.lines if part is None else part.part.lines
        return Passed(lines.lines, lines.blank)

    def lines_with(self, rows: int, *, reverse: bool) -> Passed:
        """Return the lines that a scan would have read for the first `rows` rows."""
        if rows == 0:
            return Passed(0, 0)
        offset = self._offset(len(self) - rows if reverse else rows - 1)
        with reading(self.opened.path):
            before = count_rows(self.opened.data, self.opened.size, 0, offset)
        self.opened.check()
        all_lines, all_blank = self.lines()
        blank = self._blank_before(offset) if all_blank else 0
        if reverse:
            return Passed(all_lines - before, all_blank - blank)
        return Passed(before + 1, blank)

    def _blank_before(self, offset: int) -> int:
        meta = self.stored.whole
        tally = Tally(self.opened.path, meta.max_depth)
        rows = rows_from(self.opened, meta.max_line, end=offset, at_row=True)
        while (batch := rows.next_batch(_BATCH_ROWS, _BATCH_BYTES)) is not None:
            tally.add(batch)
        return tally.stats.blank


def _read_in_set(data: File, part: PartPlace, offset: int, length: int) -> bytes:
    """Read a part as it lies in its set: after other bytes, of which the last is a newline."""
    if offset < part.start:
        return b"\n"
    length = min(length, part.end - offset)
    return data.read_at(offset - part.start, max(length, 0))


def find(
    file: RowFile,
    keys: Keys,
    max_depth: int,
    policy: IndexPolicy,
    *,
    prove: bool,
    proven: Collection[Proven] = (),
) -> KeyRows | NoKeyRows:
    """Find the rows that match a filter on keys, if `policy` chooses an index.

    `prove` and `proven` are those of `KeyRows.doubt`. The index of the set of a part is tried
    first, because it needs no open file.
    """
    from headrace.store.index.set import part_scan

    refused: list[IndexEstimate] = []
    for offered in (part_scan.offers, offers):
        found = list(offered(file, keys, max_depth, policy))
        best = _chosen(
            found, policy, partial(KeyRows.doubt, prove=prove, proven=proven)
        )
        if isinstance(best, KeyRows):
            return best
        refused += best
    return NoKeyRows(policy.choose_index(refused).reason)


def offers(
    file: RowFile, keys: Keys, max_depth: int, policy: IndexPolicy
) -> Iterator[KeyRows | IndexEstimate]:
    """Yield, for each key index of a file, the rows that match a filter, or why it cannot be used."""
    opened, options = file.open(), file.options
    location = opened.source.location
    for path in places(location, keys, options.keeping.directory, SUFFIX):
        match INDEXES.read(path):
            case Unreadable(fault="corrupt", reason=reason):
                warn(f"{opened.path}: {path}: {reason}")
                yield IndexEstimate(str(path), refusal=reason)
            case Stored() as stored if set(stored.whole.key) <= set(keys.names):
                found = looked_up(opened.path, stored, keys, policy)
                reason = limits(stored.whole, options.max_line, max_depth)
                if isinstance(found, IndexEstimate):
                    yield found
                elif reason:
                    yield IndexEstimate(str(path), refusal=reason)
                else:
                    yield KeyRows(file, stored, found)
            case _:
                pass


def _chosen(
    found: list[KeyRows | IndexEstimate],
    policy: IndexPolicy,
    doubt: Callable[[KeyRows], str],
) -> KeyRows | list[IndexEstimate]:
    """Return the rows of the best index that is proven to be that of its file.

    If no index can be used, the estimates say why.
    """
    while True:
        estimates = [
            each if isinstance(each, IndexEstimate) else each.estimate for each in found
        ]
        number, reason = policy.choose_index(estimates)
        if number is None:
            return estimates
        best = found[number]
        assert isinstance(best, KeyRows)
        refusal = doubt(best)
        if not refusal:
            return replace(best, reason=reason)
        found[number] = IndexEstimate(estimates[number].path, refusal=refusal)


def places(
    location: str, keys: Keys, directory: str | None, *others: str
) -> Iterator[Path]:
    """Yield the paths of indexes of these fields or some of them, and of the `others` by suffix."""
    names = keys.names[:_MOST_FIELDS]
    counts = range(1, len(names) + 1)
    orders = [order for count in counts for order in permutations(names, count)]
    for suffix in (*others, *map(suffix_of, orders)):
        yield from sidecar_places(location, suffix, directory)


def looked_up(
    location: str, stored: Stored, keys: Keys, policy: IndexPolicy
) -> KeyCandidates | IndexEstimate:
    """Return where rows begin that may have one of the keys, or why the index cannot be used."""
    requests = _requests(stored, keys)
    path = str(stored.path)
    if isinstance(requests, str):
        return IndexEstimate(path, refusal=requests)
    most = policy.most_rows(stored.whole.records)
    try:
        with reading(path):
            candidates = stored.index.candidates(requests, most)
    except SidecarError as error:
        damage = _damaged(location, stored.path, error)
        warn(damage.what)
        return IndexEstimate(path, refusal=damage.reason)
    return IndexEstimate(path) if candidates is None else candidates


def _requests(stored: Stored, keys: Keys) -> list[KeyRequest] | str:
    """Return the keys to look up, or why they cannot be looked up."""
    several = list(islice(keys.keys(stored.whole.key), keys.most + 1))
    if len(several) > keys.most:
        return f"more than {keys.most} keys would have to be looked up"
    is_number = any(
        isinstance(value, int | float) and not isinstance(value, bool)
        for key in several
        for value in key
    )
    if is_number and not stored.whole.plain_numbers:
        return "it has numbers with more digits than it compares"
    single = len(stored.whole.key) == 1
    try:
        return [
            request(key[0] if single else key, stored.whole.key, typed=True)
            for key in several
        ]
    except UsageError as error:
        return str(error)


def limits(meta: Meta, max_line: int, max_depth: int) -> str:
    """Return why the other rows of the file must be read as well, empty if they need not."""
    if meta.lines.bad or meta.lines.too_long or meta.lines.pending:
        return "lines are bad, and a scan reports them"
    if meta.max_line > max_line or meta.max_depth > max_depth:
        return "it was built with larger limits (max_line, max_depth)"
    return ""


def _damaged(source: str, path: Path, error: SidecarError) -> KeyIndexError:
    return KeyIndexError(source, str(path), "corrupt", error.damage)


def warn(what: str) -> None:
    """Warn that an index cannot be used."""
    warnings.warn(f"{what}; the file is scanned", HeadraceWarning, stacklevel=2)
