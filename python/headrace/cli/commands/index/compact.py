"""``headrace index compact``: make one index of an index and its delta."""

from argparse import Namespace

from headrace.cli.console import Console
from headrace.cli.flag_groups import ONE_INDEX
from headrace.cli.flags import flag

ABOUT = """\
Merges the index and the delta that `headrace index update` wrote beside it; building the
index again would give the same bytes. FILE is read only for its hashes, if it looks different,
and for rows that a compact index cannot tell apart. A compact index with four times the rows it
was built with cannot be merged: an event says so, the exit code is 1, and `headrace index update
--full` builds it again."""

EXAMPLES = """\
headrace index compact app.jsonl  # merge the only index of a file
"""

ARGUMENTS = (
    *ONE_INDEX,
    flag("--memory", "for --graph only", otherwise="256MiB"),
)


def run(options: Namespace, console: Console) -> int:
    """Merge index and delta."""
    from headrace.cli.io.index_events import compact_index

    return compact_index(options, console)
