"""``headrace index stats``: what an index is of, and how large it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.flags import flag
from headrace.cli.options.index import ONE_INDEX
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console

ABOUT = """\
Reads the index only. `headrace index check` compares it with its file."""

EXAMPLES = (
    Example("headrace index stats app.jsonl", "for people"),
    Example("headrace index stats app.jsonl --json", "for programs"),
)

ARGUMENTS = (
    *ONE_INDEX,
    flag("--json"),
)


def run(options: Namespace, console: Console) -> int:
    """Print the numbers."""
    if options.graph:
        from headrace.cli.io.index_events import stats

        return stats(options, console)
    return _stats(options, console)


def _stats(options: Namespace, console: Console) -> int:
    from headrace.api.index.key import KeyIndex
    from headrace.cli.io.report import print_report

    stats = KeyIndex.stats(
        options.file,
        options.on,
        index=options.index,
        index_dir=options.index_dir,
    )
    print_report(stats, options, console)
    return 0
