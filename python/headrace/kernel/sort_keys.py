"""Keyed rows: elements with binary keys, for a shuffle that sorts, groups or joins them.

The keys of two values compare byte by byte, unsigned, as the values do in a query, and are
the same bytes if the values are equal. No key is empty. The layout is that of the core's
``value/order_key.rs``; it is for the run of one job, not for files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace import _native
from headrace.kernel.programs import Counts, Texts, refused_row
from headrace.kernel.rows import END
from headrace.kernel.values import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.kernel.programs import Frame, Refused, Sources, Stage
    from headrace.kernel.rows import RowBatch


class KeyedElements(NamedTuple):
    """The elements of a batch: where their rows stand, their lines, and their keys.

    `positions` are those in the batch, 32 bits each, `offsets` bytes of the source, 64 bits.
    `refused` are rows that have none. In `late` are those whose elements came out of the
    stages, but have no key, or failed afterwards.
    """

    length: int
    positions: bytes
    offsets: bytes
    lines: Texts
    keys: Texts
    refused: list[Refused]
    late: list[Refused]


class KeyedRows:
    """Makes rows, or what stages make of them, elements with keys.

    `key` is the code of a program that returns the key of an element; without it, keys are
    empty. Keyed elements go through `then`, and what comes out has the same key. With
    `falling`, the program returns an array with a key for each entry, true for descending.
    With `joins`, a key that matches nothing, such as null, is empty. With `compact`, a row
    that is an element is written without its spaces. With `counts_elements`, `arrived` has the
    elements that came to each of `stages`.
    """

    def __init__(
        self,
        key: bytes | None,
        *,
        stages: Sequence[Stage] = (),
        then: Sequence[Stage] = (),
        falling: Sequence[bool] = (),
        joins: bool = False,
        compact: bool = False,
        max_depth: int = MAX_DEPTH,
        frame: Frame | None = None,
        whole: bool = False,
        sources: Sources | None = None,
        counts_elements: bool = False,
    ) -> None:
        self.native = _native.KeyedRows(
            key,
            stages=list(stages),
            then=list(then),
            falling=list(falling),
            joins=joins,
            compact=compact,
            max_depth=max_depth,
            frame=frame,
            whole=whole,
            sources=sources,
            counts_elements=counts_elements,
        )

    def of(self, batch: RowBatch) -> KeyedElements:
        """Return the elements of the rows of a batch.

        Raises OverflowError if they take more than 2 GiB: then the batch is too large.
        """
        length, positions, offsets, lines, keys, refusals = self.native.take(batch)
        refused, late = _divided(refusals)
        return KeyedElements(
            length,
            positions,
            offsets,
            Texts(*lines),
            Texts(*keys),
            refused,
            late,
        )

    @property
    def counts(self) -> Counts:
        """What was counted so far; those in `late` are emitted as well."""
        return Counts(*self.native.counts)

    @property
    def arrived(self) -> list[int]:
        """How many elements came to each stage, and last how many came out of all of them."""
        return self.native.arrived


class SortedLines:
    """The lines of keyed elements, in the order of their keys.

    They take about `memory` bytes; what does not fit is in a nameless file in `directory`.
    """

    def __init__(self, directory: str, memory: int, threads: int) -> None:
        self._native = _native.SortedLines(directory, memory, threads)

    def add(
        self, rows: KeyedRows, batch: RowBatch
    ) -> tuple[list[Refused], list[Refused]]:
        """Add the elements of a batch; return its rows without any, as `KeyedElements` has them."""
        return _divided(self._native.add(rows.native, batch))

    def append(self, other: SortedLines) -> None:
        """Add the lines of another, which has none afterwards, behind those that are here."""
        self._native.append(other._native)

    def sort(self) -> None:
        """Sort the lines; none can be added afterwards."""
        self._native.sort()

    def chunks(self, *, nulls: bool, limit: int | None) -> Iterator[bytes]:
        """Yield the lines, many at a time, `limit` at most; without `nulls`, no null."""
        left = END if limit is None else limit
        while True:
            lines, written = self._native.next(nulls, left)
            if not lines:
                return
            left -= written
            yield lines

    @property
    def held(self) -> int:
        """How many bytes are in memory."""
        return self._native.held


def _divided(
    refusals: list[tuple[tuple[int, int, tuple[int, int] | None, str], bool]],
) -> tuple[list[Refused], list[Refused]]:
    refused = [refused_row(*each) for each, is_late in refusals if not is_late]
    return refused, [refused_row(*each) for each, is_late in refusals if is_late]
