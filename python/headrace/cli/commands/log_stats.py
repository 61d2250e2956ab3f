"""``headrace log stats``: a log in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.options.common import OUTPUT_OPTIONS
from headrace.cli.options.log import LOG
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console
    from headrace.store.log.report.stats import ConsumerLag, LogStats

ABOUT = """\
Segments, lines, bytes, the times of the first and last line, whether a writer is at work, how
far each consumer is, what recovery put aside and did.
Lines are not read, and a writer is not disturbed. Counters and latencies of a writer come
from `headrace log append --metrics`."""

EXAMPLES = (
    Example("headrace log stats trades", "for people"),
    Example("headrace log stats trades --format json", "one object"),
    Example("headrace log stats trades --format prometheus", "for a collector"),
)

ARGUMENTS = (
    LOG,
    Argument(
        "format",
        "choice",
        "how it is printed [default: text]",
        ("--format",),
        choices=("text", "json", "prometheus"),
        default="text",
    ),
    *OUTPUT_OPTIONS,
)


def run(options: Namespace, console: Console) -> int:
    """Print the numbers."""
    import json
    from dataclasses import asdict

    from headrace.api.log.log import Log
    from headrace.store.log.report.metrics import exposition, stats_metrics

    stats = Log(options.directory).stats()
    match options.format:
        case "json":
            console.text(json.dumps(asdict(stats)) + "\n")
        case "prometheus":
            labels = {"directory": stats.directory}
            console.text(exposition(stats_metrics(stats), labels))
        case _:
            console.text(told(stats))
    return 0


def told(stats: LogStats) -> str:
    """Say it for people."""
    from headrace.cli.console import counted
    from headrace.store.files.units import format_size

    lines = f"{stats.first_line} to {stats.last_line}" if stats.lines else "none"
    facts = {
        "lines": f"{lines} ({counted(stats.lines, 'line')})",
        "times": f"{_moment(stats.first_time)} to {_moment(stats.last_time)}",
        "data": f"{format_size(stats.data_bytes)} in {counted(stats.segments, 'segment')}, "
        f"{format_size(stats.disk_bytes)} on disk",
        "index": format_size(stats.index_bytes),
        "durability": stats.durability,
        "writer": "at work now" if stats.writing else "none at work",
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
    """Say how far a consumer is."""
    from headrace.cli.console import counted

    if consumer.lag_lines is None:
        return f"{consumer.consumer} with a checkpoint that cannot be read"
    behind = counted(consumer.lag_lines, "line")
    return f"{consumer.consumer} {behind} behind, at line {consumer.line}"


def _moment(milliseconds: int | None) -> str:
    """Say when it was.

    >>> _moment(1700000000123), _moment(None)
    ('2023-11-14T22:13:20.123Z', 'none')
    """
    from datetime import UTC, datetime, timedelta

    if milliseconds is None:
        return "none"
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
