"""``headrace count``: how many lines there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import FILES
from headrace.cli.flags import ENGINE, READING, TIMES, flag
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from headrace.cli.console import Console
    from headrace.cli.io.line_counts import Account

ABOUT = """\
Counts every line, also a blank or bad one, and a last one without a line end.
--stats and --strict check each line in full and count the kinds. For a file over 8 MiB, the
command writes FILE.ckpt, which has the place of every thousandth line, so that rows are found
by number; --no-index writes none. With --engine spark, tasks of Spark count, on this machine
or on the cluster at --master."""

EXAMPLES = """\
headrace count app.jsonl  # the number of lines
headrace count --per-file 'logs/*.jsonl'  # the number for each file
headrace count --stats logs  # also how many are bad, and the first bad ones
headrace count --engine spark logs  # with tasks of Spark
gzip -dc app.jsonl.gz | headrace count  # of standard input
"""

ARGUMENTS = (
    FILES,
    flag("--per-file"),
    *TIMES,
    *ENGINE,
    *READING,
)


def run(options: Namespace, console: Console) -> int:
    """Print the number of lines."""
    from headrace.cli.io.inputs import files
    from headrace.cli.io.line_counts import Account

    account = Account(options, console)
    if options.per_file:
        failed = _count_each(files(options), options, console, account)
    else:
        console.text(f"{_count(files(options), options, console, account)}\n")
        failed = False
    account.report()
    return account.verdict() or int(failed)


def _count_each(
    files: Sequence[str], options: Namespace, console: Console, account: Account
) -> bool:
    """Print each count; a file that cannot be read does not stop the others."""
    from headrace.store.files.source import expand

    failed = False
    for source in expand(files):
        try:
            count = _count(source.location, options, console, account)
        except (HeadraceError, OSError) as error:
            console.fail(error)
            failed = True
        else:
            console.text(f"{count}\t{source.location}\n")
    return failed


def _count(
    files: str | Sequence[str], options: Namespace, console: Console, account: Account
) -> int:
    from headrace.api.options import EngineOptions
    from headrace.cli.io.inputs import given, open_dataset

    by = given(options, EngineOptions)
    with open_dataset(options, files) as dataset, console.progress() as report:
        if not account.checking:
            return dataset.count(report, **by)
        stats = dataset.stats(progress=report, **by)
    account.add_stats(stats)
    return stats.lines
