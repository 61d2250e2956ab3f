"""``headrace index stats``: what an index is of, and how large it is."""

from argparse import Namespace

from headrace.cli.console import Console
from headrace.cli.flag_groups import ONE_INDEX
from headrace.cli.flags import flag

ABOUT = """\
Reads the index only. `headrace index check` compares it with its file."""

EXAMPLES = """\
headrace index stats app.jsonl  # for people
headrace index stats app.jsonl --json  # for programs
"""

ARGUMENTS = (
    *ONE_INDEX,
    flag("--json"),
)


def run(options: Namespace, console: Console) -> int:
    """Print the numbers."""
    from headrace.cli.io.index_events import index_stats
    from headrace.cli.io.report import print_report

    print_report(index_stats(options), options, console)
    return 0
