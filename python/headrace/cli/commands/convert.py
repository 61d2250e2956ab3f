"""``headrace convert``: JSON that is not in lines, as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import FILES
from headrace.cli.console import Console, ending_cleanly
from headrace.cli.flags import BAD_ROWS, flag

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.api.convert import Conversion

ABOUT = """\
Headrace reads one JSON value on each line. This command writes such lines from one large
array, from pretty-printed values, and from values one after the other, of any size; it holds
one value in memory. Each element of an array is a line, unless --keep-arrays; space between
tokens is left out, all else keeps its bytes.

A value that is not JSON ends the command; the message names its file, line and byte.
--on-error skip goes on with the next value, collect also reports each bad value on standard
error or in --errors FILE. The file of --out appears when it is complete, compressed as its
name says (.gz, .zst, .bz2, .xz)."""

EXAMPLES = """\
headrace convert app.json -o later.jsonl.zst  # one array, as lines
headrace convert --keep-arrays app.json  # an array stays a line
headrace convert --errors bad.jsonl --stats app.json
    # bad values to a file, and how many there are
"""

ARGUMENTS = (
    FILES,
    flag("--out", otherwise="standard output"),
    flag("--keep-arrays"),
    *BAD_ROWS,
    flag("--stats", "the first bad values are named"),
    flag("--max-line", "rows are values here", default="64MiB"),
    flag("--max-ratio", default="10000"),
    flag("--max-decoded"),
)


def run(options: Namespace, console: Console) -> int:
    """Print the lines, or write them to a file."""
    from headrace.api.convert import convert
    from headrace.api.formats import target
    from headrace.cli.io.inputs import files, watching
    from headrace.cli.io.results import errors_to, policy, say_bad

    options.strict = False
    to_file = options.out not in (None, "-")
    if to_file:
        target(options.out, "ndjson")
    conversion = convert(
        files(options),
        keep_arrays=options.keep_arrays,
        on_error=policy(options),
        errors=errors_to(options, console),
        max_line=options.max_line,
        max_ratio=options.max_ratio,
        max_decoded=options.max_decoded,
    )
    try:
        with (
            watching(console, conversion.sources, lambda: conversion.bytes_read),
            ending_cleanly(),
        ):
            if to_file:
                conversion.write(options.out, "ndjson")
            else:
                for lines in conversion.lines():
                    console.write(lines)
    finally:
        if options.stats:
            _report(conversion, console)
    say_bad(conversion.bad, options, console)
    return 0


def _report(conversion: Conversion, console: Console) -> None:
    good = conversion.values - conversion.bad
    summary = f"values {conversion.values} = lines {good} + bad {conversion.bad}"
    places = [error.what for error in conversion.errors]
    console.emit(
        "stats",
        "\n  ".join([summary, *places]),
        records=good,
        bad=conversion.bad,
        first_bad=[
            {"path": bad.path, "line": bad.line, "offset": bad.offset}
            | {"reason": bad.reason}
            for bad in conversion.errors
        ],
    )
