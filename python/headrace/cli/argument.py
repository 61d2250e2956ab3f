"""The arguments of a command, as data, the readers of their values, and the parser.

Completions and the reference read the data, so they know every option without
looking inside `argparse`, and do not change with its version.
"""

import re
from argparse import (
    ArgumentParser,
    ArgumentTypeError,
    Namespace,
    RawDescriptionHelpFormatter,
)
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from itertools import pairwise
from math import isfinite
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias

from headrace.cli.registry import Command, Entry, examples
from headrace.errors import UsageError
from headrace.store.files.units import parse_duration, parse_size, parse_time

Kind: TypeAlias = Literal[
    "switch",
    "choice",
    "text",
    "fields",
    "file",
    "directory",
    "rows",
    "line",
    "number",
    "level",
    "seconds",
    "size",
    "time",
    "duration",
    "named",
    "assigned",
]
"""The type of a value; a switch has none."""

Arity: TypeAlias = Literal["one", "optional", "several", "many", "repeated"]
"""How often a value is given; a repeated option has one each time."""


class Argument(NamedTuple):
    """An option if it has flags, else a positional.

    `default` is written as a user would type it.
    """

    name: str
    kind: Kind
    help: str
    flags: tuple[str, ...] = ()
    metavar: str = ""
    choices: tuple[str, ...] = ()
    default: str | None = None
    arity: Arity = "one"

    @property
    def value(self) -> str:
        """The value as help writes it: its choices, or a word in capitals."""
        return "|".join(self.choices) if self.choices else self.metavar

    @property
    def spelling(self) -> str:
        """The argument as help writes it.

        >>> Argument("rows", "number", "", ("-n", "--rows"), "N").spelling
        '-n, --rows N'
        >>> Argument("files", "file", "", metavar="FILE", arity="many").spelling
        '[FILE ...]'
        >>> Argument("files", "file", "", metavar="FILE", arity="several").spelling
        'FILE [FILE ...]'
        """
        if self.flags:
            return " ".join(filter(None, (", ".join(self.flags), self.value)))
        match self.arity:
            case "one":
                return self.value
            case "optional":
                return f"[{self.value}]"
            case "several":
                return f"{self.value} [{self.value} ...]"
            case "many" | "repeated":
                return f"[{self.value} ...]"


ROWS = re.compile(r"(-?\d+)|(-?\d+)?:(-?\d+)?")

NEGATIVE: dict[Kind, re.Pattern[str]] = {"rows": ROWS, "time": re.compile(r"-\d.*")}
"""Values that begin with a minus sign, as options do."""


class Rows(NamedTuple):
    """Rows by number, as in ``list[start:stop]``; one row if `single`."""

    start: int | None
    stop: int | None = None
    single: bool = False


def rows(text: str) -> Rows:
    """Read ``N`` or ``N:M``.

    >>> rows("7"), rows("-5:")
    (Rows(start=7, stop=None, single=True), Rows(start=-5, stop=None, single=False))
    """
    found = ROWS.fullmatch(text.strip())
    if found is None:
        raise ArgumentTypeError(f"{text!r} is not a row number N or a range N:M")
    row, start, stop = (None if part is None else int(part) for part in found.groups())
    return Rows(start, stop) if row is None else Rows(row, single=True)


def number(text: str) -> int:
    """Read a number of rows: 0 or more."""
    if not text.strip().isdecimal():
        raise ArgumentTypeError(f"{text.strip()!r} is not a whole number, 0 or more")
    return int(text)


def level(text: str) -> int:
    """Read how hard to compress, which may be less than 0.

    >>> level("-3")
    -3
    """
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a whole number") from None


