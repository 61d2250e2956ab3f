"""The arguments that the commands of the log have in common."""

from __future__ import annotations

from headrace.cli.arguments import Argument

LOG = Argument("directory", "directory", "the directory of a log", metavar="DIR")

TAIL = Argument(
    "tail",
    "choice",
    "what becomes of bytes at the end that a crash left and that are no record: put "
    "aside in quarantine/ (auto), left (keep), a failure (strict)",
    ("--tail",),
    choices=("auto", "keep", "strict"),
    default="auto",
)
