"""The arguments every command that reads has in common."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from headrace.cli.argument import Argument

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
    "one after the other; compressed or not; standard input if there is none",
    arity="many",
)

BAD_ROWS = (
    Argument(
        "on_error",
        "choice",
        "what a bad row does (abort unless told)",
        ("--on-error",),
        choices=("abort", "skip", "collect"),
    ),
    Argument(
        "errors",
        "file",
        "write the bad rows here; implies --on-error collect",
        ("--errors",),
        metavar="FILE",
    ),
)

OUTPUT_OPTIONS = (
    Argument(
        "events",
        "choice",
        "how to say on standard error what is not data (text unless told)",
        ("--events",),
        choices=("text", "json"),
        default="text",
    ),
    Argument("quiet", "switch", "no progress and no warnings", ("-q", "--quiet")),
)

OPTIONS = (
    Argument(
        "stats",
        "switch",
        "after the work, say how many lines were read: records, blank, bad, too "
        "long, and where the first bad ones are",
        ("--stats",),
    ),
    Argument("strict", "switch", "fail if a line is bad or too long", ("--strict",)),
    Argument(
        "max_line",
        "size",
        "leave out rows longer than this (64MiB unless told)",
        ("--max-line",),
        metavar="SIZE",
        default=64 << 20,
    ),
    Argument(
        "max_ratio",
        "number",
        "refuse compressed data, from 256 MiB on, that is over so many times its size "
        "(10000 unless told)",
        ("--max-ratio",),
        metavar="N",
        default=10_000,
    ),
    Argument(
        "max_decoded",
        "size",
        "refuse compressed data that is longer than this when decoded",
        ("--max-decoded",),
        metavar="SIZE",
    ),
    Argument(
        "index_dir",
        "directory",
        "keep checkpoints of large files here, not beside them",
        ("--index-dir",),
        metavar="DIR",
    ),
    Argument(
        "no_index",
        "switch",
        "neither read nor write indexes on disk, checkpoints or key indexes",
        ("--no-index",),
    ),
    *OUTPUT_OPTIONS,
)


def events_asked(arguments: Sequence[str]) -> str | None:
    """Find the form of events, also in a command line that makes no sense.

    >>> events_asked(["count", "--events", "json", "--no-such-option"])
    'json'
    """
    for option, value in pairwise([*arguments, ""]):
        for form in ("json", "text"):
            if option == f"--events={form}" or (option, value) == ("--events", form):
                return form
    return None


def tells_programs(arguments: Iterable[Argument]) -> bool:
    """Whether a command, unless told, says events as JSON where no person reads them."""
    return any(each.name == "events" and each.default is None for each in arguments)
