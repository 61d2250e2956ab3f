"""Compiled queries, run by the core.

`Stage`, `JoinTable`, `Sources` and `Cancel` are the core's own classes: a stage of one run, a
side of a join by its keys, values that programs have by number, and a flag that ends queries in
other threads.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from headrace import _native
from headrace._native import Cancel, JoinTable, Sources, Stage, available_threads
from headrace.errors import MemoryExceededError, QueryFailedError
from headrace.kernel.rows import END
from headrace.kernel.values import InvalidJsonError
from headrace.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.kernel.rows import RowBatch

N = TypeVar("N", _native.RowQuery, _native.StreamQuery)

__all__ = [
    "Answers",
    "Cancel",
    "Counts",
    "Frame",
    "GroupParts",
    "JoinTable",
    "MergedGroups",
    "Output",
    "Program",
    "Refused",
    "RowQuery",
    "SiftedRow",
    "Sources",
    "Stage",
    "StreamQuery",
    "Texts",
    "available_threads",
    "refused_row",
]

Output: TypeAlias = Literal["answer", "elements", "match"]
"""The answer, its elements, or the row itself if the answer is truthy."""


@record
class Frame:
    """Lines of a key, a separator and JSON; `null_payload`: what JSON of null means."""

    separator: str
    null_payload: Literal["skip", "keep", "error"] = "skip"


PruneCode: TypeAlias = tuple[bytes, tuple[bool, ...], int]
"""The code of a program that gives the keys of an element, which of them fall, and how many of the
best elements are held."""

SlotCode: TypeAlias = tuple[str, int, tuple[bool, ...], str]
"""The kind of a slot, how many elements it holds, which of its keys fall, and the function of its
numbers."""


class Texts(NamedTuple):
    """Arrow's buffers of texts: where each ends, 32 bits, beginning with 0; the bytes."""

    ends: bytes
    data: bytes


class GroupParts(NamedTuple):
    """Groups one by one, for a shuffle, in the order of the first element of each.

    `came` is how many elements came, `firsts` how many of them came before each group, 64 bits
    each. `names` tell groups apart; `parts` are for `StreamQuery.merge_groups`.
    """

    came: int
    firsts: bytes
    names: Texts
    parts: Texts


class MergedGroups(NamedTuple):
    """Groups that were merged: the place of the first element of each, 64 bits, and its text.

    A text is an array of the keys and one of the slots, or of a name and its value. `colliding` has the place of the first
    element whose name came with two kinds, `failed` that of the first group with a slot without a
    result, which has no text, each with the reason.
    """

    firsts: bytes
    texts: Texts
    colliding: tuple[int, str] | None
    failed: tuple[int, str] | None


class Program:
    """A query that is ready to run; it can be sent to another process."""

    def __init__(self, query: str, code: bytes) -> None:
        self.query = query
        self.code = code
        try:
            self.native = _native.Program(code)
        except ValueError as error:
            raise QueryFailedError(query, 0, str(error)) from None

    def __reduce__(self) -> tuple[type[Program], tuple[str, bytes]]:
        return Program, (self.query, self.code)

    def evaluate(
        self, document: bytes, max_depth: int, sources: Sources | None = None
    ) -> bytes:
        """Return the answer over one document, as JSON."""
        try:
            return self.native.evaluate(document, max_depth, sources)
        except _native.KernelError as error:
            kind, offset, reason = error.args
            if kind == "query":
                raise QueryFailedError(self.query, offset, reason) from None
            raise InvalidJsonError(offset, reason) from None


