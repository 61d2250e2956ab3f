"""The entry point: from the command line to an exit code.

0 is success, 1 failure, 2 a command line that cannot be run, 130 an interrupt.
If the reader of standard output ends, as with ``| head -1``, that is a success.
``headrace --version`` prints before anything else is imported.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # `typing` alone would double the time to say the version
if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.cli.console import Console
    from headrace.cli.registry import Entry

FAILURE = 1
USAGE = 2
INTERRUPTED = 130

HELP = frozenset({"-h", "--help"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    try:
        if arguments and arguments[0] in {"-V", "--version"}:
            return _say_version()
        return _main(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED


def _say_version() -> int:
    from headrace import __version__

    try:
        os.write(1, f"headrace {__version__}\n".encode())
    except BrokenPipeError:
        return 0
    except OSError:
        return FAILURE
    return 0


def _main(arguments: Sequence[str]) -> int:
    from headrace.cli.console import Console, OutputClosedError
    from headrace.errors import HeadraceError, UsageError

    console = Console()
    try:
        try:
            code = _dispatch(arguments, console)
            console.flush()
        except UsageError as error:
            console.fail(error)
            return USAGE
        except (HeadraceError, OSError) as error:
            console.fail(error)
            return FAILURE
    except OutputClosedError:
        console.abandon()
        return 0
    return code


def _dispatch(arguments: Sequence[str], console: Console) -> int:
    from headrace.cli.argument import build, events_of, parse
    from headrace.cli.registry import group, load

    console.json = (events_of(arguments) or default_events()) == "json"
    name, *rest = arguments or _without_command()
    if name in HELP:
        name, rest = "help", []
    if members := group(name):
        if not rest:
            raise _unfinished(name, members)
        if rest[0] in HELP:
            from headrace.cli.commands.help import listing

            console.text(listing(name, members))
            return 0
        name, *rest = f"{name} {rest[0]}", *rest[1:]
    entry = _find(name)
    command = load(entry)
    if not HELP.isdisjoint(rest):
        console.text(build(entry, command).format_help())
        return 0
    options = parse(entry, command, rest)
    console.quiet = options.quiet
    if options.progress or options.no_progress:
        console.shows_progress = options.progress and not options.no_progress
    import warnings

    from headrace.errors import HeadraceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("always", HeadraceWarning)
        warnings.showwarning = console.show_warning
        return command.run(options, console)


def default_events() -> str:
    """Return the format of events [default: text on a terminal, JSON lines otherwise]."""
    terminal = sys.stderr is not None and sys.stderr.isatty()
    return "text" if terminal else "json"


def _without_command() -> Sequence[str]:
    """Return what to run without arguments: the help on a terminal; else raise."""
    if sys.stdout is not None and sys.stdout.isatty():
        return ["help"]
    from headrace.errors import UsageError

    raise UsageError("give a command; see `headrace --help`")


def _unfinished(word: str, members: Sequence[Entry]) -> Exception:
    from headrace.errors import UsageError

    words = ", ".join(entry.name for entry in members)
    return UsageError(
        f"{word} what? give one of: {words}; see `headrace {word} --help`"
    )


def _find(name: str) -> Entry:
    from headrace.cli import registry
    from headrace.errors import UsageError

    entry = registry.find(name)
    if entry is not None:
        return entry

    from headrace.suggestion import nearest

    names = [each.name for each in registry.COMMANDS]
    near = nearest(name, [*names, *registry.first_words()])
    hint = f"did you mean `headrace {near}`?" if near else "see `headrace --help`"
    raise UsageError(f"there is no command {name!r}; {hint}")
