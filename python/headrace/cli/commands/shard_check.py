"""``headrace shard check``: every byte of a set against what was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.options.common import OUTPUT_OPTIONS
from headrace.cli.options.write import SET, THREADS
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console

ABOUT = """\
Prints each part with its rows, its bytes and "ok", or what is wrong with it: size and
digest of the file, checksum, length and rows of every block, all against the metadata.
Exits with 1 if anything is wrong."""

EXAMPLES = (
    Example("headrace shard check shards", "the set in a directory"),
    Example("headrace shard check shards/rows", "the set of that name"),
)

ARGUMENTS = (
    SET,
    THREADS._replace(help="how many parts are checked at once (as many as cores)"),
    *OUTPUT_OPTIONS,
)


def run(options: Namespace, console: Console) -> int:
    """Print what is wrong, part by part."""
    from headrace.api.shard_check import check_shards
    from headrace.store.shards.shard_set import ShardSet

    shards = ShardSet(options.set)
    total = shards.metadata.total_bytes
    wrong = 0
    with console.progress() as report:
        checked = check_shards(
            shards, threads=options.threads, progress=lambda done: report(done, total)
        )
        for part in checked:
            said = "; ".join(map(str, part.faults)) or "ok"
            counts = f"{part.part.records} rows\t{part.part.bytes} bytes"
            console.text(f"{part.part.path}\t{counts}\t{said}\n")
            wrong += bool(part.faults)
    if not wrong:
        return 0
    parts = len(shards.metadata.parts)
    message = f"{shards.path}: {wrong} of {parts} parts are not what was written; fetch or write the set again"
    console.emit("error", message, error="BadSetError", path=shards.path, parts=wrong)
    return 1
