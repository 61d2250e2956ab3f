"""The table of commands, which help, completions, reference and tests read.

A command is one entry here and one module ``headrace.cli.commands.<name>``, with ``.`` for a
space and ``_`` for a hyphen in its name. The entry has the text of the list of commands, so that
only the module of the command that runs is imported.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.argument import Argument
    from headrace.cli.console import Console


class Entry(NamedTuple):
    """Name and summary of a command."""

    name: str
    summary: str


EXAMPLE = re.compile(r"^(\S.*?)\s+# (.+)\n", re.MULTILINE)
"""A command line and, behind ``#`` or on the next line, what it does."""


class Example(NamedTuple):
    """A command line and what it does. The tests run it."""

    line: str
    does: str


class Command(Protocol):
    """The module of a command."""

    ABOUT: str
    """Paragraphs of the help, after the summary and the examples."""

    EXAMPLES: str
    """Command lines, each with what it does as a comment."""

    ARGUMENTS: tuple[Argument, ...]

    def run(self, options: Namespace, console: Console) -> int:
        """Run the command and return the exit code: 0, or 1 where ``--strict`` fails.

        Errors are raised; `headrace.cli.app` prints them and ends with 1, with 2 for a
        `UsageError`.
        """
        ...


COMMANDS: tuple[Entry, ...] = (
    Entry("count", "count the lines"),
    Entry("head", "print the first rows"),
    Entry("tail", "print the last rows; with -f, also those that are appended"),
    Entry("row", "print one row, or a range of rows, by number"),
    Entry("query", "run a query over each row, or over all rows"),
    Entry("join", "join each row with the rows of another file that have its key"),
    Entry("index build", "build a key index or a graph index"),
    Entry("index update", "add appended rows to an index"),
    Entry("index compact", "merge an index and its delta"),
    Entry("index get", "print the rows that have a key"),
    Entry("index check", "check every byte of an index, and that it is of its file"),
    Entry("index stats", "print the fields and sizes of an index"),
    Entry("graph expand", "print the nodes that edges lead to from start nodes"),
    Entry("graph path", "print the shortest path from one node of a graph to another"),
    Entry("graph stats", "print degrees and components of a graph"),
    Entry("log append", "append records to a durable log"),
    Entry("log cat", "print the records of a log"),
    Entry("log seal", "compress the full segments of a log"),
    Entry("log retain", "remove the oldest segments of a log"),
    Entry("log replay", "print several logs in the order of their times"),
    Entry("log consumers", "list, move and remove the consumers of a log"),
    Entry("log recover", "repair a log after a crash"),
    Entry("log check", "check every file of a log"),
    Entry("log stats", "print sizes and state of a log"),
    Entry("log backup", "copy new lines of a log to its backup"),
    Entry("log verify", "check every byte of a backup of a log"),
    Entry("log restore", "create a log from its backup"),
    Entry("log dump-index", "print the index of a segment as JSON"),
    Entry("shard write", "write rows as a set of compressed files of limited size"),
    Entry("shard cat", "print the rows of a set of shards"),
    Entry("shard check", "check every byte of a set of shards"),
    Entry("shard stats", "print the sizes of the files of a set of shards"),
    Entry("shard publish", "copy a set of shards to an object store"),
    Entry("shard vacuum", "remove replaced generations of a set of shards"),
    Entry("pipeline run", "update the output of a pipeline, with Spark"),
    Entry("pipeline explain", "print the plan of a pipeline"),
    Entry("pipeline init", "write a pipeline to start from"),
    Entry("convert", "convert a JSON array or pretty-printed values to lines"),
    Entry("recompress", "rewrite a compressed file in blocks, for random access"),
    Entry("functions", "list and explain the functions of the query language"),
    Entry(
        "demo", "write sample data, read it back, and run a pipeline over it with Spark"
    ),
    Entry("completions", "print the completion script of a shell"),
    Entry("help", "show the help of a command"),
)


def find(name: str) -> Entry | None:
    """Return the entry called `name`, if there is one."""
    return next((entry for entry in COMMANDS if entry.name == name), None)


def group(word: str) -> list[Entry]:
    """Return the entries whose names are `word` and another.

    >>> [entry.name for entry in group("count")]
    []
    """
    return [entry for entry in COMMANDS if entry.name.startswith(f"{word} ")]


def first_words() -> list[str]:
    """Return the words that may follow ``headrace``."""
    return list(dict.fromkeys(entry.name.split()[0] for entry in COMMANDS))


def examples(command: Command) -> list[Example]:
    """Return the examples of a command."""
    return [Example(*found) for found in EXAMPLE.findall(command.EXAMPLES)]


def load(entry: Entry) -> Command:
    """Import the module of a command."""
    module = entry.name.replace(" ", ".").replace("-", "_")
    return cast("Command", import_module(f"headrace.cli.commands.{module}"))
