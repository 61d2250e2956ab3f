"""What commands say that build or update key indexes.

Imported when a command runs, not when its help is shown.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

import headrace
from headrace.store.atomic import destination, replacing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.cli.output import Console
    from headrace.engines.local.key_build import Built
    from headrace.kernel.graph import GraphWritten
    from headrace.kernel.key_index import Skipped, Written


@contextmanager
def skipped_to(
    path: str | None, location: str
) -> Iterator[Callable[[Sequence[Skipped]], None] | None]:
    """Write lines without a key to a file, which is there when all is done."""
    if path is None:
        yield None
        return
    with replacing(destination(path)) as file:
        yield lambda rows: file.writelines(_as_line(location, row) for row in rows)


def _as_line(location: str, row: Skipped) -> bytes:
    line, offset, cause, reason = row
    told = {
        "file": location,
        "line": line,
        "byte": offset,
        "cause": cause,
        "reason": reason,
    }
    return json.dumps(told).encode() + b"\n"


def say_upgraded(console: Console, built: Built[Written] | Built[GraphWritten]) -> None:
    """Say that version 1 had no room."""
    written = built.written
    if written.why is not None:
        console.emit(
            "format_upgraded",
            f"{built.path}: version 1 has no room for it ({written.why}): version 2",
            reason=written.why,
            **{"from": 1, "to": 2},
        )


def say_complete(console: Console, built: Built[Written], duration: int) -> None:
    """Say what is in an index that was built, and what is not."""
    written, skipped = built.written, built.lines.skipped
    causes = ", ".join(f"{count} {cause}" for cause, count in skipped.items())
    places = [
        f"line {row.line}, byte {row.offset}: {row.reason}"
        for row in built.first_skipped
    ]
    message = (
        f"{built.path}: {written.records} rows, {written.keys} keys, "
        f"{written.size} bytes{f'; passed over: {causes}' if causes else ''}"
    )
    console.emit(
        "build_complete",
        "\n  ".join([message, *places]),
        index=str(built.path),
        records=written.records,
        skipped=sum(skipped.values()),
        causes=skipped,
        pending=built.lines.pending,
        first_skipped=[row._asdict() for row in built.first_skipped],
        keys=written.keys,
        version=written.version,
        size_bytes=written.size,
        duration_ms=duration,
    )


def say_compacted(console: Console, built: Built[Written]) -> None:
    """Say that base and delta are one index."""
    say_upgraded(console, built)
    written = built.written
    console.emit(
        "index_compacted",
        f"{built.path}: one index with its delta: {written.records} rows, "
        f"{written.keys} keys, {written.size} bytes",
        index=str(built.path),
        records=written.records,
        keys=written.keys,
        version=written.version,
        size_bytes=written.size,
    )


def say_up_to_date(console: Console, location: str, *, revalidated: bool) -> None:
    """Say that an index has all rows."""
    if revalidated:
        console.emit(
            "index_revalidated",
            f"{location}: looks different and is the same; its index has taken note",
            source=location,
        )
    console.emit("update_mode", f"{location}: the index is up to date", mode="none")


def say_full_required(
    console: Console, location: str, reason: str, *, graph: bool = False
) -> None:
    """Say that only building an index anew helps."""
    console.emit(
        "update_mode",
        f"{location}: the index has to be built anew ({reason}): "
        f"run `headrace index update {location}{' --graph' if graph else ''} --full`",
        mode="full_required",
        reason=reason,
    )


def fields_seen(location: str) -> list[str]:
    """List the fields of the first rows, for whoever has mistyped one."""
    rows = islice(headrace.open(location).records(on_error="skip"), 100)
    names = (name for row in rows if isinstance(row, dict) for name in row)
    return list(dict.fromkeys(names))[:20]
