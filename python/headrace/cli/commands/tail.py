"""``headrace tail``: the last rows, and those still to come."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from headrace.cli.argument import FILES
from headrace.cli.flags import READING, TIMES, flag
from headrace.errors import UsageError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

    from headrace.api.dataset import Batch
    from headrace.api.follow import Notice
    from headrace.cli.console import Console
    from headrace.cli.io.line_counts import Account

ABOUT = """\
Several files are one sequence of rows, whose last rows are printed. Only the end
of a plain file is read.

With -f the file is followed by name. After a rotation, the rest of the old file is printed
before the new one, and so are files that had the name between two looks. After a truncation,
the file is read again from its start. Only complete rows are printed, each as it comes. One
plain file can be followed; rows of standard input are printed as they come."""

EXAMPLES = """\
headrace tail app.jsonl  # the last 10 rows
headrace tail -n 1 'logs/*.jsonl'  # the last row of all files
headrace tail -f app.jsonl  # the last 10 rows, and those that are appended
headrace tail -n 0 -F later.jsonl  # wait for a file, then follow it
"""

ARGUMENTS = (
    FILES,
    flag("--limit", default="10"),
    flag("--follow"),
    flag("--wait"),
    flag("--poll", default="0.2"),
    *TIMES,
    *READING,
)


def run(options: Namespace, console: Console) -> int:
    """Print the last rows; with -f or -F, also those that are appended."""
    from headrace.cli.io.inputs import files, last_rows, print_rows

    if options.follow or options.wait:
        if (options.since, options.until) != (None, None):
            raise UsageError(
                "--since and --until select rows that exist; follow a log with "
                "`headrace log cat -f --since`"
            )
        return _follow(files(options), options, console)
    return print_rows(
        lambda dataset: last_rows(dataset, options.limit),
        files(options),
        options,
        console,
    )


def _follow(files: Sequence[str], options: Namespace, console: Console) -> int:
    from headrace.cli.io.line_counts import Account

    account = Account(options, console)
    console.live = True
    path = _only(files)
    changes = _changes(path, options)
    try:
        for change in changes:
            _show(path, change, console, account)
            if account.refused:
                break
    finally:
        account.report()
    return account.verdict()


def _changes(path: str, options: Namespace) -> Iterator[Batch | Notice]:
    from headrace.api.dataset import Batch
    from headrace.api.follow import watch
    from headrace.cli.io.inputs import open_dataset
    from headrace.kernel.rows import RowBatch
    from headrace.store.files.source import STDIN

    if path == STDIN:
        return open_dataset(options, path).batches()
    changes = watch(
        path,
        last=options.limit,
        max_line=options.max_line,
        poll=options.poll,
        wait=options.wait,
    )
    return (
        Batch(path, change, numbered=False) if isinstance(change, RowBatch) else change
        for change in changes
    )


def _show(
    path: str, change: Batch | Notice, console: Console, account: Account
) -> None:
    from headrace.api.dataset import Batch
    from headrace.api.follow import Rotated, Truncated, Waiting

    match change:
        case Batch():
            account.add(change)
            console.write(change.rows.lines())
        case Waiting():
            console.emit("waiting", f"{path}: not there yet; waiting for it", path=path)
        case Rotated(dropped):
            message = f"{path}: rotated; going on with the new file{_rest(dropped)}"
            console.emit("rotated", message, path=path, dropped=dropped)
        case Truncated(dropped):
            message = (
                f"{path}: truncated; reading it again from its start{_rest(dropped)}"
            )
            console.emit("truncated", message, path=path, dropped=dropped)


def _rest(dropped: int) -> str:
    return f", {dropped} bytes of an unfinished row dropped" if dropped else ""


def _only(files: Sequence[str]) -> str:
    """Return the one file to follow, or raise if it cannot be followed."""
    from glob import has_magic

    from headrace.store.files.source import is_url

    if len(files) > 1:
        raise UsageError(
            f"only one file can be followed, not {len(files)}; "
            "start a `headrace tail -f` for each"
        )
    (path,) = files
    if is_url(path):
        raise UsageError(f"{path}: a URL cannot be followed; copy the file first")
    if has_magic(path) and not os.path.lexists(path):
        raise UsageError(f"{path}: a pattern cannot be followed; name one file")
    return path
