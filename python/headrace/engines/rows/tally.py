"""Checking every line of fragments, for threads and for tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.engines.rows.fragment import rows_of
from headrace.kernel.tally import Tally

if TYPE_CHECKING:
    from headrace.kernel.rows import Decoding
    from headrace.kernel.tally import Stats
    from headrace.physical.fragment import Fragment


@dataclass(frozen=True, slots=True)
class Tallying:
    """How lines are checked."""

    max_line: int
    max_depth: int
    decoding: Decoding

    def of(self, fragment: Fragment) -> Stats:
        """Count the lines of a fragment by kind, as if no lines were before it."""
        rows = rows_of(fragment, self.max_line, self.decoding)
        counted = Tally(fragment.source.location, self.max_depth)
        while rows.advance(counted.advance):
            pass
        return counted.stats


@dataclass(frozen=True, slots=True)
class TallyTasks:
    """Tasks that check the lines of fragments."""

    tasks: tuple[tuple[Fragment, ...], ...]
    how: Tallying

    def __call__(self, task: int) -> list[Stats]:
        """Do one of them."""
        return [self.how.of(fragment) for fragment in self.tasks[task]]
