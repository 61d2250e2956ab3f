"""``headrace recompress``: rewrite a compressed file in blocks, for random access."""

from argparse import Namespace

from headrace.cli.argument import Argument
from headrace.cli.console import Console, counted, ending_cleanly
from headrace.cli.flags import WRITING, flag
from headrace.store.files.units import format_size

ABOUT = """\
A compressed file of another program can only be read from its start. This command writes it
again in blocks, with a table of the blocks beside it: the same rows, which zcat and zstdcat still
read, but with random access, for several threads, and split by Spark.

Without --out, FILE is replaced, after the new file is proven to decode to the same bytes. Rows
are not parsed; a last row without a newline gets one."""

EXAMPLES = """\
headrace recompress app.jsonl.gz  # rewrite a gzip file in place
headrace recompress app.jsonl.gz --out app.jsonl.zst --level 9
    # rewrite it as zstd, to another file
headrace recompress app.jsonl --out all.jsonl.zst  # compress a plain file
"""

ARGUMENTS = (
    Argument("file", "file", "the file to write again", metavar="FILE"),
    flag("--out", "its ending chooses the codec", otherwise="FILE is replaced"),
    flag(
        "--codec",
        otherwise="from the name of --out, else that of FILE",
        choices=("zstd", "gzip"),
    ),
    *WRITING,
    flag("--keep-backup"),
)


def run(options: Namespace, console: Console) -> int:
    """Write the file and print its path."""
    from headrace.api.recompress import recompress
    from headrace.cli.io.inputs import threads_of

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
        message += "; it was compressed harder before: see --level"
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
