"""How the files of a log are called.

A segment is called by how many lines are before it, in twenty digits; so the names sort as
the lines do, and the number of its first line needs no other file to be known.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import UsageError

if TYPE_CHECKING:
    import os

MANIFEST = "manifest.json"
LOCK = "LOCK"
REPORT = "recovery.json"
QUARANTINE = "quarantine"
CONSUMERS = "consumers"

_DATA_ENDINGS = (".jsonl", ".ndjson")
_SEGMENT = re.compile(r"(\d{20})\.jsonl")
_ANY_SEGMENT = re.compile(r"\d{20}\.jsonl(?:\.(?:zst|gz))?")
_INDEX = re.compile(r"(\d{20})\.jsonl\.idx")
_TEMPORARY = re.compile(
    r"\.(?:manifest\.json|recovery\.json|\d{20}\.jsonl\.idx)\.tmp-\d+-[0-9a-f]{8}"
)


class LogNames:
    """The paths of one log."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self.text = str(self.directory)
        self.manifest = self.directory / MANIFEST
        self.lock = self.directory / LOCK
        self.report = self.directory / REPORT
        self.quarantine = self.directory / QUARANTINE
        self.consumers = self.directory / CONSUMERS

    def data(self, base: int) -> Path:
        """Return the file of the lines behind line `base`."""
        return self.directory / segment_name(base)

    def index(self, base: int) -> Path:
        """Return the index beside it."""
        return self.directory / f"{segment_name(base)}.idx"

    def bases(self) -> list[int]:
        """List the segments that are there, with or without their index."""
        found = [_SEGMENT.fullmatch(path.name) for path in self.directory.iterdir()]
        return sorted(int(match[1]) for match in found if match)

    def indexes(self) -> list[int]:
        """List the segments whose indexes are there."""
        found = [_INDEX.fullmatch(path.name) for path in self.directory.iterdir()]
        return sorted(int(match[1]) for match in found if match)

    def leftovers(self) -> list[Path]:
        """List what writers that died had begun to write."""
        return sorted(
            path for path in self.directory.iterdir() if _TEMPORARY.fullmatch(path.name)
        )

    def refuse_other_data(self) -> None:
        """Raise if a directory that has no log is the place of other data."""
        if is_log(self.directory) or self.bases():
            return
        for name in self.foreign():
            if ".meta-" in name or any(end in name for end in _DATA_ENDINGS):
                raise UsageError(
                    f"{self.text}: there is other data, {name!r}; "
                    "a log needs a directory of its own"
                )

    def foreign(self) -> list[str]:
        """List what is in the directory and is not a log's."""
        ours = (MANIFEST, LOCK, REPORT, QUARANTINE, CONSUMERS)
        return sorted(
            name
            for name in (path.name for path in self.directory.iterdir())
            if name not in ours
            and not any(each.fullmatch(name) for each in (_SEGMENT, _INDEX, _TEMPORARY))
        )


def segment_name(base: int) -> str:
    """Return the name of the segment behind line `base`.

    >>> segment_name(82571)
    '00000000000000082571.jsonl'
    """
    return f"{base:020d}.jsonl"


def is_log(directory: Path) -> bool:
    """Whether a log lives in a directory."""
    return (directory / MANIFEST).is_file() and (directory / LOCK).is_file()


def is_segment(path: Path) -> bool:
    """Whether a file is called as the segments of a log are, compressed or not, and is in one."""
    return bool(_ANY_SEGMENT.fullmatch(path.name)) and is_log(path.parent)


def is_within_log(path: Path) -> bool:
    """Whether a file is in the directory of a log, or among what was put aside there."""
    aside = path.parent.name == QUARANTINE and is_log(path.parent.parent)
    return aside or is_log(path.parent)