def seconds(text: str) -> float:
    """Read a time to wait: more than 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not isfinite(value) or value <= 0:
        raise ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value


def fields(text: str) -> tuple[str, ...]:
    """Read the names of fields.

    >>> fields("bank_code,account_number")
    ('bank_code', 'account_number')
    """
    found = tuple(text.split(","))
    if not all(found):
        raise ArgumentTypeError(
            f"{text!r}: a field has no name; write FIELD or FIELD,FIELD"
        )
    return found


def line(text: str) -> tuple[str, int]:
    """Read ``LINE`` or ``NAME=LINE``, a line of one log of several; lines count from 1.

    >>> line("20"), line("trades=20")
    (('', 20), ('trades', 20))
    """
    name, sign, number = text.rpartition("=")
    if not number.isdecimal() or int(number) < 1 or (sign and not name):
        raise ArgumentTypeError(
            f"{text!r} is not LINE or NAME=LINE; lines count from 1"
        )
    return name, int(number)


def _by(parse: Callable[[str], int]) -> Callable[[str], int]:
    """Return a reader of values that raises what `argparse` expects."""

    def read(text: str) -> int:
        try:
            return parse(text)
        except (UsageError, ValueError) as error:
            raise ArgumentTypeError(str(error)) from error

    return read


def named(text: str) -> tuple[str, str]:
    """Read ``NAME=FILE``.

    >>> named("users=data/users.jsonl")
    ('users', 'data/users.jsonl')
    """
    name, sign, file = text.partition("=")
    if not (name.isidentifier() and sign and file):
        raise ArgumentTypeError(f"{text!r} is not NAME=FILE, such as users=users.jsonl")
    return name, file


def assigned(text: str) -> tuple[str, str]:
    """Read ``NAME=VALUE``.

    >>> assigned("min=5"), assigned("text=a=b")
    (('min', '5'), ('text', 'a=b'))
    """
    name, sign, value = text.partition("=")
    if not (name.isidentifier() and name.isascii() and sign):
        raise ArgumentTypeError(f"{text!r} is not NAME=VALUE, such as min=5")
    return name, value


def duration(text: str) -> timedelta:
    """Read a number and its unit.

    >>> duration("7d")
    datetime.timedelta(days=7)
    """
    return timedelta(milliseconds=_by(parse_duration)(text))


READ: dict[Kind, Callable[[str], object]] = {
    "fields": fields,
    "line": line,
    "rows": rows,
    "number": number,
    "level": level,
    "seconds": seconds,
    "size": _by(parse_size),
    "time": _by(parse_time),
    "duration": duration,
    "named": named,
    "assigned": assigned,
}

FILE = Argument(
    "file",
    "file",
    "a file, a directory, a quoted pattern, a URL, or - for standard input; "
    "compressed or not",
    metavar="FILE",
)

FILES = FILE._replace(
    name="files",
    help="files, directories, quoted patterns, URLs, or - for standard input, read "
    "one after the other; compressed or not [default: standard input]",
    arity="many",
)

INDEXED = FILE._replace(
    help="a file, compressed in blocks or not at all, or a set of shards"
)

TO_INDEX = FILE._replace(
    name="files",
    help="files or sets of shards, each of which gets an index; compressed files must be "
    "compressed in blocks; of a log, its segments",
    arity="several",
)

LOG = Argument("directory", "directory", "the directory of a log", metavar="DIR")

BACKUP = Argument("backup", "directory", "the directory of a backup", metavar="BACKUP")

SET = Argument(
    "set",
    "file",
    "a directory with a set of shards, DIR/NAME, or a metadata file; or the URL of one",
    metavar="SET",
)

PIPELINE = Argument(
    "pipeline", "file", "a pipeline, written as `pipeline init` shows", metavar="FILE"
)


class _Parser(ArgumentParser):
    """A parser that raises where `argparse` would print and exit."""

    command = ""
    flags: tuple[str, ...] = ()

    def error(self, message: str) -> NoReturn:
        from headrace.cli.flag_hints import meant_choice, spelled_here

        words = [word.partition("=")[0] for word in message.split()]
        hint = meant_choice(message) or spelled_here(self.command, words, self.flags)
        raise UsageError(f"{message}; {hint or f'see `{self.prog} --help`'}")


def build(entry: Entry, command: Command) -> ArgumentParser:
    """Make the parser of one command."""
    from headrace.cli.flags import COMMON  # which is made of arguments

    parser = _Parser(
        prog=f"headrace {entry.name}",
        description="\n\n".join(_paragraphs(entry, command)),
        formatter_class=RawDescriptionHelpFormatter,
        add_help=False,
        allow_abbrev=False,
    )
    parser.command = entry.name
    arguments = (*command.ARGUMENTS, *COMMON)
    parser.flags = tuple(flag for each in arguments for flag in each.flags)
    for argument in arguments:
        names = argument.flags or (argument.name,)
        parser.add_argument(*names, **_settings(argument))
    return parser


def _paragraphs(entry: Entry, command: Command) -> Iterable[str]:
    """Yield the paragraphs above the list of options; the examples come first."""
    yield f"{entry.summary[0].upper()}{entry.summary[1:]}."
    lines = [f"  {line}\n      {does}" for line, does in examples(command)]
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
        # Intermixed parsing ignores `--`; options come first then.
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
