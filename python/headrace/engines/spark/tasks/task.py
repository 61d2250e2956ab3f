"""Task functions: the plain data that Spark sends to its Python workers and calls there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.engines.spark.session.version_guard import SameVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

T = TypeVar("T")


@dataclass(frozen=True)
class Task:
    """A function over the Arrow batches of one partition, with its first arguments.

    `version` is the first field, so it is the first value that a worker unpickles: a worker
    with another version of headrace fails there, before it misreads the other fields.
    """

    version: SameVersion = field(
        default_factory=SameVersion, init=False, repr=False, compare=False
    )
    do: Callable[..., Iterator[pa.RecordBatch]]
    arguments: tuple[Any, ...] = ()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the result of a partition."""
        return self.do(*self.arguments, batches)


class NumberedTask(Task):
    """A function over a frame of `numbered`: it receives the number of each task."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the tasks whose numbers are in a partition."""
        for batch in batches:
            for task in batch.column(0).to_pylist():
                yield from self.do(*self.arguments, task)


_shared: dict[str, object] = {}


def shared(job: str, make: Callable[[], T]) -> T:
    """Return the value that all tasks of a job share in this process.

    One value is kept: that of the latest job.
    """
    if job not in _shared:
        _shared.clear()
        _shared[job] = make()
    return _shared[job]  # type: ignore[return-value]
