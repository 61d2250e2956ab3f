"""What a suite is: a benchmark that can be made for any size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.candidate import Benchmark


@dataclass(frozen=True, slots=True)
class Settings:
    """Sizes in bytes: `size` of files full of rows, `large` of those with holes."""

    size: int
    large: int
    rounds: int


FULL = Settings(size=1_000_000_000, large=10_000_000_000, rounds=7)
QUICK = Settings(size=50_000_000, large=1_000_000_000, rounds=3)


@dataclass(frozen=True, slots=True)
class Suite:
    """A name for the command line; `build` makes the files and whatever else it takes."""

    name: str
    doc: str
    build: Callable[[Settings], Benchmark]
