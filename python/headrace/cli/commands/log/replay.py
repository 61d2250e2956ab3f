"""``headrace log replay``: print several logs in the order of their times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import LOG
from headrace.cli.console import Console, Replaying, counted
from headrace.cli.flag_groups import DAMAGED, TIMES_OF_LOGS
from headrace.cli.flags import flag
from headrace.errors import UsageError
from headrace.store.files.units import between

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping, Sequence

    from headrace.store.log.read.find_partitions import Partition
    from headrace.store.log.read.replay import Player

ABOUT = """\
DIR is a log, or has logs below it; each is a partition, named by its path below DIR. Prints all
records that are committed now, in the order of (time, partition, line): the same bytes at
any speed and with any number of threads. If the times of a partition go back, its lines keep
their order, and the latest time so far counts.

With --speed N, each record is printed when it is due: N times faster than the recorded times.
The progress on standard error shows the time of the last record, the number of records, and
how late they are."""

EXAMPLES = """\
headrace log replay trades  # as fast as possible
headrace log replay . --since -15m --speed 100 --tag
    # records of the last 15 minutes, with their partitions
headrace log replay . --from trades=20  # begin with line 20 of one log
"""

ARGUMENTS = (
    LOG._replace(
        name="directories",
        help="directories that are logs, or have logs below them",
        arity="many",
    ),
    flag("--speed", default="max"),
    *TIMES_OF_LOGS,
    flag("--from", "of each partition, or with NAME= of one; may be repeated"),
    flag("--tag"),
    flag("--threads", "they read ahead", default="2"),
    DAMAGED,
)


def run(options: Namespace, console: Console) -> int:
    """Print the records of all logs."""
    from headrace.api.log.recovery import open_recovered
    from headrace.store.log.read.find_partitions import find_partitions
    from headrace.store.log.read.reader import SkippedLines
    from headrace.store.log.read.replay import Player, ReplayRange

    speed = _speed(options.speed)
    start = _start(options.from_ or ())
    times = between(options.since, options.until)
    partitions = find_partitions(options.directories)
    for partition in partitions:
        _reader, actions = open_recovered(partition.directory)
        for action in actions:
            console.emit("recovered", str(action), **action.as_fields())
    passed = SkippedLines() if options.on_error == "skip" else None
    playing = ReplayRange(
        partitions, times, start, options.threads, tagged=options.tag, passed=passed
    )
    player = Player(playing, speed)
    console.live = speed is not None
    try:
        _play(player, partitions, console)
    finally:
        player.close()
    if passed is not None and passed.lines:
        console.emit("warning", str(passed))
    return 0


def _play(player: Player, partitions: Sequence[Partition], console: Console) -> None:
    import time

    shown = Replaying(player)
    latest = 0.0
    with console.progress(shown.draw, "lines", shown.facts) as report:
        while (found := player.poll()) is not None:
            if isinstance(found, float):
                time.sleep(min(found, 0.1))
            else:
                console.write(found.data)
                latest = max(latest, player.lag)
            report(player.lines, None)
    message = (
        f"{counted(player.lines, 'record')} of {counted(len(partitions), 'partition')}"
    )
    late = f", at most {latest:.3f} s late" if player.schedule.speed else ""
    console.emit(
        "replayed",
        f"{message}{late}",
        records=player.lines,
        partitions=len(partitions),
        lag_ms=round(latest * 1000),
    )


def _speed(text: str) -> float | None:
    from headrace.api.log.replay import checked_speed

    try:
        speed: float | str = float(text)
    except ValueError:
        speed = text
    return checked_speed(speed)


def _start(lines: Sequence[tuple[str, int]]) -> int | Mapping[str, int]:
    everywhere, named = 1, {}
    for name, line in lines:
        if name:
            named[name] = line
        else:
            everywhere = line
    if named and everywhere > 1:
        raise UsageError("--from LINE is for all partitions; name each, or none")
    return named or everywhere
