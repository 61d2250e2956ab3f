"""``headrace head``: the first rows."""

from argparse import Namespace

from headrace.cli.argument import FILES
from headrace.cli.console import Console
from headrace.cli.flags import READING, TIMES, flag

ABOUT = """\
Several files are one sequence of rows, whose first rows are printed. Reading stops
after the last of them."""

EXAMPLES = """\
headrace head app.jsonl  # the first 10 rows
headrace head -n 100 app.jsonl.gz  # the first 100, decompressed
headrace head --stats -n 1000 logs  # check the first 1,000 rows
"""

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
