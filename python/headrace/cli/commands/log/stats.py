"""``headrace log stats``: sizes and state of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import LOG
from headrace.cli.console import Console, counted
from headrace.cli.flags import flag
from headrace.errors import UsageError
from headrace.store.files.units import format_size, format_time

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.store.log.report.stats import ConsumerLag, LogStats

ABOUT = """\
Prints segments, lines, bytes, the times of the first and last line, whether a writer has the log
open, the position of each consumer, the files in quarantine, and the last recovery. Reads no
lines, and does not disturb a writer. For counters and latencies of a writer, see `headrace log
append --metrics`."""

EXAMPLES = """\
headrace log stats trades  # for people
headrace log stats trades --json  # for programs
headrace log stats trades --prometheus  # for a collector
"""

ARGUMENTS = (
    LOG,
    flag("--json"),
    flag("--prometheus"),
)


def run(options: Namespace, console: Console) -> int:
    """Print the numbers."""
    from dataclasses import asdict

    from headrace.api.log.log import Log
    from headrace.cli.io.report import print_json
    from headrace.store.log.report.metrics import exposition, stats_metrics

    if options.json and options.prometheus:
        raise UsageError("--json and --prometheus are two formats; choose one")
    stats = Log(options.directory).stats()
    if options.json:
        print_json(asdict(stats), console)
    elif options.prometheus:
        labels = {"directory": stats.directory}
        console.text(exposition(stats_metrics(stats), labels))
    else:
        console.text(as_text(stats))
    return 0


def as_text(stats: LogStats) -> str:
    """Return the numbers for people."""

    def moment(milliseconds: int | None) -> str:
        return "none" if milliseconds is None else format_time(milliseconds)

    lines = f"{stats.first_line} to {stats.last_line}" if stats.lines else "none"
    facts = {
        "lines": f"{lines} ({counted(stats.lines, 'line')})",
        "times": " to ".join(map(moment, (stats.first_time, stats.last_time))),
        "data": f"{format_size(stats.data_bytes)} in {counted(stats.segments, 'segment')}, "
        f"{format_size(stats.disk_bytes)} on disk",
        "index": format_size(stats.index_bytes),
        "durability": stats.durability,
        "writer": "has it open" if stats.writing else "none",
        "writers so far": str(stats.epoch),
    }
    if stats.given_up:
        facts["given up"] = counted(stats.given_up, "line")
    if stats.uncommitted_bytes:
        facts["not committed"] = counted(stats.uncommitted_bytes, "byte")
    if stats.quarantine_files:
        facts["quarantine"] = (
            f"{counted(stats.quarantine_bytes, 'byte')} in "
            f"{counted(stats.quarantine_files, 'file')}"
        )
    if stats.consumers:
        facts["consumers"] = ", ".join(map(_lag, stats.consumers))
    if stats.recovery is not None:
        facts["last recovery"] = ", ".join(
            dict.fromkeys(str(each["action"]) for each in _actions(stats.recovery))
        )
    width = max(map(len, facts))
    return "".join(f"{name:{width}}  {fact}\n" for name, fact in facts.items())


def _actions(recovery: dict[str, object]) -> list[dict[str, object]]:
    actions = recovery.get("actions")
    return actions if isinstance(actions, list) else []


def _lag(consumer: ConsumerLag) -> str:
    """Return the position of a consumer for people."""
    if consumer.lag_lines is None:
        return f"{consumer.consumer} with a checkpoint that cannot be read"
    behind = counted(consumer.lag_lines, "line")
    return f"{consumer.consumer} {behind} behind, at line {consumer.line}"
