"""Recompression of a file into blocks, so that a reader can begin in the middle.

Rows keep their bytes; a last one without a newline gets one. The new file is decoded and
compared before it replaces another.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import (
    DamagedSourceError,
    SourceChangedError,
    UsageError,
)
from headrace.kernel.blocks import codecs
from headrace.kernel.rows import Decoding
from headrace.store.files.atomic import (
    destination,
    remove_abandoned,
    replace_file,
    temporary_name,
)
from headrace.store.files.opened import decoded
from headrace.store.files.source import Source, expand
from headrace.store.log.names import is_segment
from headrace.store.rows.checkpoints import SUFFIX, is_foreign
from headrace.store.shards.names import is_part_or_beside, parts_directory
from headrace.store.shards.options import codec_of
from headrace.store.shards.write.line_writer import LineWriter


@dataclass(frozen=True, slots=True)
class Recompressed:
    """The new file: its path, and sizes before and after."""

    path: str
    records: int
    bytes_before: int
    bytes_after: int
    logical_bytes: int


def recompress(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    codec: str | None = None,
    level: int | None = None,
    block_bytes: int | str = "256KiB",
    threads: int = 1,
    keep_backup: bool = False,
    progress: Callable[[int], None] = lambda _bytes: None,
) -> Recompressed:
    """Write a file as a file of blocks, to `out` or in its place.

    In its place, the old file stays until the new one is complete and proven to have the same
    content; with `keep_backup` it also stays as ``.bak``.
    """
    source = _source(path)
    chosen = _codec(source, out, codec)
    final = destination(path if out is None else out)
    _refuse_part(final)
    remove_abandoned(final)
    temporary = temporary_name(final)
    sidecar = temporary.with_name(temporary.name + SUFFIX)
    try:
        writer = LineWriter(
            temporary,
            codec=chosen,
            level=level,
            block_bytes=block_bytes,
            validate=False,
            threads=threads,
            like=Path(path),
        )
        before = hashlib.blake2b()
        with writer:
            for lines in _whole_lines(decoded(source, decoding=Decoding(threads))):
                writer.write_lines(lines)
                before.update(lines)
                progress(writer.logical_bytes)
        _refuse_other_content(temporary, before.digest(), final, threads)
        made = Recompressed(
            str(final),
            writer.records,
            source.size,
            writer.bytes_written,
            writer.logical_bytes,
        )
        if final == destination(path):
            _refuse_changed(source)
        replace_file(temporary, final, keep_backup=keep_backup)
        kept = final.with_name(final.name + SUFFIX)
        if sidecar.exists() and not is_foreign(kept):
            replace_file(sidecar, kept)
    finally:
        temporary.unlink(missing_ok=True)
        sidecar.unlink(missing_ok=True)
    return made


def _source(path: str | os.PathLike[str]) -> Source:
    sources = [source for source in expand(path) if source.kind == "file"]
    if [source.location for source in sources] != [os.fspath(path)]:
        raise UsageError(
            f"{os.fspath(path)}: name one file, not a pipe, a directory, a pattern or a set"
        )
    return sources[0]


def _refuse_part(path: Path) -> None:
    """Raise if a file belongs to a set or a log, whose metadata has its length."""
    if is_part_or_beside(path.name) and any(map(parts_directory, path.parent.parts)):
        raise UsageError(
            f"{path}: is a part of a set, which would not fit its metadata any more; "
            "write it to another file (--out), or the set again (headrace shard write)"
        )
    if is_segment(path):
        raise UsageError(
            f"{path}: is a segment of a log, which would not fit its manifest any more; "
            "write it to another file (--out)"
        )


def _refuse_changed(source: Source) -> None:
    """Raise if a file has changed since it was read: appended rows would be lost."""
    now = _source(source.location)
    if (now.size, now.mtime_ns) != (source.size, source.mtime_ns):
        reason = "the file was changed while it was recompressed"
        raise SourceChangedError(source.location, source.size, reason)


def _codec(
    source: Source, out: str | os.PathLike[str] | None, codec: str | None
) -> str:
    """Return the codec of the new file: the option, that of its name, or that of the source."""
    if out is not None:
        codec = _codec_of_name(os.fspath(out), codec)
    if out is None and codec not in (None, source.codec):
        raise UsageError(
            f"{source.location}: it is {source.codec}; to make it {codec}, give another "
            "file to write (--out)"
        )
    chosen = codec or source.codec
    if chosen not in codecs() or chosen == "none":
        known = ", ".join(name for name in codecs() if name != "none")
        raise UsageError(
            f"{source.location}: files of codec {chosen} are not made of blocks; write another "
            f"file (--out) as {known}"
        )
    return chosen


def _codec_of_name(out: str, codec: str | None) -> str:
    """Return the codec of a file name; the option must not differ."""
    named = codec_of(out)
    if named not in codecs():
        raise UsageError(
            f"{out}: files are not written as {named}; let its name end in .gz or .zst"
        )
    if named == "none" and codec is None:
        raise UsageError(
            f"{out}: which codec? let its name end in .gz or .zst, or name one (--codec)"
        )
    if "none" not in (named, codec or named) and codec not in (None, named):
        raise UsageError(
            f"{out}: its name says {named}, not {codec}; give another name or --codec {named}"
        )
    return codec or named


def _whole_lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the same bytes in whole lines; a newline ends the last one."""
    begun: list[bytes] = []
    for piece in pieces:
        end = piece.rfind(b"\n") + 1
        if end:
            yield b"".join([*begun, piece[:end]])
            begun.clear()
        begun.append(piece[end:])
    if any(begun):
        yield b"".join([*begun, b"\n"])


def _refuse_other_content(
    written: Path, wanted: bytes, final: Path, threads: int
) -> None:
    found = hashlib.blake2b()
    for piece in decoded(_source(written), decoding=Decoding(threads)):
        found.update(piece)
    if found.digest() != wanted:
        reason = "the new file does not decode to the content of the old one"
        raise DamagedSourceError(str(final), 0, reason)
