"""Suite: a benchmark that can be built for any size."""

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
QUICK = Settings(size=20_000_000, large=1_000_000_000, rounds=3)


@dataclass(frozen=True, slots=True)
class Suite:
    """A named suite; `build` makes its files and returns its benchmark."""

    name: str
    doc: str
    build: Callable[[Settings], Benchmark]
