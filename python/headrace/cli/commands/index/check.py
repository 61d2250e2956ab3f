"""``headrace index check``: whether an index is whole, and that of its file."""

from argparse import Namespace

from headrace.cli.console import Console
from headrace.cli.flag_groups import ONE_INDEX
from headrace.cli.flags import flag

ABOUT = """\
Reads every byte of the index, compares it with its checksums, its tables with each other,
and FILE with what the index was built from. Exits with 1 if the index is missing, damaged or
not that of FILE. With --deep, the keys of all rows are read again; the index must have exactly
these keys."""

EXAMPLES = """\
headrace index check app.jsonl  # check the only index of a file
headrace index check app.jsonl --deep  # compare every row with the index
"""

ARGUMENTS = (
    *ONE_INDEX,
    flag("--deep"),
    flag("--json"),
)


def run(options: Namespace, console: Console) -> int:
    """Print whether the index can be used."""
    from headrace.cli.io.index_events import check_index

    return check_index(options, console)
