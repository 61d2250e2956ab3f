"""The arguments every command that writes files of blocks has in common."""

from __future__ import annotations

from headrace.cli.argument import Argument

LEVEL = Argument(
    "level",
    "level",
    "how hard to compress: gzip 0 to 9 (6 unless told), zstd -7 to 22 (3 unless told)",
    ("--level",),
    metavar="N",
)

BLOCK_BYTES = Argument(
    "block_bytes",
    "size",
    "rows that are compressed together, in bytes (256KiB unless told): smaller for "
    "faster single rows, larger for smaller files",
    ("--block-bytes",),
    metavar="SIZE",
    default=256 << 10,
)

THREADS = Argument(
    "threads",
    "number",
    "how many threads compress (as many as there are cores, unless told); changes no "
    "byte",
    ("--threads",),
    metavar="N",
)

SET = Argument(
    "set",
    "file",
    "a directory with a set of shards in it, DIR/NAME, or a metadata file; or the URL of one",
    metavar="SET",
)


def threads_of(asked: int | None) -> int:
    """Return how many threads compress or decode."""
    import os

    return (os.cpu_count() or 1) if asked is None else asked
