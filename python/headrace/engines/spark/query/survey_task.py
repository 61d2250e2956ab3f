"""Survey of elements in a task, before a shuffle: their counts, and a sample of their keys.

The driver learns from it how to divide the elements, which rows are bad, and whether a shuffle
gives the answer of the local engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.engines.spark.shuffle.key_sample import KeySampler
from headrace.kernel.programs import Counts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.engines.spark.query.task_query import Chunk
    from headrace.engines.spark.shuffle.key_sample import KeySample
    from headrace.kernel.programs import Refused, Texts
    from headrace.kernel.rows import RowBatch
    from headrace.kernel.sort_keys import KeyedElements, KeyedRows


_BRACE = ord("{")


@dataclass(frozen=True, slots=True)
class Survey:
    """The survey of a chunk: a sample of keys, how many elements, their bytes with their keys.

    `late`: an element came out of the stages, but has no key or failed afterwards.
    `objects`: all elements are objects.
    """

    sample: KeySample
    elements: int
    size: int
    late: bool
    objects: bool


class SurveyedRows:
    """The survey of the rows of a fragment, chunk after chunk.

    `ended`: no further row is needed. `refuse` adds a refused row to a chunk, and returns
    whether the chunk is full. With `needs_keys`, a row with an element without a key is refused.
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
        self._reset()

    def _reset(self) -> None:
        self._counts = Counts()
        self._sampling = KeySampler()
        self._elements = self._size = 0
        self._late = False
        self._objects = True

    def begin(self) -> None:
        """Make the core's maker of keyed elements."""
        self._rows = self._make_rows()

    def take(self, batch: RowBatch) -> Iterator[Chunk]:
        """Survey the rows of a batch, up to one that ends the query; yield full chunks."""
        assert self._rows is not None
        keyed, refused, counts = self._keyed(self._rows, batch)
        refused = refused[:1] if self._aborts else refused
        full = [self._refuse(self.chunk, each, batch) for each in refused]
        if refused and self._aborts:
            self.ended = True
            first = batch.slice(0, refused[0].row - batch.first_row + 1)
            _, _, counts = self._keyed(self._make_rows(), first)
        self._counts += counts
        self._sampling.add(keyed)
        self._elements += keyed.length
        self._size += len(keyed.lines.data) + len(keyed.keys.data)
        self._late = self._late or (bool(keyed.late) and not self._needs_keys)
        self._objects = self._objects and _are_objects(keyed.lines)
        if any(full) and not self.ended:
            self.end()
            yield self.chunk
            self.chunk = self.chunk.next()
            self._reset()

    def _keyed(
        self, rows: KeyedRows, batch: RowBatch
    ) -> tuple[KeyedElements, list[Refused], Counts]:
        """Return the elements of a batch with their keys, its refused rows, and its counts."""
        before = rows.counts
        keyed = rows.of(batch)
        counts = rows.counts - before
        if not self._needs_keys:
            return keyed, keyed.refused, counts
        late = len(keyed.late)
        counts += Counts(emitted=-late, skipped=late)
        refused = sorted([*keyed.refused, *keyed.late], key=lambda each: each.row)
        return keyed, refused, counts

    def end(self) -> None:
        """Set the counts and the survey of the chunk."""
        self.chunk.rows, self.chunk.counts = self._counts.rows, self._counts
        self.chunk.survey = Survey(
            self._sampling.sample(),
            self._elements,
            self._size,
            self._late,
            self._objects,
        )


def _are_objects(lines: Texts) -> bool:
    starts = memoryview(lines.ends).cast("i")[:-1]
    return all(lines.data[start] == _BRACE for start in starts)
