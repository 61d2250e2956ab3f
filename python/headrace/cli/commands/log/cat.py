"""``headrace log cat``: the records of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import LOG
from headrace.cli.console import Console, OutputClosedError, ending_cleanly
from headrace.cli.flag_groups import DAMAGED, TIMES_OF_LOGS
from headrace.cli.flags import flag
from headrace.errors import UsageError
from headrace.store.files.units import between

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from headrace.cli.io.pipe_drain import TakenOutput
    from headrace.store.log.read.consumers import ActiveConsumer
    from headrace.store.log.read.reader import Block, LogReader, SkippedLines

ABOUT = """\
Prints all records in the order in which they were appended. A log whose last writer crashed is
recovered first; a log that is being written is read up to the last committed line. Every line
is compared with its checksum. Lines count from 1; old lines may have been removed. An empty
directory has no records. Bytes at the end that are no record stay where they are.

With -f, the command goes on with each line that is committed, within --poll seconds, until
Ctrl-C, through new segments, compression and retention. It waits for a log that does not exist
yet.

With --consumer, it begins after the last line that this consumer was given. The log stores the
position of the consumer after 1,000 lines, after 5 seconds, and at the end, once the lines have
left standard output and the pipe behind it. After a kill, a few lines are printed again. If the
reader of a pipe ends early (`| head`), lines that it did not read are printed again, and so are
the lines since the last stored position; lines that it read without using them are not."""

EXAMPLES = """\
headrace log cat trades  # all records
headrace log cat trades --from 10 -n 5  # lines 10 to 14
headrace log cat trades --since -15m --until now  # records of the last 15 minutes
headrace log cat trades -f  # all records, and those that are appended
headrace log cat trades --consumer billing  # records since the last time
"""

ARGUMENTS = (
    LOG,
    flag("--from", "lines count from 1; NAME is for `headrace log replay`"),
    flag("--to"),
    flag("--limit"),
    *TIMES_OF_LOGS,
    flag("--follow"),
    flag("--poll", default="0.1"),
    flag("--consumer"),
    flag("--gone", default="error"),
    DAMAGED,
)


def run(options: Namespace, console: Console) -> int:
    """Print the records."""
    from headrace.store.log.read.reader import SkippedLines

    _check(options)
    reader = _opened(options, console)
    if reader is None or options.limit == 0:
        return 0
    console.live = options.follow or options.consumer is not None
    if options.consumer is None:
        passed = SkippedLines() if options.on_error == "skip" else None
        _print(_blocks(reader, options, console, passed), options, console)
        if passed is not None and passed.lines:
            console.emit("warning", str(passed))
        return 0
    from headrace.cli.io.pipe_drain import TakenOutput
    from headrace.store.log.read.consumers import ActiveConsumer

    output = TakenOutput() if TakenOutput.is_for_pipes() else None
    taken = None if output is None else output.taken
    with ending_cleanly():
        consuming = ActiveConsumer(
            reader, options.consumer, gone=options.gone, taken=taken
        )
        try:
            _print(_consumed(consuming, options), options, console, consuming, output)
            if output is not None and not output.wait():
                raise OutputClosedError  # noqa: TRY301, as if it had ended while we wrote
            consuming.finish_given()
        except OutputClosedError:
            # It is not known which lines the reader used.
            consuming.abandon()
            raise
        finally:
            consuming.close()
    return 0


def _check(options: Namespace) -> None:
    if options.follow and (options.to is not None or options.until is not None):
        raise UsageError("--follow has no end; leave out --to and --until, or use -n")
    if options.on_error == "skip" and (options.follow or options.consumer is not None):
        raise UsageError(
            "--on-error skip is not for --follow and --consumer; begin after the damaged "
            "lines, with --from or with `headrace log consumers --set`"
        )
    where = (options.from_, options.to, options.since, options.until)
    if options.consumer is not None and where != (None, None, None, None):
        raise UsageError(
            "--consumer begins where the consumer stopped; move it with `headrace log "
            "consumers --set`, not with --from, --to, --since or --until"
        )


def _line(given: tuple[str, int] | list[tuple[str, int]] | None) -> int | None:
    """Return the line of --from or --to."""
    if not given:
        return None
    (name, line), *more = given if isinstance(given, list) else [given]
    if name or more:
        raise UsageError(
            "NAME=LINE is for `headrace log replay`; give one LINE of this log"
        )
    return line


def _opened(options: Namespace, console: Console) -> LogReader | None:
    import time
    from pathlib import Path

    from headrace.api.log.recovery import open_recovered

    log, actions = open_recovered(options.directory)
    if log is None and not options.follow and not Path(options.directory).exists():
        raise UsageError(f"{options.directory}: no such directory")
    if log is None and options.follow:
        message = f"{options.directory}: there is no log yet; waiting for one"
        console.emit("waiting", message, path=options.directory)
        while log is None:
            time.sleep(options.poll)
            log, actions = open_recovered(options.directory)
    for action in actions:
        console.emit("recovered", str(action), **action.as_fields())
    return log


def _blocks(
    reader: LogReader,
    options: Namespace,
    console: Console,
    passed: SkippedLines | None,
) -> Iterator[Block]:
    from headrace.api.log.log import followed, given_up_text
    from headrace.errors import LineOutOfRangeError
    from headrace.store.log.read.consumers import poll_forever
    from headrace.store.log.read.ranges import blocks_between

    times = between(options.since, options.until)
    first_line = _line(options.from_)
    if options.follow:
        follower = followed(reader, first_line, times, options.gone)
        looks = poll_forever(follower.blocks, options.poll)
        return (block for block in looks if block is not None)
    last = reader.last_line
    first = first_line or reader.first_line
    if first < reader.first_line:
        raise LineOutOfRangeError(options.directory, first, reader.first_line, last)
    lasts = [last] if options.to is None else [last, _line(options.to) or last]
    if options.limit is not None and times.everything:
        lasts.append(reader.nth_from(first, options.limit))
    for gap in reader.given_up(first, min(lasts)):
        console.emit("warning", given_up_text(options.directory, gap))
    return blocks_between(reader, first, min(lasts), times, passed=passed)


def _consumed(consuming: ActiveConsumer, options: Namespace) -> Iterator[Block]:
    from headrace.store.log.read.consumers import poll_forever

    if not options.follow:
        yield from consuming.blocks()
        return
    for block in poll_forever(consuming.blocks, options.poll):
        if block is None:
            consuming.commit_if_due()
        else:
            yield block


def _print(
    blocks: Iterator[Block],
    options: Namespace,
    console: Console,
    consuming: ActiveConsumer | None = None,
    output: TakenOutput | None = None,
) -> None:
    left = options.limit
    for block in blocks:
        some = block if left is None else block.first(left)
        console.write(some.data)
        if output is not None:
            output.note(some)
        if left is None:
            continue
        left -= some.rows
        if left == 0:
            if consuming is not None:
                consuming.finish(some.last_line)
            return
