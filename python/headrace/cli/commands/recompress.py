"""``headrace recompress``: a compressed file that can be entered anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.console import counted
from headrace.cli.options.common import OUTPUT_OPTIONS
from headrace.cli.options.write import BLOCK_BYTES, LEVEL, THREADS
from headrace.cli.registry import Example
from headrace.store.files.units import format_size

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console

ABOUT = """\
A compressed file from elsewhere can only be read from its start. This writes it
again in blocks, with the table of them beside it: the same rows, still read by zcat
and zstdcat, but any of them at once, by several threads, and split by Spark.

Without --out the file is replaced, once what was written is found to decode to what
was read. Rows are not looked at; a last one without a newline gets one."""

EXAMPLES = (
    Example("headrace recompress app.jsonl.gz", "in its own place, as gzip"),
    Example(
        "headrace recompress app.jsonl.gz --out app.jsonl.zst --level 9",
        "as zstd, to another file",
    ),
    Example("headrace recompress app.jsonl --out all.jsonl.zst", "of a plain file"),
)

ARGUMENTS = (
    Argument("file", "file", "the file to write again", metavar="FILE"),
    Argument(
        "out",
        "file",
        "write to this file, whose ending says how it is compressed",
        ("--out",),
        metavar="FILE",
    ),
    Argument(
        "codec",
        "choice",
        "how it is compressed (as its name says, or as it was)",
        ("--codec",),
        choices=("zstd", "gzip"),
    ),
    LEVEL,
    BLOCK_BYTES,
    THREADS,
    Argument(
        "keep_backup",
        "switch",
        "keep the file that is replaced, as FILE.bak",
        ("--keep-backup",),
    ),
    *OUTPUT_OPTIONS,
)


def run(options: Namespace, console: Console) -> int:
    """Write the file and print its path."""
    from headrace.api.recompress import recompress
    from headrace.cli.console import ending_cleanly
    from headrace.cli.options.write import threads_of

    with console.progress() as report, ending_cleanly():
        made = recompress(
            options.file,
            options.out,
            codec=options.codec,
            level=options.level,
            block_bytes=options.block_bytes,
            threads=threads_of(options.threads),
            keep_backup=options.keep_backup,
            progress=lambda done: report(done, None),
        )
    message = (
        f"{counted(made.records, 'row')}, {format_size(made.logical_bytes)}: "
        f"{format_size(made.bytes_before)} before, {format_size(made.bytes_after)} now"
    )
    if made.bytes_after > made.bytes_before and (options.out, options.level) == (
        None,
        None,
    ):
        message += "; it was compressed harder before, see --level"
    console.emit(
        "written",
        message,
        parts=1,
        records=made.records,
        bytes=made.bytes_after,
        logical_bytes=made.logical_bytes,
    )
    console.text(f"{options.out or options.file}\n")
    return 0
