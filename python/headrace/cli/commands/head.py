"""``headrace head``: the first rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import FILES
from headrace.cli.flags import READING, TIMES, flag
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console

ABOUT = """\
Several files are one sequence of rows, whose first rows are printed. Reading stops
after the last of them."""

EXAMPLES = (
    Example("headrace head app.jsonl", "the first 10 rows"),
    Example("headrace head -n 100 app.jsonl.gz", "the first 100, decompressed"),
    Example("headrace head --stats -n 1000 logs", "check the first 1,000 rows"),
)

ARGUMENTS = (
    FILES,
    flag("--limit", default="10"),
    *TIMES,
    *READING,
)


def run(options: Namespace, console: Console) -> int:
    """Print the first rows."""
    from headrace.cli.io.inputs import files, print_rows

    return print_rows(
        lambda dataset: dataset.batches(0, options.limit),
        files(options),
        options,
        console,
    )
