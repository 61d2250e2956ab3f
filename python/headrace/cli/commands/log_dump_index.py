"""``headrace log dump-index``: an index as lines of JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.arguments import Argument
from headrace.cli.options import OUTPUT_OPTIONS
from headrace.cli.table import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.output import Console

ABOUT = """\
First the header, then for each line of the segment an object with fileNumber,
lineNumberLocal, lineNumberGlobal (both from 1), startByte, endByte (behind the newline),
messageTime (milliseconds) and timeSource (created or extracted), and flags if there are
any. An entry that is not good ends it with a failure."""

EXAMPLES = (
    Example(
        "headrace log dump-index trades/00000000000000000000.jsonl.idx",
        "the entries of the first segment",
    ),
)

ARGUMENTS = (
    Argument("file", "file", "an index, FILE.jsonl.idx", metavar="FILE"),
    *OUTPUT_OPTIONS,
)


def run(options: Namespace, console: Console) -> int:
    """Print header and entries."""
    import json

    from headrace.store.log.dump import dumped_index

    for told in dumped_index(options.file):
        console.text(json.dumps(told) + "\n")
    return 0
