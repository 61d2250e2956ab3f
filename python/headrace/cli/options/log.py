"""The arguments that the commands of the log have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import Argument

if TYPE_CHECKING:
    from datetime import timedelta

LOG = Argument("directory", "directory", "the directory of a log", metavar="DIR")

TAIL = Argument(
    "tail",
    "choice",
    "what to do with bytes at the end that a crash left and that are no record: move them "
    "to quarantine/ (auto), leave them (keep), fail (strict) [default: auto]",
    ("--tail",),
    choices=("auto", "keep", "strict"),
    default="auto",
)

ON_ERROR = Argument(
    "on_error",
    "choice",
    "what to do with damaged lines: fail (abort), or pass over them and count them at the "
    "end (skip) [default: abort]",
    ("--on-error",),
    choices=("abort", "skip"),
    default="abort",
)

SINCE = Argument(
    "since",
    "time",
    "only lines with this time or a later one: 2026-01-31T12:00:00Z (UTC unless it says "
    "otherwise), milliseconds since 1970, now, or -15m for 15 minutes ago",
    ("--since",),
    metavar="TIME",
)

UNTIL = Argument(
    "until", "time", "only lines with an earlier time", ("--until",), metavar="TIME"
)


TIMES = tuple(
    each._replace(help=f"{each.help}; every FILE must be a log")
    for each in (SINCE, UNTIL)
)
"""For commands that read files of any kind."""


def age_of(milliseconds: int | None) -> timedelta | None:
    """Return a duration as the API takes it."""
    from datetime import timedelta

    return None if milliseconds is None else timedelta(milliseconds=milliseconds)
