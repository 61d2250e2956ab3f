"""Opening FILEs with the options of a command, and printing rows.

Imported when a command runs, not when its help is shown.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import headrace
from headrace.cli.console import BAR_EVERY, Console, OutputClosedError
from headrace.errors import UsageError
from headrace.store.files.source import STDIN, Source, total_size

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from headrace.api.dataset import Batch, Dataset

MOST_HELD = 100_000
"""Rows from the end of a file that are read into memory."""


def files(options: Namespace) -> list[str]:
    """List the FILEs [default: standard input]."""
    if options.files:
        return list(options.files)
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("give a FILE, or - to read what you type")
    return [STDIN]


def stdin_waits() -> bool:
    """Whether standard input is a pipe or a file, which the caller may mean to be read."""
    try:
        if sys.stdin is None:
            return False
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def threads_of(given: int | None) -> int:
    """Return the number of threads [default: one for each core]."""
    return (os.cpu_count() or 1) if given is None else given


def given(options: Namespace, family: type) -> dict[str, Any]:
    """Return the options of a family of `headrace.api.options` that flags have set.

    A flag has the name of its option, so a new one needs no line in a command.
    """
    # The flag `--progress` is about the display.
    names = set(family.__annotations__) - {"progress"}
    return {name: value for name, value in vars(options).items() if name in names}


def open_dataset(options: Namespace, files: str | Sequence[str]) -> Dataset[bytes]:
    """Open FILEs with the options of a command."""
    return headrace.open(
        files,
        raw=True,
        max_line=options.max_line,
        max_ratio=options.max_ratio,
        max_decoded=options.max_decoded,
        index_dir=options.index_dir,
        index=not options.no_index,
        # Not every command that reads has them.
        since=getattr(options, "since", None),
        until=getattr(options, "until", None),
    )


def print_rows(
    choose: Callable[[Dataset[bytes]], Iterable[Batch]],
    files: str | Sequence[str],
    options: Namespace,
    console: Console,
    *,
    must_deliver: bool = False,
) -> int:
    """Print the rows that `choose` takes from FILEs, and return the exit code.

    A row that is too long is left out, or with `must_deliver` a failure.
    """
    from headrace.cli.io.line_counts import Account

    account = Account(options, console, must_deliver=must_deliver)
    with open_dataset(options, files) as dataset:
        console.live = any(source.is_pipe for source in dataset.sources)
        try:
            with watching(console, dataset.sources, dataset.bytes_read):
                for batch in choose(dataset):
                    account.add(batch)
                    console.write(batch.rows.lines())
        finally:
            account.report()
    return account.verdict()


def last_rows(dataset: Dataset[bytes], count: int) -> Iterable[Batch]:
    """Return the last rows: few are read from the end, many in order, so that none are held."""
    if count <= MOST_HELD:
        return dataset.tail_batches(count)
    total = len(dataset)
    return dataset.batches(max(total - count, 0), total)


@contextmanager
def watching(
    console: Console, sources: Sequence[Source], bytes_done: Callable[[], int]
) -> Iterator[None]:
    """Show how much is read, in another thread: the one that waits for a row cannot."""
    total = total_size(sources)
    done = threading.Event()

    def watch() -> None:
        # The thread that writes rows notices too that the reader has gone.
        with suppress(OutputClosedError):
            while not done.wait(BAR_EVERY):
                report(bytes_done(), total)

    with console.progress() as report:
        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()
