"""Compressed rows for the suites about shards: how they are read, made and compared.

A *codec* here is what writes and reads a kind of compressed file other than headrace:
a module and two programs. What was written is compared by what the module makes of it.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.generate import KIB, MIB
from benchmarks.probe import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import BinaryIO

# The longest row that is expected; a search for a line end reads this many bytes.
LONGEST_ROW = 4 * KIB
MAX_BYTES = "64MiB"


def read_zstd(path: Path) -> BinaryIO:
    """Open a zstd file of any number of frames for reading."""
    import zstandard

    decoder = zstandard.ZstdDecompressor()
    return decoder.stream_reader(path.open("rb"), read_across_frames=True)


def write_zstd(path: Path) -> BinaryIO:
    """Open a zstd file for writing, with what ``zstd -3`` writes."""
    import zstandard

    encoder = zstandard.ZstdCompressor(level=3, write_checksum=True)
    return encoder.stream_writer(path.open("wb"))


def read_gzip(path: Path) -> BinaryIO:
    """Open a gzip file of any number of members for reading."""
    return gzip.open(path)  # type: ignore[return-value]


def write_gzip(path: Path) -> BinaryIO:
    """Open a gzip file for writing, at the level of ``gzip -6``."""
    return gzip.open(path, "wb", compresslevel=6)  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Codec:
    """The tools of others for a codec of headrace; `compress` and `decompress` print."""

    module: str
    compress: tuple[str, ...]
    decompress: str
    read: Callable[[Path], BinaryIO]
    write: Callable[[Path], BinaryIO]


CODECS: Mapping[str, Codec] = {
    "zstd": Codec(
        "zstandard",
        ("zstd", "-3", "-T1", "-q", "-c"),
        "zstdcat",
        read_zstd,
        write_zstd,
    ),
    "gzip": Codec("gzip", ("gzip", "-6", "-c"), "zcat", read_gzip, write_gzip),
}


def whole_lines(path: str) -> Iterator[bytes]:
    """Yield a file in pieces of about 1 MiB that end with a line.

    Where a line ends is looked for first, so that no piece is put together or cut:
    reading costs no more than the system takes for it.
    """
    with Path(path).open("rb", buffering=0) as file:
        start, size = 0, os.fstat(file.fileno()).st_size
        while start < size:
            end = min(start + MIB, size)
            if end < size:
                near = os.pread(file.fileno(), LONGEST_ROW, end - LONGEST_ROW)
                end -= LONGEST_ROW - (near.rindex(b"\n") + 1)
            yield os.pread(file.fileno(), end - start, start)
            start = end


def content(paths: list[Path], codec: str) -> str:
    """Return the answer for the decoded content of files, in order."""
    state = hashlib.sha256()
    with ExitStack() as stack:
        for path in paths:
            file = stack.enter_context(CODECS[codec].read(path))
            while piece := file.read(MIB):
                state.update(piece)
    return state.hexdigest()[:16]


def plain_content(path: Path) -> str:
    """Return the same answer for an uncompressed file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def kept_plain(path: Path, _stdout: bytes = b"") -> Outcome:
    """Return the answer of a candidate that wrote a plain file, and remove the file."""
    answer = plain_content(path)
    path.unlink()
    return Outcome(answer)


def kept_file(path: Path, codec: str, _stdout: bytes = b"") -> Outcome:
    """Return the answer of a candidate that wrote a compressed file, and remove the file.

    The sidecar of a file counts among the bytes that were written.
    """
    files = [path, *path.parent.glob(f"{path.name}.ckpt")]
    size = sum(file.stat().st_size for file in files)
    answer = content([path], codec)
    for file in files:
        file.unlink()
    return Outcome(answer, {"bytes_written": size})


def part_paths(folder: Path) -> list[Path]:
    """Find the files of a set of shards, in order."""
    from headrace import ShardSet

    return [Path(source.location) for source in ShardSet(folder).sources()]


def kept_set(folder: Path, codec: str, _stdout: bytes = b"") -> Outcome:
    """Return the answer of a candidate that wrote a set of shards, and remove the set."""
    size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    answer = content(part_paths(folder), codec)
    shutil.rmtree(folder)
    return Outcome(answer, {"bytes_written": size})


def output(beside: Path, name: str) -> Path:
    """Return the path of an output; remove the output of an interrupted run."""
    path = beside.with_name(name)
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    return path


def shards_of(path: Path, codec: str) -> Path:
    """Write the rows of a file as a set of shards, as this headrace does it."""
    from headrace import ShardWriter

    folder = path.with_name(f"{path.stem}-{codec}-shards")
    with ShardWriter(
        folder,
        codec=codec,
        max_bytes=MAX_BYTES,
        validate=False,
        threads=os.cpu_count() or 1,
    ) as writer:
        for lines in whole_lines(str(path)):
            writer.write_lines(lines)
    return folder
