"""``headrace log recover``: repair a log after a crash."""

from argparse import Namespace

from headrace.cli.argument import LOG
from headrace.cli.console import Console
from headrace.cli.flags import flag

ABOUT = """\
Recovers a log after a crash, as every writer does when it opens the log. Prints the lines of the
log, and each action with its file and its reason. A second run finds nothing to do. No byte of
data is destroyed: bytes that are no record are moved to quarantine/. Damage that no crash leaves,
such as a missing file, is a failure; --repair gives up the lost lines, moves their remains to
quarantine/, and keeps the numbers of all other lines. It also reads every entry and line: damaged
entries are written again from their lines, and damaged lines are named and left where they are."""

EXAMPLES = """\
headrace log recover trades  # after a crash
headrace log recover trades --tail strict  # fail if the last record is torn
"""

ARGUMENTS = (
    LOG,
    flag("--tail", default="auto"),
    flag("--repair"),
    flag("--json"),
)


def run(options: Namespace, console: Console) -> int:
    """Recover the log and print the actions."""
    from headrace.api.log.log import Log
    from headrace.cli.io.report import print_json

    log = Log(options.directory)
    report = log.recover(tail=options.tail, repair=options.repair)
    if options.json:
        fields = {
            "first_line": log.first_line,
            "last_line": log.last_line,
            "actions": [action.as_fields() for action in report.actions],
        }
        print_json(fields, console)
        return 0
    console.text(f"lines {log.first_line} to {log.last_line}\n")
    console.text("".join(f"{action}\n" for action in report.actions))
    return 0
