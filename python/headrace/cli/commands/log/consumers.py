"""``headrace log consumers``: positions of the consumers of a log."""

from argparse import Namespace

from headrace.cli.argument import LOG
from headrace.cli.console import Console, counted
from headrace.cli.flags import flag
from headrace.errors import UsageError

ABOUT = """\
Prints for each consumer the last line it has read, how many lines and milliseconds (from the
time of that line to that of the last) it is behind, how many of its unread lines were removed,
and when its position was stored. A consumer that is reading now cannot be moved or removed."""

EXAMPLES = """\
headrace log consumers trades --set billing=10  # let it go on with line 11
headrace log consumers trades --set billing=0  # let it begin again
headrace log consumers trades --set old=0 && headrace log consumers trades --remove old
    # remove one
"""

ARGUMENTS = (
    LOG,
    flag("--set"),
    flag("--remove"),
    flag("--json", "an object for each consumer"),
)


def run(options: Namespace, console: Console) -> int:
    """Move and remove consumers, then print all."""
    from dataclasses import asdict

    from headrace.api.log.log import Log
    from headrace.cli.io.report import print_json

    log = Log(options.directory)
    for text in options.set or ():
        log.set_consumer(*_asked(text))
    for name in options.remove or ():
        log.remove_consumer(name)
    for state in log.consumers():
        if options.json:
            print_json(asdict(state), console)
            continue
        facts = [
            state.consumer,
            f"line {state.line}",
            f"{counted(state.lag_lines, 'line')} behind ({state.lag_ms} ms)",
        ]
        if state.gone_lines:
            facts.append(
                f"{counted(state.gone_lines, 'line')} removed before it read them"
            )
        console.text("\t".join(facts) + "\n")
    return 0


def _asked(text: str) -> tuple[str, int]:
    name, _sign, line = text.rpartition("=")
    if not name or not line.isdecimal():
        raise UsageError(f"--set {text!r} is not NAME=LINE, such as billing=0")
    return name, int(line)