@record
class Counts:
    """Rows of a query; rows = emitted + filtered + skipped + blank + outside.

    Over the stream of all rows, `emitted` are those that the answer is made of. `outside` are
    lines of logs that were skipped because of their times.
    """

    rows: int = 0
    emitted: int = 0
    filtered: int = 0
    skipped: int = 0
    blank: int = 0
    outside: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.rows + other.rows,
            self.emitted + other.emitted,
            self.filtered + other.filtered,
            self.skipped + other.skipped,
            self.blank + other.blank,
            self.outside + other.outside,
        )

    def __sub__(self, other: Counts) -> Counts:
        return Counts(
            self.rows - other.rows,
            self.emitted - other.emitted,
            self.filtered - other.filtered,
            self.skipped - other.skipped,
            self.blank - other.blank,
            self.outside - other.outside,
        )


@record
class Refused:
    """A row that has no answer. `column` is where in the query, if the row is good."""

    row: int
    offset: int
    reason: str
    column: int | None


@record
class Answers:
    """Lines of output; `end` is the position in the batch behind the last evaluated row."""

    lines: bytes
    end: int
    refused: Refused | None


class SiftedRow(NamedTuple):
    """A row that is passed on: where it stands in its batch, its byte in the source."""

    position: int
    offset: int
    content: bytes


def _of_rows(counts: Counts) -> tuple[int, int, int, int, int]:
    """Return counts as the core has them: it reads no lines outside the times."""
    return counts.rows, counts.emitted, counts.filtered, counts.skipped, counts.blank


class _BatchQuery(Generic[N]):
    """A query that reads batches of rows."""

    _native: N

    def stand_in(self, file: str, lines_before: int, rows_before: int) -> None:
        """Set the file, line and row before the rows that follow."""
        self._native.stand_in(file, lines_before, rows_before)

    def absorb(self, counts: Counts, lines: int) -> None:
        """Count the rows of a query like this one, and the lines that it yielded."""
        self._native.absorb(_of_rows(counts), lines)

    @property
    def wanted(self) -> int:
        """How many more lines or elements can change the result."""
        return self._native.wanted

    @property
    def done(self) -> bool:
        """Whether no further row can change the result."""
        return self._native.done

    @property
    def counts(self) -> Counts:
        """What was counted so far."""
        return Counts(*self._native.counts)


class RowQuery(_BatchQuery[_native.RowQuery]):
    """A query over rows, each by itself; it is done when `limit` lines were written."""

    def __init__(
        self,
        program: Program,
        *,
        output: Output,
        nulls: bool,
        limit: int | None,
        max_depth: int,
        frame: Frame | None = None,
        whole: bool = False,
        sources: Sources | None = None,
        cancel: Cancel | None = None,
    ) -> None:
        self._native = _native.RowQuery(
            program.native,
            output=output,
            nulls=nulls,
            limit=END if limit is None else limit,
            max_depth=max_depth,
            frame=frame,
            whole=whole,
            sources=sources,
            cancel=cancel,
        )

    def answer(self, batch: RowBatch, start: int, *, reverse: bool = False) -> Answers:
        """Run over the rows of a batch from `start` on, up to one that the query fails on."""
        lines, end, refused = self._native.answer(batch, start, reverse)
        return Answers(lines, end, None if refused is None else refused_row(*refused))


def refused_row(
    row: int, offset: int, span: tuple[int, int] | None, reason: str
) -> Refused:
    """Return what the core says of a row without an answer."""
    return Refused(row, offset, reason, None if span is None else span[0] + 1)


