"""Stream batches: the metadata of a set names the last batch of each stream.

A *stream* is a query that runs continuously and writes one batch after the other; if it is killed,
it repeats the last batch. A set knows the last batch of each stream, and so whether the next one
follows: each batch is written exactly once.
Format: docs/formats/shards.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from headrace.errors import StreamNotContinuedError

if TYPE_CHECKING:
    from collections.abc import Mapping

KEY = "streams"


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch of a stream; `query` is the id in the checkpoint directory."""

    stream: str
    query: str
    number: int

    def is_in(self, target: str, run: Mapping[str, object] | None) -> bool:
        """Whether a set with the entry `run` has the batch; raises if it cannot follow."""
        known = _streams(run).get(self.stream)
        if known is None:
            if self.number > 0:
                raise self._gap(target, 0)
            return False
        query: str = known["query"]
        last: int = known["batch"]
        if query != self.query:
            raise StreamNotContinuedError(
                target,
                f"its stream {self.stream!r} was written by query {query} up to batch {last}, "
                f"this is query {self.query}, whose rows may be in the set already",
                "continue with the checkpoint directory of that query; if it is lost, write to "
                "another set, or begin after the present rows (startingOffsets) with another "
                "name (option stream)",
            )
        if self.number > last + 1:
            raise self._gap(target, last + 1)
        return self.number <= last

    def _gap(self, target: str, first: int) -> StreamNotContinuedError:
        return StreamNotContinuedError(
            target,
            f"batch {self.number} of stream {self.stream!r} would be written, but the set "
            f"lacks those from batch {first} on: it was overwritten, removed or put back",
            "restore the set, or begin again with another checkpoint directory",
        )

    def remembered(self, run: Mapping[str, object]) -> dict[str, object]:
        """Return the `run` entry of the set with this batch."""
        last = {"query": self.query, "batch": self.number}
        streams = {**_streams(run), self.stream: last}
        return {**run, KEY: {name: streams[name] for name in sorted(streams)}}


def _streams(run: Mapping[str, object] | None) -> dict[str, Any]:
    return cast("dict[str, Any]", (run or {}).get(KEY, {}))
