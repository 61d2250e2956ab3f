"""``headrace help``: the list of commands, or the help of one."""

from argparse import Namespace
from collections.abc import Sequence

from headrace.cli.argument import Argument, build
from headrace.cli.console import Console
from headrace.cli.registry import COMMANDS, Entry, find, first_words, group, load

ABOUT = ""

EXAMPLES = """\
headrace help  # list the commands
headrace help tail  # everything about tail
"""

ARGUMENTS = (
    Argument(
        "command",
        "choice",
        "the command to explain",
        metavar="COMMAND",
        choices=tuple(first_words()),
        arity="optional",
    ),
    Argument(
        "member",
        "choice",
        "its second word, if it has one",
        metavar="WORD",
        choices=tuple(
            dict.fromkeys(word for entry in COMMANDS for word in entry.name.split()[1:])
        ),
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
    return OVERVIEW.format(commands=_lines(COMMANDS))


def listing(word: str, members: Sequence[Entry]) -> str:
    """List the commands whose names begin with `word`."""
    return (
        f"usage: headrace {word} COMMAND [ARGUMENTS]\n\ncommands:\n{_lines(members)}\n\n"
        f"`headrace {word} COMMAND --help` explains a command.\n"
    )


def _lines(entries: Sequence[Entry]) -> str:
    width = max(len(entry.name) for entry in entries)
    return "\n".join(f"  {entry.name:{width}}  {entry.summary}" for entry in entries)


def run(options: Namespace, console: Console) -> int:
    """Print the help of a command, or the list of commands."""
    word = options.command or ""
    entry = find(" ".join(filter(None, (word, options.member))))
    if entry is not None:
        console.text(build(entry, load(entry)).format_help())
    elif members := group(word):
        console.text(listing(word, members))
    else:
        console.text(overview())
    return 0
