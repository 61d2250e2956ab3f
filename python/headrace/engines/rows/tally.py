"""Tally of fragments: every line is checked and counted, in threads or tasks."""

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
    """The options of a tally."""

    max_line: int
    max_depth: int
    decoding: Decoding

    def of(self, fragment: Fragment) -> Stats:
        """Count the lines of a fragment by kind; line numbers begin with the fragment."""
        rows = rows_of(fragment, self.max_line, self.decoding)
        counted = Tally(fragment.source.location, self.max_depth)
        while rows.advance(counted.advance):
            pass
        return counted.stats
