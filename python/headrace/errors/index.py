"""Errors of indexes, queries and joins."""

from __future__ import annotations

from headrace.errors.error import HeadraceError, LockedError

_REASONS = {
    "source_modified": "the file was changed since it was made",
    "source_replaced": "the file is another one now",
    "source_truncated": "the file is shorter now",
    "source_grown": "the file has grown",
    "index_newer": "it was updated after the file was opened; open the file again",
    "source_unseekable": "the file is no longer seekable",
    "source_end_changed": "the end of the file was changed",
    "set_replaced": "the set has other parts now",
    "set_grown": "the set has more parts now",
    "part_modified": "a part of the set was changed since it was made",
    "no_incoming_edges": "it has no incoming edges",
    "older_index": "an older version wrote it, without how the file ended",
    "buckets_full": "it has too many rows for the size that it was made for",
}
"""Reasons that programs compare, and what people read."""


class DuplicateKeyError(HeadraceError):
    """Two rows have the same key in a unique index. `line` and `other` count from 1."""

    ADVICE = "a unique index allows one row for each key; build it with --mode multi to index both"

    path: str
    key: str
    line: int
    other: int

    @property
    def what(self) -> str:
        """Which rows, and which key."""
        key = self.key if len(self.key) <= 100 else f"{self.key[:100]}…"
        return (
            f"{self.path}: lines {self.line} and {self.other} both have the key {key!r}"
        )


class KeyIndexError(HeadraceError):
    """A key index cannot be used; the data is not in doubt.

    `kind` is ``missing``, ``stale``, ``grown``, ``limits``, ``other``, ``locked``,
    ``corrupt``, ``newer``, ``foreign`` or ``taken``, or ``several`` for edges in several
    files, which have no index. `build` has the options that build an index that can be used.
    """

    NAME = "key index"

    path: str
    index: str
    kind: str
    reason: str
    build: str = "--on KEY"

    @property
    def what(self) -> str:
        """What is wrong, without what to do."""
        reason = _REASONS.get(self.reason, self.reason)
        place = [self.path] if self.kind == "several" else [self.path, self.index]
        return ": ".join([*place, reason])

    @property
    def advice(self) -> str:
        """What to do about it."""
        together = f"put them into one: `headrace query '$' {self.path} > edges.jsonl`"
        return {
            "several": together,
            "newer": "a newer headrace wrote it, use that one",
            "foreign": f"it is no {self.NAME}, name another place",
            "taken": "replace it with --force, or name another place",
            "locked": "wait until it is done",
        }.get(self.kind, f"run `headrace index build {self.path} {self.build}`")


class GraphIndexError(KeyIndexError):
    """A graph index cannot be used; the data is not in doubt."""

    NAME = "graph index"

    build: str = "--graph --from-field FIELD --pred-field FIELD --to-field FIELD"


class KeyIndexLockedError(LockedError):
    """Another process is writing the index."""

    WHAT = "{path}: {holder} is writing this index"
    ADVICE = "wait until it is done"


class JoinTooLargeError(HeadraceError):
    """The right side of a join does not fit into memory. `key` has the fields of the join."""

    WHAT = "{path}: its rows take more than the {limit} bytes that a join may hold"
    ADVICE = (
        "run `headrace index build {path} --on {key}`, which then leads to them, or raise "
        "memory (--memory)"
    )

    path: str
    key: str
    limit: int


class JoinKeyTooLargeError(HeadraceError):
    """One key of a join has more rows than a task may hold."""

    ADVICE = "raise memory (--memory), or filter them before the join"

    key: str
    limit: int

    @property
    def what(self) -> str:
        """Which key, and over which limit."""
        key = self.key if len(self.key) <= 80 else f"{self.key[:80]}…"
        return (
            f"the rows of the right side with the key {key} take more than {self.limit} "
            "bytes"
        )