class StreamQuery(_BatchQuery[_native.StreamQuery]):
    """A query over the stream of all rows: the part that is done row by row.

    `max_memory` is what may be held in all, `held_before` what others hold of it. With
    `counts_elements`, `arrived` has the elements that came to each stage.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        *,
        reduction: str,
        limit: int | None,
        nulls: bool,
        max_memory: int,
        held_before: int,
        max_depth: int,
        frame: Frame | None = None,
        whole: bool = False,
        prune: PruneCode | None = None,
        slots: Sequence[SlotCode] = (),
        sources: Sources | None = None,
        cancel: Cancel | None = None,
        counts_elements: bool = False,
    ) -> None:
        self.max_memory = max_memory
        self._held_before = held_before
        # The core counts until the run ends.
        self._arrived: list[int] = []
        self._native = _native.StreamQuery(
            list(stages),
            reduction=reduction,
            limit=END if limit is None else limit,
            nulls=nulls,
            max_memory=max(max_memory - held_before, 0),
            max_depth=max_depth,
            frame=frame,
            whole=whole,
            prune=prune,
            slots=list(slots),
            sources=sources,
            cancel=cancel,
            counts_elements=counts_elements,
        )

    def answer(self, batch: RowBatch, start: int, *, reverse: bool = False) -> Answers:
        """Take in the rows of a batch from position `start` on."""
        lines, end, refused, too_much = self._native.take(batch, start, reverse)
        if too_much is not None:
            raise self._too_much()
        return Answers(lines, end, None if refused is None else refused_row(*refused))

    def sift(
        self, batch: RowBatch, start: int
    ) -> tuple[list[SiftedRow], int, Refused | None]:
        """Filter the rows of a batch from `start` on, for a query that runs elsewhere.

        Returns those that contribute elements or that the query fails on, the position behind
        the last row that was read, and the refusal of that row if it is too long to pass on.
        """
        sifted, end, refused, too_much = self._native.sift(batch, start)
        if too_much is not None:
            raise self._too_much()
        rows = [SiftedRow(*row) for row in sifted]
        return rows, end, None if refused is None else refused_row(*refused)

    def _too_much(self) -> MemoryExceededError:
        return MemoryExceededError(self.max_memory, self._native.groups)

    def part(self) -> bytes:
        """Return what the rows were reduced to, for a run like this one to `merge`."""
        return self._native.part()

    def merge(self, part: bytes) -> None:
        """Take in what the rows behind those so far were reduced to elsewhere."""
        with _finishing():
            self._native.merge(part)
        if self.held > self.max_memory:
            raise self._too_much()

    def group_parts(self) -> GroupParts:
        """Return the groups of the rows one by one, for a run like this one to `merge_groups`."""
        came, firsts, names, parts = self._native.group_parts()
        return GroupParts(came, firsts, Texts(*names), Texts(*parts))

    def merge_groups(self, places: Sequence[int], parts: Sequence[bytes]) -> None:
        """Take in groups; those of one name come in the order of the places of their elements."""
        with _finishing():
            self._native.merge_groups(places, parts)
        if self.held > self.max_memory:
            raise self._too_much()

    def merged_groups(self) -> MergedGroups:
        """Return the groups that were merged."""
        firsts, texts, colliding, failed = self._native.merged_groups()
        return MergedGroups(firsts, Texts(*texts), colliding, failed)

    def absorb_arrived(self, others: Sequence[int]) -> None:
        """Count the elements that came to the stages of a query like this one."""
        self._native.absorb_arrived(others)

    def end(self) -> bytes:
        """Take in what is left when all rows have been; return lines of output."""
        with _finishing():
            return self._native.end()

    def finish(self) -> bytes:
        """Return what the rows were reduced to, as JSON."""
        self._arrived = self._native.arrived
        with _finishing():
            return self._native.finish()

    def table(self) -> JoinTable:
        """Return the table that the last stage has filled."""
        self._arrived = self._native.arrived
        return self._native.table()

    @property
    def held(self) -> int:
        """How many bytes are held in all."""
        return self._held_before + self._native.held

    @property
    def has_groups(self) -> bool:
        """Whether the rows are reduced to groups."""
        return self._native.groups is not None

    @property
    def elements(self) -> int:
        """How many elements are held, where they are held in order."""
        return self._native.elements

    @property
    def arrived(self) -> list[int]:
        """How many elements came to each stage, and last how many came out of all of them."""
        return self._arrived or self._native.arrived


@contextmanager
def _finishing() -> Iterator[None]:
    try:
        yield
    except _native.KernelError as error:
        _kind, offset, reason = error.args
        raise QueryFailedError("", offset, reason) from None
