"""Contents file of a backup.

It names every file of the backup, with length and checksum. Other files, and bytes beyond
these lengths, belong to an unfinished backup and do not count.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import BackupError, LogDamagedError
from headrace.kernel.values import InvalidJsonError, parse
from headrace.store.files.checked_json import encoded, has_checksum
from headrace.store.log import files
from headrace.store.log import manifest as manifests
from headrace.store.log.names import BACKUP

if TYPE_CHECKING:
    import os

    from headrace.store.log.manifest import Manifest

FORMAT = "headrace-log-backup"
VERSION = 1

_FILE = re.compile(r"\d{20}\.jsonl(\.idx|\.(zst|gz)(\.ckpt)?)?")
_DIGEST = re.compile(r"xxh3:[0-9a-f]+")


class BackupNames:
    """The paths of one backup."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self.text = str(self.directory)
        self.contents = self.directory / BACKUP
        self.lock = self.directory / "backup.lock"
        self.segments = self.directory / "segments"

    def stored(self, kept: Kept) -> Path:
        """Return the path of a copied file."""
        return self.segments / kept.stored


@dataclass(frozen=True, slots=True)
class Kept:
    """The first `bytes` of a file of the log, called `stored` in the backup.

    `final`: the segment was full, so its file does not change any more.
    """

    name: str
    stored: str
    bytes: int
    digest: str
    final: bool


@dataclass(frozen=True, slots=True)
class Backup:
    """The state of a log at one moment."""

    generation: int
    manifest: Manifest
    files: tuple[Kept, ...]

    @property
    def bytes(self) -> int:
        """The bytes of all its files."""
        return sum(kept.bytes for kept in self.files)

    def save(self, names: BackupNames) -> None:
        """Make it the current backup, atomically and durably."""
        files.replace_content(names.contents, encode(self))


def encode(backup: Backup) -> bytes:
    """Return the content of the file, with its checksum at the end."""
    head = {
        "format": FORMAT,
        "version": VERSION,
        "generation": backup.generation,
        "manifest": manifests.encode(backup.manifest).decode(),
    }
    kept = (json.dumps(asdict(each)) for each in backup.files)
    return encoded(head, "files", kept, dump=json.dumps)


def load(names: BackupNames) -> Backup | None:
    """Return the backup in a directory, None if there is none; raise if it is damaged."""
    try:
        content = files.read_content(names.contents)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with suppress(InvalidJsonError, LogDamagedError, KeyError, TypeError, ValueError):
        backup = _decoded(content, names)
        if encode(backup) == content:
            return backup
    raise BackupError(str(names.contents), "it is damaged, or was edited")


def found(names: BackupNames) -> Backup:
    """Return the backup in a directory, which must have one."""
    backup = load(names)
    if backup is None:
        raise BackupError(names.text, "there is no backup of a log in this directory")
    return backup


def _decoded(content: bytes, names: BackupNames) -> Backup:
    fields: Any = parse(content)
    if fields["format"] != FORMAT or not has_checksum(content):
        raise ValueError(fields["format"])
    if fields["version"] != VERSION:
        reason = f"it is of version {fields['version']}; this headrace reads {VERSION}"
        raise BackupError(str(names.contents), reason)
    manifest = manifests.decode(fields["manifest"].encode(), str(names.contents))
    several = tuple(_kept(each) for each in fields["files"])
    return Backup(fields["generation"], manifest, several)


def _kept(fields: Any) -> Kept:  # noqa: ANN401, it is what was parsed
    kept = Kept(**fields)
    stored = re.fullmatch(r"(.*?)(~\d+)?", kept.stored)
    named = _FILE.fullmatch(kept.name) and stored and stored[1] == kept.name
    sound = named and type(kept.bytes) is int and kept.bytes >= 0
    if not sound or not _DIGEST.fullmatch(kept.digest):
        raise ValueError(kept.name)
    return kept


def following(backup: Backup | None, manifest: Manifest, kept: list[Kept]) -> Backup:
    """Return the next backup; the same one if nothing is new."""
    if backup is None:
        return Backup(1, manifest, tuple(kept))
    if (backup.manifest, backup.files) == (manifest, tuple(kept)):
        return backup
    return replace(
        backup,
        generation=backup.generation + 1,
        manifest=manifest,
        files=tuple(kept),
    )
