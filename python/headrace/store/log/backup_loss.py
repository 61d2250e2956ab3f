"""What a backup has and its log has not: lines that the next backup would lose.

Committed lines never change, and leave a log only as whole segments from its beginning, by
retention. So if one is missing behind that, or is another one, the log was repaired, went back
when power failed, or is an older copy; and the backup may be the only place that still has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import BackupLossError, LogDamagedError
from headrace.kernel.checksum import digest
from headrace.store.log.data_file import data_path, open_data, reading_lines
from headrace.store.log.index_file import rows_in
from headrace.store.log.manifest import Sealed
from headrace.store.log.names import segment_name

if TYPE_CHECKING:
    from headrace.kernel.log import Place
    from headrace.store.log.backup_file import Backup, BackupNames, Kept
    from headrace.store.log.manifest import Active, Manifest
    from headrace.store.log.names import LogNames


def refuse_loss(
    names: BackupNames, backup: Backup, log: LogNames, manifest: Manifest, place: Place
) -> None:
    """Raise if the backup has lines that the log, committed up to `place`, has lost.

    Segments that were full then and still have as many lines and bytes are not read.
    """
    by_name = {kept.name: kept for kept in backup.files}
    now = {segment.base: segment for segment in manifest.all_segments}
    for then in backup.manifest.all_segments:
        if then.base + 1 < manifest.first_line or then.name not in by_name:
            continue
        rows = rows_in(by_name[f"{segment_name(then.base)}.idx"].bytes)
        segment = now.get(then.base)
        there = 0 if segment is None else _rows(segment, place)
        if there < rows:
            lost = _lines(then.base + there + 1, then.base + rows)
            raise BackupLossError(names.text, f"{log.text} does not have {lost} of it")
        if segment and rows and not _goes_on(log, segment, then, by_name[then.name]):
            other = _lines(then.base + 1, then.base + rows)
            reason = f"{log.text} has something else than it in {other}"
            raise BackupLossError(names.text, reason)


def _rows(segment: Sealed | Active, place: Place) -> int:
    return segment.rows if isinstance(segment, Sealed) else place.rows


def _lines(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _goes_on(
    log: LogNames, segment: Sealed | Active, then: Sealed | Active, kept: Kept
) -> bool:
    """Whether a segment begins with the lines that were kept of it."""
    if isinstance(then, Sealed):
        if isinstance(segment, Sealed) and segment.rows == then.rows:
            return segment.bytes == then.bytes
        if then.packed is not None:
            return False  # full and compressed then, and not what it was
    path = data_path(log, segment)
    lines = open_data(path)
    with reading_lines(str(path)):
        size = lines.stat()[0]
        if size < kept.bytes:
            reason = f"it has {size} bytes, but had {kept.bytes} when it was backed up"
            raise LogDamagedError(str(path), size, reason)
        return digest(lines, kept.bytes) == kept.digest
