"""The table of commands, which help, completions, reference and tests read.

A command is one entry here and one module ``headrace.cli.commands.<name>``; the
words of a name of two, such as ``shard write``, are joined by ``_`` there, as by ``-``. The
entry holds what a list of commands shows, so that only the module of the command
that was asked for is ever imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.argument import Argument
    from headrace.cli.console import Console


class Entry(NamedTuple):
    """A command as a list of commands shows it."""

    name: str
    summary: str


class Example(NamedTuple):
    """A command line and what it does. The tests run it."""

    line: str
    does: str


class Command(Protocol):
    """What the module of a command offers."""

    ABOUT: str
    """Paragraphs for the help, after the summary; "" if there is nothing to add."""

    EXAMPLES: tuple[Example, ...]
    ARGUMENTS: tuple[Argument, ...]

    def run(self, options: Namespace, console: Console) -> int:
        """Do the work and give the exit code: 0, or 1 where ``--strict`` objects.

        Anything that fails is raised; `headrace.cli.app` says it and ends with 1,
        with 2 for a `UsageError`.
        """
        ...


COMMANDS: tuple[Entry, ...] = (
    Entry("count", "count the lines"),
    Entry("head", "print the first rows"),
    Entry("tail", "print the last rows, and with -f those still to come"),
    Entry("row", "print one row, or a range of rows, by number"),
    Entry("query", "ask every row a question, or all rows one"),
    Entry("join", "add to each row the rows of another file that have its key"),
    Entry("index build", "index a field, so that its values lead to their rows"),
    Entry("index update", "add the rows that were appended to a key index"),
    Entry("index compact", "make one key index of an index and its updates"),
    Entry("index get", "print the rows that have a key"),
    Entry("index check", "check every byte of a key index, and whether it fits"),
    Entry("index stats", "show what a key index is of, and how large it is"),
    Entry("graph expand", "print what can be reached from nodes of a graph"),
    Entry("graph path", "print the shortest way from one node of a graph to another"),
    Entry("graph stats", "show how a graph is made up: degrees, components"),
    Entry("log append", "append records to a durable log"),
    Entry("log cat", "print the records of a log"),
    Entry("log seal", "compress the full segments of a log"),
    Entry("log retain", "remove the oldest segments of a log"),
    Entry("log replay", "print several logs in the order of their times"),
    Entry("log consumers", "show and move those who read a log under a name"),
    Entry("log recover", "bring a log in order after a crash"),
    Entry("log check", "check every file of a log"),
    Entry("log stats", "show how large a log is, and what state it is in"),
    Entry("log backup", "copy what is new in a log to its backup"),
    Entry("log verify", "check every byte of a backup of a log"),
    Entry("log restore", "make a log from its backup"),
    Entry("log dump-index", "print the index of a segment as JSON"),
    Entry("shard write", "write rows as a set of compressed files of limited size"),
    Entry("shard cat", "print the rows of a set of shards"),
    Entry("shard check", "check every byte of a set of shards"),
    Entry("shard stats", "show how full the files of a set of shards are"),
    Entry("shard publish", "copy a set of shards to an object store"),
    Entry("shard vacuum", "remove what no reader of a set of shards needs any more"),
    Entry("pipeline run", "bring the output of a pipeline up to date, with Spark"),
    Entry("pipeline explain", "show what a pipeline would do"),
    Entry("pipeline init", "write a pipeline to begin with"),
    Entry("convert", "make lines of a JSON array or of pretty-printed values"),
    Entry("recompress", "make a compressed file one that can be entered anywhere"),
    Entry("functions", "explain the functions of the query language"),
    Entry(
        "demo", "make sample data, read it back, and run a pipeline over it with Spark"
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
    """Return what can stand behind ``headrace``."""
    return list(dict.fromkeys(entry.name.split()[0] for entry in COMMANDS))


def load(entry: Entry) -> Command:
    """Import the module of a command."""
    module = entry.name.replace(" ", "_").replace("-", "_")
    return cast("Command", import_module(f"headrace.cli.commands.{module}"))
