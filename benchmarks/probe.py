"""Probes: functions that measure themselves, each in a separate process.

A *probe* is a function that returns an `Outcome`: its answer, and the figures
only it can know, such as the time without imports or the bytes read by one
call. ``python -m benchmarks.probe MODULE:FUNCTION [ARGUMENTS]`` runs one and
prints the outcome as a line of JSON, so that to the runner a probe is a
command like any other.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

Answer: TypeAlias = int | str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer of a candidate, and the values that it measured itself."""

    answer: Answer
    figures: Mapping[str, float] = field(default_factory=dict)


def digest(rows: Iterable[bytes]) -> str:
    """Make an answer of rows that is short enough to record and to compare.

    >>> digest([b"{}", b"[]"]) == digest([b"{}[]"])
    False
    """
    state = hashlib.sha256()
    for row in rows:
        state.update(row + b"\n")
    return state.hexdigest()[:16]


def value_digest(values: Iterable[object]) -> str:
    """Return the answer for parsed rows, the same for every parser."""
    return digest(json.dumps(value, sort_keys=True).encode() for value in values)


class Meter:
    """Measures the block it is used on: time, CPU time and bytes read.

    The bytes are those of every read call in the process, of any thread and of
    any file, so nothing that headrace reads can be missing from them. They are
    left out where the system does not count them.
    """

    def __enter__(self) -> Meter:
        self._read = read_so_far()
        self._cpu = time.process_time()
        self._time = time.perf_counter()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.figures: dict[str, float] = {
            "time": time.perf_counter() - self._time,
            "cpu": time.process_time() - self._cpu,
        }
        read = read_so_far()
        if read is not None and self._read is not None:
            self.figures["bytes_read"] = read - self._read


def read_so_far() -> int | None:
    """Return the number of bytes that this process has read."""
    try:
        first = Path("/proc/self/io").read_bytes().splitlines()[0]
    except OSError:
        return None
    return int(first.removeprefix(b"rchar:"))


def main() -> None:
    """Run the probe that the command line names."""
    module, _, name = sys.argv[1].partition(":")
    function = getattr(import_module(module), name)
    outcome: Outcome = function(*json.loads(sys.argv[2]))
    print(json.dumps({"answer": outcome.answer, "figures": dict(outcome.figures)}))


if __name__ == "__main__":
    main()
