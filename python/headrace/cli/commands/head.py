"""``headrace head``: the first rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.options.common import FILES, OPTIONS
from headrace.cli.options.log import TIMES
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console

ABOUT = """\
Several files are one sequence of rows: these are the first of all. No more is
read than is printed."""

EXAMPLES = (
    Example("headrace head app.jsonl", "the first 10 rows"),
    Example("headrace head -n 100 app.jsonl.gz", "the first 100, decompressed"),
    Example("headrace head --stats -n 1000 logs", "check the first 1,000 rows"),
)

ARGUMENTS = (
    FILES,
    Argument(
        "rows",
        "number",
        "how many rows (10 unless told)",
        ("-n", "--rows"),
        metavar="N",
        default=10,
    ),
    *TIMES,
    *OPTIONS,
)


def run(options: Namespace, console: Console) -> int:
    """Print the first rows."""
    from headrace.cli.io.inputs import files, print_rows

    return print_rows(
        lambda dataset: dataset.batches(0, options.rows),
        files(options),
        options,
        console,
    )
