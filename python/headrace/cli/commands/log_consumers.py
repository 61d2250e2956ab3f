"""``headrace log consumers``: how far the consumers of a log are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.options.common import OUTPUT_OPTIONS
from headrace.cli.options.log import LOG
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console

ABOUT = """\
One JSON object for each: the last line it is done with, how many lines and milliseconds
(from the time of that line to that of the last) it is behind, how many of the lines it
has not read are gone, and when its checkpoint was written. Whoever reads as a consumer at
this moment cannot be set or removed."""

EXAMPLES = (
    Example("headrace log consumers trades --set billing=10", "to go on with line 11"),
    Example("headrace log consumers trades --set billing=0", "to begin again"),
    Example(
        "headrace log consumers trades --set old=0 && "
        "headrace log consumers trades --remove old",
        "forget one",
    ),
)

ARGUMENTS = (
    LOG,
    Argument(
        "set",
        "text",
        "move a consumer, or make one: it is done with this line, 0 for none",
        ("--set",),
        metavar="NAME=LINE",
        arity="repeated",
    ),
    Argument(
        "remove",
        "text",
        "forget a consumer",
        ("--remove",),
        metavar="NAME",
        arity="repeated",
    ),
    *OUTPUT_OPTIONS,
)


def run(options: Namespace, console: Console) -> int:
    """Move and remove consumers, then print those there are."""
    import json

    from headrace.api.log.log import Log

    log = Log(options.directory)
    for text in options.set or ():
        log.set_consumer(*_asked(text))
    for name in options.remove or ():
        log.remove_consumer(name)
    for state in log.consumers():
        console.text(json.dumps(state.as_fields()) + "\n")
    return 0


def _asked(text: str) -> tuple[str, int]:
    from headrace.errors import UsageError

    name, _sign, line = text.rpartition("=")
    if not name or not line.isdecimal():
        raise UsageError(f"--set {text!r} is not NAME=LINE, such as billing=0")
    return name, int(line)
