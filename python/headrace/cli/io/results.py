"""Writing the answers of a query, and its bad rows.

Imported when a command runs, not when its help is shown.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headrace.api.formats import Format, load, named, target
from headrace.cli.console import Console, ending_cleanly
from headrace.cli.io.inputs import watching
from headrace.errors import HeadraceError, RowFailedError, UsageError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence

    from headrace.api.dataset import Dataset
    from headrace.api.options import Errors
    from headrace.api.results import QueryResult
    from headrace.engines.query.options import BadRow, OnError

STDOUT = "-"


def policy(options: Namespace) -> OnError:
    """Return what to do with a bad row; --errors implies collect."""
    if options.strict:
        if options.on_error in ("skip", "collect"):
            raise UsageError(
                f"--strict ends at a bad line and --on-error {options.on_error} goes on; "
                "leave out one of them"
            )
        if options.errors is not None:
            raise UsageError("--strict ends at a bad row, so --errors has none to keep")
        return "abort"
    on_error: OnError | None = options.on_error
    if options.errors is not None:
        if on_error not in (None, "collect"):
            raise UsageError(
                f"--errors keeps bad rows, and --on-error {on_error} does not"
            )
        return "collect"
    return on_error or "abort"


def errors_to(options: Namespace, console: Console) -> Errors | None:
    """Return where bad rows go: to a file, or as events to standard error."""
    if policy(options) != "collect":
        return None
    if options.errors is None:
        return telling(console)
    out: str | None = vars(options).get("out")
    if out is not None and Path(out).resolve() == Path(options.errors).resolve():
        raise UsageError(
            "--out and --errors name the same file; bad rows need their own"
        )
    path: str = options.errors
    return path


def telling(console: Console) -> Callable[[BadRow], None]:
    """Return a function that emits an event about a bad row."""
    from headrace.engines.rows.rejected import facts_of

    def tell(row: BadRow) -> None:
        known = facts_of(row)
        where = f"{row.error.path}: line {row.error.line}, byte {row.error.offset}"
        console.emit("bad_row", f"{where}: {row.error.reason}", **known)

    return tell


def format_of(options: Namespace, console: Console) -> Format:
    """Choose the format, and find what it needs, before anything is read."""
    if options.out in (None, STDOUT):
        chosen = named(options.format or "ndjson")
        if chosen.binary and console.width is not None:
            raise UsageError(f"{chosen.name} is not for a terminal; give --out FILE")
    else:
        chosen = target(options.out, options.format).format
    load(chosen)
    return chosen


def deliver(
    result: QueryResult,
    dataset: Dataset[bytes],
    chosen: Format,
    options: Namespace,
    console: Console,
) -> None:
    """Print the answers, or write them to a file, and emit notes about them."""

    def bytes_done() -> int:
        # Each reading of the answers is another run.
        return result.report.bytes_done()

    with watching(console, dataset.sources, bytes_done), ending_cleanly():
        if options.out in (None, STDOUT):
            for piece in result.formatted(chosen.name, width=console.width):
                console.write(piece)
        else:
            result.write(options.out, chosen.name)
        result.report.end_output()
    for note in result.notes:
        console.emit("output", note, format=chosen.name)
    skips = policy(options) == "skip"
    say_bad(result.report.bad, options, console, result.report.errors if skips else ())
    if not console.quiet and (hint := result.hint):
        console.emit("no_answers", hint)


def say_bad(
    bad: int,
    options: Namespace,
    console: Console,
    errors: Sequence[HeadraceError] = (),
) -> None:
    """Emit how many rows were skipped, except where --stats does.

    Of good rows on which the query failed, the first of the `errors` is shown.
    """
    if bad and not (options.stats and options.errors is None):
        rows = "1 bad row was" if bad == 1 else f"{bad} bad rows were"
        kept = "" if options.errors is None else f"; see {options.errors}"
        failed = next(
            (each for each in errors if isinstance(each, RowFailedError)), None
        )
        why = "" if failed is None else f"; the query failed first on {failed.what}"
        message = f"{rows} skipped{kept}{why}"
        console.emit("bad_rows", message, bad=bad, errors=options.errors)
