"""``headrace shard stats``: sizes of the files of a set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import SET
from headrace.cli.console import Console, counted
from headrace.cli.flags import flag
from headrace.store.files.units import format_size

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.store.shards.metadata import Metadata, Part

ABOUT = """\
Prints for each file a bar against the limit it was written with, or against the largest file
if there was no limit; then its size, rows, blocks, and its compression ratio. Reads only the
metadata."""

EXAMPLES = """\
headrace shard stats shards  # for people
headrace shard stats shards --json  # for programs
"""

ARGUMENTS = (
    SET,
    flag("--json"),
)

WIDTH = 24


def run(options: Namespace, console: Console) -> int:
    """Print the sizes."""
    from headrace.cli.io.report import print_json
    from headrace.store.shards.shard_set import ShardSet

    metadata = ShardSet(options.set).metadata
    if options.json:
        print_json(facts(metadata), console)
    else:
        console.text(stats(metadata))
    return 0


def facts(metadata: Metadata) -> dict[str, object]:
    """Return the numbers for programs."""
    return {
        "name": metadata.name,
        "generation": metadata.generation,
        "parts": [
            {
                "path": part.path,
                "records": part.records,
                "blocks": part.blocks,
                "bytes": part.bytes,
                "logical_bytes": part.logical_bytes,
            }
            for part in metadata.parts
        ],
        "records": metadata.total_records,
        "bytes": metadata.total_bytes,
        "logical_bytes": metadata.total_logical_bytes,
        "codec": metadata.compression.codec,
        "level": metadata.compression.level,
        "block_bytes": metadata.compression.block_bytes,
        "max_bytes": metadata.limits.max_bytes,
    }


def stats(metadata: Metadata) -> str:
    """Draw the files of a set, and add their totals."""
    compression = metadata.compression
    largest = max((part.bytes for part in metadata.parts), default=0)
    limit = metadata.limits.max_bytes or largest
    width = max((len(part.path) for part in metadata.parts), default=0)
    lines = [f"{part.path:{width}}  {bar(part, limit)}\n" for part in metadata.parts]
    level = "" if compression.codec == "none" else f" level {compression.level}"
    most = metadata.limits.max_bytes
    within = "" if most is None else f", at most {format_size(most)} each"
    total = (
        f"{metadata.name}, generation {metadata.generation}: "
        f"{counted(len(metadata.parts), 'file')}, "
        f"{counted(metadata.total_records, 'row')}, "
        f"{format_size(metadata.total_logical_bytes)} as "
        f"{format_size(metadata.total_bytes)} ({compression.codec}{level}, blocks of "
        f"{format_size(compression.block_bytes)}{within})\n"
    )
    return "".join([*lines, total])


def bar(part: Part, limit: int) -> str:
    """Draw one file.

    >>> from headrace.store.shards.metadata import Part
    >>> bar(Part("a", 7, 750, 3000, 0, 2, "xxh3:0"), 1000)
    '[##################      ]  75%  750 B  7 rows  2 blocks  4.0x'
    """
    share = part.bytes / limit if limit else 0.0
    filled = "#" * int(share * WIDTH)
    ratio = part.logical_bytes / part.bytes if part.bytes else 1.0
    return (
        f"[{filled:{WIDTH}}] {share:4.0%}  {format_size(part.bytes)}  "
        f"{counted(part.records, 'row')}  {counted(part.blocks, 'block')}  {ratio:.1f}x"
    )
