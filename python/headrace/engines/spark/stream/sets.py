"""Sets of shards as a stream: each committed part once.

An append keeps the existing parts in front, so a position is the number of parts that were
read. Parts are read in full; a batch takes at least one, even over its budget.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from headrace.engines.spark.source.partitions import absolute, numbered_rows
from headrace.engines.spark.stream.offset import SetPlace
from headrace.engines.spark.stream.options import Budget, Spending, StreamOptions
from headrace.errors import StreamReplacedError
from headrace.physical.fragment import Fragment, fragments
from headrace.store.shards.metadata import Part
from headrace.store.shards.shard_set import ShardSet


class SetStream:
    """The parts of sets, in the order of their rows."""

    kind: ClassVar[str] = "sets"
    place: ClassVar[type[SetPlace]] = SetPlace

    def __init__(
        self, paths: Sequence[str], options: StreamOptions, *, numbered: bool
    ) -> None:
        self._sets = {str(Path(path).absolute()): ShardSet(path) for path in paths}
        self._options = options.read
        self._numbered = numbered

    def earliest(self) -> dict[str, SetPlace]:
        """Return nothing: sets begin at their first part."""
        return {}

    def latest(self) -> dict[str, SetPlace]:
        """Return all parts of the newest generations."""
        for each in self._sets.values():
            each.renew()
        found = {path: each.metadata.parts for path, each in self._sets.items()}
        return {path: _behind(parts) for path, parts in found.items() if parts}

    def within(
        self,
        start: Mapping[str, SetPlace],
        latest: Mapping[str, SetPlace],
        budget: Budget,
    ) -> dict[str, SetPlace]:
        """Return the end positions of the batch after `start`."""
        spending = Spending(budget)
        reached = dict(start)
        for path, place in latest.items():
            parts = self._parts(path, start.get(path), place)
            taken = spending.first_of((part.bytes, part.records) for part in parts)
            if taken:
                before = place.parts - len(parts)
                last = parts[taken - 1]
                reached[path] = SetPlace(before + taken, last.path)
        return reached

    def _parts(
        self, path: str, start: SetPlace | None, end: SetPlace
    ) -> tuple[Part, ...]:
        """Return the parts between two positions; raise if the set has been replaced."""
        if path not in self._sets:
            raise StreamReplacedError(path, "the stream no longer reads it")
        parts = self._sets[path].metadata.parts
        for place in (end, start):
            if place is not None and place != _behind(parts[: place.parts]):
                reason = f"the set was overwritten: {place.last} was part {place.parts} of it"
                raise StreamReplacedError(path, reason)
        return parts[0 if start is None else start.parts : end.parts]

    def fragments(
        self, start: Mapping[str, SetPlace], end: Mapping[str, SetPlace]
    ) -> list[list[Fragment]]:
        """Return the rows of the parts between two offsets."""
        files = []
        for path, place in end.items():
            if path in self._sets and start.get(path) != place:
                self._sets[path].renew()
            for part in self._parts(path, start.get(path), place):
                source = absolute(self._sets[path].source(part))
                files.append(fragments(source, self._options.partition_bytes))
        return numbered_rows(files, self._options) if self._numbered else files


def _behind(parts: Sequence[Part]) -> SetPlace:
    """Return the position after the first parts of a set."""
    return SetPlace(len(parts), parts[-1].path if parts else "")
