"""The parser of a command line, made from the arguments of the command."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

from headrace.cli.argument import NEGATIVE, READ
from headrace.cli.options.flags import COMMON
from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headrace.cli.argument import Argument, Arity
    from headrace.cli.registry import Command, Entry


class _Parser(ArgumentParser):
    """A parser that raises where `argparse` would print and exit."""

    command = ""

    def error(self, message: str) -> NoReturn:
        from headrace.cli.options.foreign import spelled_here

        words = [word.partition("=")[0] for word in message.split()]
        hint = spelled_here(self.command, words)
        raise UsageError(f"{message}; {hint or f'see `{self.prog} --help`'}")


def build(entry: Entry, command: Command) -> ArgumentParser:
    """Make the parser of one command."""
    parser = _Parser(
        prog=f"headrace {entry.name}",
        description="\n\n".join(_paragraphs(entry, command)),
        formatter_class=RawDescriptionHelpFormatter,
        add_help=False,
        allow_abbrev=False,
    )
    parser.command = entry.name
    for argument in (*command.ARGUMENTS, *COMMON):
        names = argument.flags or (argument.name,)
        parser.add_argument(*names, **_settings(argument))
    return parser


def _paragraphs(entry: Entry, command: Command) -> Iterable[str]:
    """Yield the paragraphs above the list of options; the examples come first."""
    yield f"{entry.summary[0].upper()}{entry.summary[1:]}."
    if command.EXAMPLES:
        lines = [f"  {line}\n      {does}" for line, does in command.EXAMPLES]
        yield "\n".join(["examples:", *lines])
    if command.ABOUT:
        yield command.ABOUT


def parse(entry: Entry, command: Command, arguments: Sequence[str]) -> Namespace:
    """Parse the arguments of a command; options may stand anywhere among them."""
    kinds = {argument.kind for argument in command.ARGUMENTS}
    arguments = list(_counted(command, arguments))
    values = [value for kind, value in NEGATIVE.items() if kind in kinds]
    end = arguments.index("--") if "--" in arguments else len(arguments)
    shielded = [_shield(argument, values) for argument in arguments[:end]]
    arguments = [*shielded, *arguments[end:]]
    parser = build(entry, command)
    if "--" in arguments:
        # Intermixed parsing forgets what `--` said; options come first then.
        return parser.parse_args(arguments)
    return parser.parse_intermixed_args(arguments)


def events_of(arguments: Sequence[str]) -> str | None:
    """Find the format of events, even in a command line that cannot be parsed; the last counts.

    >>> events_of(["count", "--events", "json", "--no-such-option"])
    'json'
    """
    found = None
    for option, value in pairwise([*arguments, ""]):
        for form in ("json", "text"):
            if option == f"--events={form}" or (option, value) == ("--events", form):
                found = form
    return found


def _counted(command: Command, arguments: Sequence[str]) -> Iterable[str]:
    """Write ``-5`` as ``-n 5``, where nothing else could be a negative number."""
    counts = any("-n" in each.flags for each in command.ARGUMENTS) and all(
        each.flags or each.kind in ("file", "directory") for each in command.ARGUMENTS
    )
    valued = {
        flag
        for each in command.ARGUMENTS
        if each.kind != "switch"
        for flag in each.flags
    }
    before = ""
    words = iter(arguments)
    for word in words:
        if counts and before not in valued and re.fullmatch(r"-\d+", word):
            yield from ("-n", word[1:])
        else:
            yield word
        if word == "--":
            yield from words
        before = word


def _shield(argument: str, values: Iterable[re.Pattern[str]]) -> str:
    # `argparse` takes a range like `-5:` for an option. A space before it makes it
    # a value; the readers of values strip it.
    negative = argument.startswith("-") and argument != "-"
    shielded = negative and any(value.fullmatch(argument) for value in values)
    return f" {argument}" if shielded else argument


def _settings(argument: Argument) -> dict[str, Any]:
    settings: dict[str, Any] = {"help": argument.help.replace("%", "%%")}
    if argument.flags:
        settings["dest"] = argument.name
    if argument.kind == "switch":
        return settings | {"action": "store_true"}
    if argument.choices:
        settings["choices"] = argument.choices
    if argument.kind in READ:
        settings["type"] = READ[argument.kind]
    settings["default"] = argument.default
    settings["metavar"] = argument.value
    return settings | _ARITIES[argument.arity]


_ARITIES: dict[Arity, dict[str, str]] = {
    "one": {},
    "optional": {"nargs": "?"},
    "several": {"nargs": "+"},
    "many": {"nargs": "*"},
    "repeated": {"action": "append"},
}
