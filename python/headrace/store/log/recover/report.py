"""Report of a recovery: its changes of a log, with reasons."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

ACTIONS = {
    "created": "an empty log was begun",
    "manifest_rebuilt": "the manifest was made again from the files that are there",
    "header_rewritten": "the first line of an index was made again",
    "index_rebuilt": "an index was made again from the data",
    "entries_rebuilt": "index entries that are not good were made again from their lines",
    "entries_dropped": "index entries that are not good, or without data, were taken away",
    "indexed": "lines that had no index entry got one",
    "completed": "the last record lacked nothing but its newline, and got it",
    "quarantined": "bytes that are no record were moved aside",
    "kept": "bytes that are no record were left where they are",
    "adopted": "a segment that was just begun is the last one now",
    "removed": "an empty file that a writer had begun was removed",
    "expired": "a file whose lines retention had removed is gone now",
    "replaced": "a plain file whose compressed one is whole is gone now",
    "discarded": "a compressed file that the manifest does not name yet was removed",
    "left": "a file that is not part of the log was left alone",
    "damaged": "lines that are not what was written were left as they are",
    "given_up": "lines that are lost or damaged were given up",
}
"""The actions of recovery, with their meaning."""


@dataclass(frozen=True, slots=True)
class Action:
    """One change of a file, at byte `offset`."""

    action: str
    path: str
    why: str
    rows: int = 0
    bytes: int = 0
    offset: int = 0

    def as_fields(self) -> dict[str, object]:
        """Return the change as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        counts = [f"{self.rows} rows"] * bool(self.rows)
        counts += [f"{self.bytes} bytes"] * bool(self.bytes)
        many = f" ({', '.join(counts)})" if counts else ""
        return f"{self.path}: {ACTIONS[self.action]}{many}: {self.why}"


@dataclass(slots=True)
class Report:
    """All changes, in order."""

    actions: list[Action] = field(default_factory=list)

    def add(self, action: str, path: str, why: str, **counts: int) -> None:
        """Add a change."""
        self.actions.append(Action(action, path, why, **counts))

    @property
    def recovered(self) -> bool:
        """Whether recovery changed any file."""
        passive = ("created", "kept", "left", "damaged")
        return any(each.action not in passive for each in self.actions)

    def encode(self, epoch: int, milliseconds: int) -> bytes:
        """Return the content of the report file."""
        fields = {
            "epoch": epoch,
            "durationMs": milliseconds,
            "actions": [each.as_fields() for each in self.actions],
        }
        return json.dumps(fields, indent=1, ensure_ascii=False).encode() + b"\n"
