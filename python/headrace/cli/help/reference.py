"""``python -m headrace.cli.help.reference`` prints docs/cli.md, made from the tables."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

from headrace.cli.console import Console
from headrace.cli.events import EVENTS
from headrace.cli.options.common import OPTIONS
from headrace.cli.registry import COMMANDS, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.cli.argument import Argument
    from headrace.cli.registry import Command, Entry

INTRODUCTION = """\
# The command line

<!-- Made by `python -m headrace.cli.help.reference`; change the tables, not this file. -->

Data goes to standard output, everything else to standard error. A row is printed as
it stands in the file, with `\\n` after it. Rows are numbered from 0, lines in messages
from 1.

`FILE` is a file, a directory (its `*.jsonl*` and `*.ndjson*` files in order), a quoted
pattern such as `'logs/**/*.jsonl'`, a URL, or `-` for standard input. Compression is
seen in the content, not in the name. Several files are one sequence of rows.

| exit code | meaning |
|---|---|
| 0 | success, also when the reader of a pipe goes away |
| 1 | failure, or a bad line with `--strict` |
| 2 | a command line that makes no sense |
| 130 | interrupted |

| command | what it does |
|---|---|
"""


def reference() -> str:
    """Make the whole document."""
    rows = "".join(
        f"| [`{name}`](#{name.replace(' ', '-')}) | {does} |\n"
        for name, does in COMMANDS
    )
    sections = [_section(entry, load(entry)) for entry in COMMANDS]
    options = f"## Options\n\nOf every command that reads:\n\n{_table(OPTIONS)}"
    return "\n".join([INTRODUCTION + rows, *sections, options, _events()])


def _section(entry: Entry, command: Command) -> str:
    return "\n".join(_lines(entry, command))


def _lines(entry: Entry, command: Command) -> Iterator[str]:
    yield f"## {entry.name}\n"
    yield f"{entry.summary[0].upper()}{entry.summary[1:]}.\n"
    positionals = [each for each in command.ARGUMENTS if not each.flags]
    usage = ["headrace", entry.name, "[OPTION ...]"]
    yield "```console"
    yield " ".join([*usage, *(each.spelling for each in positionals)])
    yield "```\n"
    if command.ABOUT:
        yield f"{command.ABOUT}\n"
    if command.EXAMPLES:
        yield "| example | what it does |\n|---|---|"
        for line, does in command.EXAMPLES:
            yield f"| {_code(line)} | {does} |"
        yield ""
    reads = set(OPTIONS) <= set(command.ARGUMENTS)
    own = [each for each in command.ARGUMENTS if not reads or each not in OPTIONS]
    yield _table(sorted(own, key=lambda argument: bool(argument.flags)))
    if reads:
        yield "And the [options of every command that reads](#options).\n"


def _table(arguments: Iterable[Argument]) -> str:
    rows = [f"| {_code(each.spelling)} | {each.help} |\n" for each in arguments]
    return "".join(["| argument | meaning |\n|---|---|\n", *rows])


def _events() -> str:
    rows = "".join(
        f"| `{event.name}` | {', '.join(f'`{field}`' for field in event.fields)} "
        f"| {event.doc} |\n"
        for event in EVENTS
    )
    return (
        dedent("""\
        ## Events

        With `--events json` every line of standard error is one JSON object with
        `event`, `message` and these fields:

        | event | fields | meaning |
        |---|---|---|
        """)
        + rows
    )


def _code(text: str) -> str:
    escaped = text.replace("|", "\\|")
    return f"`{escaped}`"


if __name__ == "__main__":
    Console().text(reference())
