"""What a command accepts, as data, and the parser made from it.

Completions and the reference read the data, so they know every option without
looking inside `argparse`, and do not change with its version.
"""

from __future__ import annotations

import re
from argparse import (
    ArgumentParser,
    ArgumentTypeError,
    Namespace,
    RawDescriptionHelpFormatter,
)
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, TypeAlias

from headrace.errors import UsageError
from headrace.store.files.units import parse_duration, parse_size, parse_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from headrace.cli.registry import Command, Entry

Kind: TypeAlias = Literal[
    "switch",
    "choice",
    "text",
    "file",
    "directory",
    "rows",
    "number",
    "level",
    "seconds",
    "size",
    "time",
    "duration",
    "named",
    "assigned",
]
"""What stands for an argument: nothing, or a value of this kind."""

Arity: TypeAlias = Literal["one", "optional", "several", "many", "repeated"]
"""How often a value is given; an option that is repeated has one each time.

An option whose value is optional has it behind an equals sign: what comes next may be a
FILE. Without it, its value is empty.
"""


class Argument(NamedTuple):
    """One thing a command accepts: an option if it has flags, else a positional."""

    name: str
    kind: Kind
    help: str
    flags: tuple[str, ...] = ()
    metavar: str = ""
    choices: tuple[str, ...] = ()
    default: object = None
    arity: Arity = "one"

    @property
    def attached(self) -> bool:
        """Whether it is an option that may have a value, behind an equals sign."""
        return bool(self.flags) and self.arity == "optional"

    @property
    def value(self) -> str:
        """How help writes the value: its choices, or what it stands for."""
        return "|".join(self.choices) if self.choices else self.metavar

    @property
    def spelling(self) -> str:
        """How help writes the argument.

        >>> Argument("rows", "number", "", ("-n", "--rows"), "N").spelling
        '-n, --rows N'
        >>> Argument("files", "file", "", metavar="FILE", arity="many").spelling
        '[FILE ...]'
        >>> Argument("files", "file", "", metavar="FILE", arity="several").spelling
        'FILE [FILE ...]'
        >>> Argument("why", "text", "", ("--why",), "HOW", arity="optional").spelling
        '--why[=HOW]'
        """
        if self.attached:
            return f"{', '.join(self.flags)}[={self.value}]"
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


HELP = Argument("help", "switch", "show this help and exit", ("-h", "--help"))

ROWS = re.compile(r"(-?\d+)|(-?\d+)?:(-?\d+)?")

NEGATIVE: dict[Kind, re.Pattern[str]] = {"rows": ROWS, "time": re.compile(r"-\d.*")}
"""Values that begin as options do."""


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


def size(text: str) -> int:
    """Read a size in bytes, such as ``64KiB``."""
    try:
        return parse_size(text)
    except (UsageError, ValueError) as error:
        raise ArgumentTypeError(str(error)) from error


def moment(text: str) -> int:
    """Read a time, such as ``2026-01-31T12:00:00Z`` or ``-15m``."""
    try:
        return parse_time(text)
    except UsageError as error:
        raise ArgumentTypeError(str(error)) from error


def duration(text: str) -> int:
    """Read a duration, such as ``7d``; in milliseconds."""
    try:
        return parse_duration(text)
    except UsageError as error:
        raise ArgumentTypeError(str(error)) from error


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


READ: dict[Kind, Callable[[str], object]] = {
    "rows": rows,
    "number": number,
    "level": level,
    "seconds": seconds,
    "size": size,
    "time": moment,
    "duration": duration,
    "named": named,
    "assigned": assigned,
}


class _Formatter(RawDescriptionHelpFormatter):
    """Writes values that stand behind an equals sign as they are typed."""

    def format_help(self) -> str:
        # What is told to `argparse` is the value with its sign; a bracket confuses it.
        attached = re.compile(r"(--[\w-]+) =([^\s\]]+)( (?= ))?")
        return attached.sub(r"\1[=\2]", super().format_help())


class _Parser(ArgumentParser):
    """A parser that raises where `argparse` would print and exit."""

    hints: Mapping[str, str] = {}

    def error(self, message: str) -> NoReturn:
        words = [word.partition("=")[0] for word in message.split()]
        hint = next((self.hints[word] for word in words if word in self.hints), "")
        cure = hint or f"see `{self.prog} --help`"
        raise UsageError(f"{message}; {cure}")


def build(entry: Entry, command: Command) -> ArgumentParser:
    """Make the parser of one command."""
    parser = _Parser(
        prog=f"headrace {entry.name}",
        description="\n\n".join(describe(entry, command)),
        formatter_class=_Formatter,
        add_help=False,
        allow_abbrev=False,
    )
    parser.hints = getattr(command, "ELSEWHERE", {})
    for argument in (*command.ARGUMENTS, HELP):
        names = argument.flags or (argument.name,)
        parser.add_argument(*names, **_settings(argument))
    return parser


def describe(entry: Entry, command: Command) -> Iterable[str]:
    """Give the paragraphs above the list of options; the examples come first."""
    yield f"{entry.summary[0].upper()}{entry.summary[1:]}."
    if command.EXAMPLES:
        lines = [f"  {line}\n      {does}" for line, does in command.EXAMPLES]
        yield "\n".join(["examples:", *lines])
    if command.ABOUT:
        yield command.ABOUT


def parse(entry: Entry, command: Command, arguments: Sequence[str]) -> Namespace:
    """Read the arguments of a command; options may stand anywhere among them."""
    kinds = {argument.kind for argument in command.ARGUMENTS}
    arguments = list(_counted(command, arguments))
    values = [value for kind, value in NEGATIVE.items() if kind in kinds]
    end = arguments.index("--") if "--" in arguments else len(arguments)
    shielded = [_shield(argument, values) for argument in arguments[:end]]
    arguments = [*shielded, *arguments[end:]]
    arguments = list(_attached(command, arguments))
    parser = build(entry, command)
    if "--" in arguments:
        # Intermixed parsing forgets what `--` said; options come first then.
        return parser.parse_args(arguments)
    return parser.parse_intermixed_args(arguments)


def _counted(command: Command, arguments: Sequence[str]) -> Iterable[str]:
    """Spell a number of rows such as ``-5``, as `head` and `tail` have it, with its option."""
    counts = any(each.flags[:1] == ("-n",) for each in command.ARGUMENTS)
    valued = {
        flag
        for each in command.ARGUMENTS
        if each.kind != "switch" and not each.attached
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


def _attached(command: Command, arguments: Sequence[str]) -> Iterable[str]:
    """Give options that have no value, and need none, an empty one."""
    flags = {flag for each in command.ARGUMENTS if each.attached for flag in each.flags}
    words = iter(arguments)
    for word in words:
        yield f"{word}=" if word in flags else word
        if word == "--":
            yield from words


def _shield(argument: str, values: Iterable[re.Pattern[str]]) -> str:
    # A range like `-5:` would be taken for an option. A space before it makes it
    # a value; whoever reads it strips it again.
    negative = argument.startswith("-") and argument != "-"
    shielded = negative and any(value.fullmatch(argument) for value in values)
    return f" {argument}" if shielded else argument


def _settings(argument: Argument) -> dict[str, Any]:
    settings: dict[str, Any] = {"help": argument.help.replace("%", "%%")}
    if argument.flags:
        settings["dest"] = argument.name
    if argument.kind == "switch":
        return settings | {"action": "store_true"}
    if argument.attached:
        choices = {"choices": ("", *argument.choices)} if argument.choices else {}
        return settings | choices | {"metavar": f"={argument.value}"}
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
