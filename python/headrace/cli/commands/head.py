"""``headrace head``: the first rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.arguments import Argument
from headrace.cli.log_options import TIMES
from headrace.cli.options import FILES, OPTIONS
from headrace.cli.table import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.output import Console

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
    from headrace.cli.reading import files, print_rows

    return print_rows(
        lambda dataset: dataset.batches(0, options.rows),
        files(options),
        options,
        console,
    )
