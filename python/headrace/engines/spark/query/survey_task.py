"""What a task does before a shuffle: it looks at the elements that will be shuffled.

Nothing of them is kept but counts and a sample of keys. The driver so learns how to divide
them, what is wrong with rows, and whether a shuffle can give the answer at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.engines.spark.shuffle.key_sample import Sampling
from headrace.kernel.programs import Counts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.engines.spark.query.task import Chunk
    from headrace.engines.spark.shuffle.key_sample import KeySample
    from headrace.kernel.programs import Refused
    from headrace.kernel.rows import RowBatch
    from headrace.kernel.sort_keys import KeyedElements, KeyedRows, Texts


_BRACE = ord("{")


@dataclass(frozen=True, slots=True)
class Looked:
    """What was seen of elements: some keys, how many there are, their bytes with their keys.

    `late`: an element came out of the stages, but had no key or failed afterwards.
    `objects`: all elements are objects.
    """

    sample: KeySample
    elements: int
    size: int
    late: bool
    objects: bool


class Looking:
    """The rows of a fragment that were looked at, chunk after chunk.

    `ended`: no further row is needed. `refuse` puts a row without an answer into a chunk,
    and says whether that is full. With `needs_keys`, a row of which an element has no key
    is without an answer too.
    """

    def __init__(
        self,
        chunk: Chunk,
        make_rows: Callable[[], KeyedRows],
        refuse: Callable[[Chunk, Refused, RowBatch], bool],
        *,
        aborts: bool,
        needs_keys: bool,
    ) -> None:
        self.chunk = chunk
        self.ended = False
        self._make_rows, self._refuse, self._aborts = make_rows, refuse, aborts
        self._needs_keys = needs_keys
        self._rows: KeyedRows | None = None
        self._forget()

    def _forget(self) -> None:
        self._counts = Counts()
        self._sampling = Sampling()
        self._elements = self._size = 0
        self._late = False
        self._objects = True

    def begin(self) -> None:
        """Make what gives elements their keys."""
        self._rows = self._make_rows()

    def take(self, batch: RowBatch) -> Iterator[Chunk]:
        """Look at the rows of a batch, up to one that ends the query; yield full chunks."""
        assert self._rows is not None
        seen, counted = self._seen(self._rows, batch)
        refused = seen.refused[:1] if self._aborts else seen.refused
        full = [self._refuse(self.chunk, each, batch) for each in refused]
        if refused and self._aborts:
            self.ended = True
            first = batch.slice(0, refused[0].row - batch.first_row + 1)
            _, counted = self._seen(self._make_rows(), first)
        self._counts += counted
        self._sampling.add(seen)
        self._elements += seen.length
        self._size += len(seen.lines.data) + len(seen.keys.data)
        self._late = self._late or bool(seen.late)
        self._objects = self._objects and _are_objects(seen.lines)
        if any(full) and not self.ended:
            self.end()
            yield self.chunk
            self.chunk = self.chunk.next()
            self._forget()

    def _seen(self, rows: KeyedRows, batch: RowBatch) -> tuple[KeyedElements, Counts]:
        """Give elements their keys; return them and what was counted."""
        before = rows.counts
        seen = rows.of(batch)
        counted = rows.counts - before
        if self._needs_keys:
            late = len(seen.late)
            counted += Counts(emitted=-late, skipped=late)
            refused = sorted([*seen.refused, *seen.late], key=lambda each: each.row)
            seen = seen._replace(refused=refused, late=[])
        return seen, counted

    def end(self) -> None:
        """Give the chunk what was counted and seen."""
        self.chunk.rows, self.chunk.counts = self._counts.rows, self._counts
        self.chunk.looked = Looked(
            self._sampling.taken(),
            self._elements,
            self._size,
            self._late,
            self._objects,
        )


def _are_objects(lines: Texts) -> bool:
    starts = memoryview(lines.ends).cast("i")[:-1]
    return all(lines.data[start] == _BRACE for start in starts)
