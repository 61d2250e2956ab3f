"""What indexes of any kind say of the source they were made of.

`SealedIndex` is the core's own class, of which those of the kinds are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from headrace._native import SealedIndex, hash_all, hash_blocks

__all__ = [
    "HASH_BYTES",
    "IndexMeta",
    "Lines",
    "MadeOf",
    "SealedIndex",
    "SourceMark",
    "hash_all",
    "hash_blocks",
    "parsed_fields",
]

HASH_BYTES = 1 << 20
"""How many bytes of a source one hash is about."""


class Lines(NamedTuple):
    """Lines by kind; lines = records + blank + the others + pending.

    `pending`: half a line at the end, which may become a whole one.
    """

    lines: int = 0
    blank: int = 0
    bad: int = 0
    missing: int = 0
    null: int = 0
    nested: int = 0
    too_long: int = 0
    pending: int = 0

    def plus(self, other: Lines) -> Lines:
        """Return the lines of both."""
        return Lines(*map(sum, zip(self, other, strict=True)))

    def without(self, kind: str) -> Lines:
        """Return all but one line, which is of a kind, or a record if that is none.

        >>> Lines(lines=3, blank=1).without("blank")
        Lines(lines=2, blank=0, bad=0, missing=0, null=0, nested=0, too_long=0, pending=0)
        """
        counts = self._asdict()
        fewer = {name: counts[name] - 1 for name in ("lines", kind) if name in counts}
        return Lines(**counts | fewer)

    @property
    def skipped(self) -> dict[str, int]:
        """How many lines with something in them have no key, by cause.

        >>> Lines(lines=5, blank=1, null=2).skipped
        {'null': 2}
        """
        counts = self._asdict()
        causes = ("bad", "missing", "null", "nested", "too_long")
        return {cause: counts[cause] for cause in causes if counts[cause]}

    @property
    def records(self) -> int:
        """How many have a key."""
        return 2 * self.lines - sum(self)


class SourceMark(NamedTuple):
    """What a source on disk looked like."""

    size: int
    mtime_ns: int
    ctime_ns: int
    device: int
    inode: int
    head_hash: str
    tail_hash: str
    codec: str


class MadeOf(NamedTuple):
    """What an index is made of, and how.

    `hashed` is how many bytes on disk the hashes of whole blocks are about. `last` is what a
    last row without a newline is: ``key``, or one of `Lines`.
    """

    max_line: int
    max_depth: int
    logical_size: int
    coverage_end: int
    hashed: int
    source: SourceMark
    last: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexMeta:
    """What an index is of; of a delta, `base` is what it continues from `covers` on."""

    lines: Lines
    max_line: int
    max_depth: int
    logical_size: int
    coverage_end: int
    hashed: int
    source: SourceMark
    last: str | None = None
    base: str | None = None
    covers: int = 0

    @property
    def covered_lines(self) -> Lines:
        """Its lines, without a last one that no newline ended."""
        return self.lines if self.last is None else self.lines.without(self.last)

    @property
    def made_of(self) -> MadeOf:
        """What it was made of."""
        return MadeOf(*(getattr(self, name) for name in MadeOf._fields))


def parsed_fields(found: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of an index, with the counts of lines and the source as records."""
    lines, source = Lines(**found["lines"]), SourceMark(**found["source"])
    others = {name: value for name, value in found.items() if name != "hash"}
    return others | {"lines": lines, "source": source}
