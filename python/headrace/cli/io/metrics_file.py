"""A file with the metrics of a writer, replaced every few seconds."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError, UsageError
from headrace.kernel.rows import File, reading
from headrace.store.files.atomic import destination, write_atomically
from headrace.store.log.names import is_within_log
from headrace.store.log.report.metrics import exposition, stats_metrics
from headrace.store.log.report.stats import log_stats

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.api.log.writer import LogWriter
    from headrace.cli.console import Console

EVERY = 5.0

_BEGIN = b"# HELP storage_"
"""The first bytes of a file of metrics."""


@contextmanager
def telling(
    writer: LogWriter, directory: str, path: str, console: Console
) -> Iterator[None]:
    """Keep the file up to date while the block runs, and once more at its end."""
    target = destination(path)
    _refuse_other_data(target)

    def write() -> None:
        metrics = [*writer.metrics(), *stats_metrics(log_stats(directory))]
        text = exposition(metrics, {"directory": directory})
        write_atomically(target, [text.encode()])

    def update() -> None:
        try:
            write()
        except (HeadraceError, OSError) as error:
            # Records are still appended.
            message = f"{target}: the metrics could not be written: {error}"
            console.emit("warning", message)

    def tell() -> None:
        while not ended.wait(EVERY):
            update()

    write()  # a failure is reported before any record is read
    ended = threading.Event()
    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()
        update()


def _refuse_other_data(target: Path) -> None:
    """Raise if a file of a log, or one without metrics, would be replaced."""
    if is_within_log(target):
        raise UsageError(
            f"{target}: is in the directory of a log; name a file elsewhere"
        )
    if not target.exists():
        return
    with reading(str(target)):
        begin = File(target).read_at(0, len(_BEGIN)) if target.is_file() else b"?"
    if begin not in (b"", _BEGIN):
        raise UsageError(
            f"{target}: has other data than metrics, which would be replaced; name another "
            "file, or remove it"
        )
