"""File names of a log.

The name of a segment is the number of lines before it, in twenty digits. So the names sort
as the lines do, and the name alone gives the number of the first line.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import UsageError
from headrace.kernel.blocks import codecs
from headrace.store.files import system

if TYPE_CHECKING:
    import os
    from collections.abc import Collection

    from headrace.store.log.manifest import Active, Sealed

MANIFEST = "manifest.json"
LOCK = "LOCK"
REPORT = "recovery.json"
QUARANTINE = "quarantine"
CONSUMERS = "consumers"
BACKUP = "backup.json"
"""The file that marks the backup of a log; a log cannot be written there."""

CODECS = ("zstd", "gzip")
"""The codecs of full segments."""

_DATA_ENDINGS = (".jsonl", ".ndjson")
_SEGMENT = re.compile(r"(\d{20})\.jsonl")
_PACKED = re.compile(r"(\d{20})\.jsonl\.(?:zst|gz)")
_INDEX = re.compile(r"(\d{20})\.jsonl\.idx")
_TEMPORARY = re.compile(
    r"\.(?:manifest\.json|recovery\.json|\d{20}\.jsonl(?:\.idx|\.zst|\.gz)?)"
    r"\.tmp-\d+-[0-9a-f]{8}"
)
_OURS = (_SEGMENT, _PACKED, _INDEX, _TEMPORARY)
_SIDECAR = re.compile(r"(\d{20})\.jsonl(?:\.zst|\.gz)?\.(?:ckpt|jnx(?:\..+)?)")


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
        """Return the plain file of the segment after line `base`."""
        return self.directory / segment_name(base)

    def file_of(self, segment: Sealed | Active) -> Path:
        """Return the file that has the lines of a segment."""
        return self.directory / segment.name

    def packed(self, base: int, codec: str) -> Path:
        """Return the compressed file of a segment."""
        return self.directory / packed_name(base, codec)

    def index(self, base: int) -> Path:
        """Return the index of a segment."""
        return self.directory / f"{segment_name(base)}.idx"

    def _names(self) -> list[str]:
        return system.calls.list_directory(self.directory)

    def bases(self) -> list[int]:
        """List the segments, plain or compressed, with or without an index."""
        return sorted({base for base, _path in self.segments()})

    def segments(self) -> list[tuple[int, Path]]:
        """List the files of lines, with the number of lines before each."""
        found = []
        for name in self._names():
            match = _SEGMENT.fullmatch(name) or _PACKED.fullmatch(name)
            if match:
                found.append((int(match[1]), self.directory / name))
        return sorted(found)

    def indexes(self) -> list[int]:
        """List the segments that have an index."""
        found = map(_INDEX.fullmatch, self._names())
        return sorted(int(match[1]) for match in found if match)

    def sidecars(self, bases: Collection[int]) -> list[Path]:
        """List the sidecars that other commands wrote beside some segments."""
        found = []
        for name in self._names():
            match = _SIDECAR.fullmatch(name)
            if match and int(match[1]) in bases:
                found.append(self.directory / name)
        return sorted(found)

    def leftovers(self) -> list[Path]:
        """List the temporary files of writers that died."""
        return sorted(
            map(self.directory.joinpath, filter(_TEMPORARY.fullmatch, self._names()))
        )

    def refuse_unless_log(self) -> None:
        """Raise unless the directory has a log, with or without a manifest."""
        if not self.directory.exists():
            raise UsageError(f"{self.text}: no such directory")
        self.refuse_what_is_no_log()
        if not is_log(self.directory) and not self.bases():
            raise UsageError(f"{self.text}: there is no log in this directory")

    def refuse_what_is_no_log(self) -> None:
        """Raise if the path is a file, or the backup of a log."""
        if not self.directory.is_dir():
            reason = "is a file, and a log is a directory"
            if is_within_log(self.directory):
                reason = f"is a file of a log; name the log: {self.directory.parent}"
            raise UsageError(f"{self.text}: {reason}")
        if (self.directory / BACKUP).exists():
            raise UsageError(
                f"{self.text}: is the backup of a log; `headrace log restore {self.text} DIR` "
                "makes a log of it, and `headrace log verify` checks it"
            )

    def refuse_other_data(self) -> None:
        """Raise if a directory without a log has other data."""
        if is_log(self.directory) or self.bases():
            return
        if (self.directory / BACKUP).exists():
            raise UsageError(
                f"{self.text}: is the backup of a log, which cannot be written; "
                "`headrace log restore` makes a log of it in another directory"
            )
        for name in self.foreign():
            if ".meta-" in name or any(end in name for end in _DATA_ENDINGS):
                raise UsageError(
                    f"{self.text}: there is other data, {name!r}; "
                    "give the log another directory"
                )

    def foreign(self) -> list[str]:
        """List the names in the directory that do not belong to a log."""
        ours = (MANIFEST, LOCK, REPORT, QUARANTINE, CONSUMERS)
        return sorted(
            name
            for name in self._names()
            if name not in ours and not any(each.fullmatch(name) for each in _OURS)
        )


def segment_name(base: int) -> str:
    """Return the name of the segment after line `base`.

    >>> segment_name(82571)
    '00000000000000082571.jsonl'
    """
    return f"{base:020d}.jsonl"


def packed_name(base: int, codec: str) -> str:
    """Return the name of a compressed segment.

    >>> packed_name(82571, "zstd")
    '00000000000000082571.jsonl.zst'
    """
    return segment_name(base) + codecs()[codec].suffix


def codec_of(path: Path) -> str | None:
    """Return the codec of a segment, by its name; None if it is plain."""
    return next((each for each in CODECS if codecs()[each].suffix == path.suffix), None)


def is_log(directory: Path) -> bool:
    """Whether a directory has a log."""
    return _is_there(directory / MANIFEST) and _is_there(directory / LOCK)


def lost_manifest(directory: Path) -> bool:
    """Whether a directory has a log that lost its manifest."""
    if _is_there(directory / MANIFEST) or not _is_there(directory / LOCK):
        return False
    return bool(LogNames(directory).bases())


def _is_there(path: Path) -> bool:
    """Whether the name exists, even if it is not a regular file: reading refuses that."""
    try:
        return not stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def is_segment(path: Path) -> bool:
    """Whether a file is a segment in a directory with a log, by its name."""
    named = _SEGMENT.fullmatch(path.name) or _PACKED.fullmatch(path.name)
    return named is not None and is_log(path.parent)


def is_within_log(path: Path) -> bool:
    """Whether a file is in the directory of a log, or in its quarantine."""
    aside = path.parent.name == QUARANTINE and is_log(path.parent.parent)
    return aside or is_log(path.parent)
