"""Tasks that do the same with each of some items, such as fragments, wherever they run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from headrace.physical.fragment import runs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Item = TypeVar("Item")
T = TypeVar("T")


class RunEach(Protocol):
    """Runs tasks 0 to `count`, anywhere, and returns their results in that order."""

    def __call__(
        self,
        do: Callable[[int], T],
        count: int,
        tell: Callable[[int, int], object] | None = None,
    ) -> list[T]:
        """Run the tasks."""
        ...


@dataclass(frozen=True, slots=True)
class ItemTasks(Generic[Item, T]):
    """Tasks, each with some items; `do` is called with each item."""

    tasks: tuple[tuple[Item, ...], ...]
    do: Callable[[Item], T]

    def __call__(self, task: int) -> list[T]:
        """Run one task."""
        return [self.do(item) for item in self.tasks[task]]


def results_of(
    items: Iterable[Item],
    do: Callable[[Item], T],
    run_each: RunEach,
    size: Callable[[Item], int],
    most: int,
    tell: Callable[[int, int], object] | None = None,
) -> Iterator[T]:
    """Return the result for each item, in order; tasks have items of at most `most` bytes."""
    tasks = tuple(runs_of(items, most, size))
    done = run_each(ItemTasks(tasks, do), len(tasks), tell) if tasks else []
    return (result for results in done for result in results)
