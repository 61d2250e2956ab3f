"""``headrace help``: the list of commands, or the help of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.arguments import Argument, build
from headrace.cli.table import COMMANDS, Example, find, load

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.output import Console

ABOUT = ""

EXAMPLES = (
    Example("headrace help", "list the commands"),
    Example("headrace help tail", "everything about tail"),
)

ARGUMENTS = (
    Argument(
        "command",
        "choice",
        "the command to explain",
        metavar="COMMAND",
        choices=tuple(entry.name for entry in COMMANDS),
        arity="optional",
    ),
)

OVERVIEW = """\
usage: headrace COMMAND [ARGUMENTS]

Read newline-delimited JSON (NDJSON, JSON Lines) of any size.

examples:
  headrace count 'logs/*.jsonl.gz'      lines in all files together
  headrace row events.jsonl 1000000     one row, found without reading the rest
  headrace tail -f app.jsonl            the last rows, and those still to come

commands:
{commands}

FILE is a file, a directory, a quoted pattern, a URL, or - for standard input;
gzip, zstd, bzip2 and xz are read as they are. Rows are numbered from 0, lines in
messages from 1. Data goes to standard output, everything else to standard error.
Exit codes: 0 success, 1 failure, 2 usage, 130 interrupted.

`headrace COMMAND --help` explains a command, `headrace --version` says which
version this is.
"""


def overview() -> str:
    """List the commands."""
    width = max(len(entry.name) for entry in COMMANDS)
    lines = [f"  {entry.name:{width}}  {entry.summary}" for entry in COMMANDS]
    return OVERVIEW.format(commands="\n".join(lines))


def run(options: Namespace, console: Console) -> int:
    """Print the help asked for."""
    entry = find(options.command or "")
    console.text(build(entry, load(entry)).format_help() if entry else overview())
    return 0
