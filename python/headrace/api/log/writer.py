"""The writer of a log, with its options checked."""

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Literal

from headrace.errors import QueryFailedError, UsageError
from headrace.kernel.programs import Program
from headrace.kernel.values import DEEPEST, MAX_DEPTH
from headrace.language import ast, traversal
from headrace.language.parser import parse as parse_query
from headrace.physical.query_plan import row_program
from headrace.store.files.units import parse_size
from headrace.store.log.manifest import (
    DURABILITIES,
    LARGEST_RECORD,
    Durability,
    RecordLimits,
    Timing,
)
from headrace.store.log.recover.indexes import TAILS, RecoveryOptions, TailPolicy
from headrace.store.log.write.compaction import packing_options
from headrace.store.log.write.retention import Removed, retention
from headrace.store.log.write.rotation import Rotation, SegmentState
from headrace.store.log.write.writer import Writer, WriterOptions

MAX_RECORD = 64 << 20


class LogWriter(Writer):
    """The only writer of a log: it creates, recovers and appends to it.

    A call returns when the promise of `durability` holds. ``"data"``: the records are on disk;
    ``"always"``: their index entries too; ``"interval"``: they will be within `interval`
    seconds; ``"os"``: the system decides. Threads that append together share a sync.

    A segment ends before a record that would make it larger than `rotate_bytes` or
    `rotate_rows`, when its first record is `rotate_seconds` old, or when `rotate` returns
    true for its `SegmentState`. Full segments are compressed in the background with `codec`,
    ``"zstd"`` or ``"gzip"``; the oldest are removed when the log has more than `retain_bytes`,
    or when their lines are older than `retain_age`, such as ``"7d"``.

    `time` is an expression for the time of a record, such as ``"$.E"``: milliseconds since
    1970, or a text in ISO 8601 [default: the time of writing, also for records without a valid
    time in order]. `monotonic` says what is in order: ``"strict"``, or by how many
    milliseconds times may go back, or ``"off"``. `tail` says what to do with bytes that a crash
    left.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        durability: Durability = "data",
        interval: float = 1.0,
        rotate_bytes: int | str | None = "256MiB",
        rotate_rows: int | None = None,
        rotate_seconds: float | None = None,
        rotate: Callable[[SegmentState], object] | None = None,
        time: str | None = None,
        monotonic: Literal["strict", "off"] | int = "strict",
        tail: TailPolicy = "auto",
        max_record: int | str = MAX_RECORD,
        max_depth: int = MAX_DEPTH,
        codec: str | None = None,
        level: int | None = None,
        retain_bytes: int | str | None = None,
        retain_age: str | timedelta | None = None,
    ) -> None:
        if durability not in DURABILITIES:
            known = ", ".join(map(repr, DURABILITIES))
            raise UsageError(f"durability {durability!r}: it is one of {known}")
        rotation = Rotation(
            None if rotate_bytes is None else size_of("rotate_bytes", rotate_bytes),
            None if rotate_rows is None else positive("rotate_rows", rotate_rows),
            None
            if rotate_seconds is None
            else seconds_of("rotate_seconds", rotate_seconds),
            rotate,
        )
        if codec is None and level is not None:
            raise UsageError(
                f"level {level!r} is that of a codec; give the codec (--codec) too"
            )
        options = WriterOptions(
            recovery_options(tail),
            durability,
            seconds_of("interval", interval),
            rotation,
            Timing(time, _late(monotonic)),
            RecordLimits(
                size_of("max_record", max_record, LARGEST_RECORD),
                positive("max_depth", max_depth, DEEPEST),
            ),
            None if time is None else time_program(time),
            None if codec is None else packing_options(codec, level),
            None
            if retain_bytes is None and retain_age is None
            else retention(retain_age, retain_bytes, None),
        )
        super().__init__(directory, options)

    def retain(
        self,
        *,
        retain_age: str | timedelta | None = None,
        retain_bytes: int | str | None = None,
        before_line: int | None = None,
    ) -> Removed:
        """Remove the oldest segments now, as `Log.retain` does, and return them."""
        return self.remove(retention(retain_age, retain_bytes, before_line))


def time_program(expression: str) -> Program:
    """Compile the expression for the time of a record; it must not call ``now``."""
    calls = [
        node
        for node in traversal.walk(parse_query(expression))
        if isinstance(node, ast.Call)
    ]
    if any(call.name == "now" for call in calls):
        raise UsageError(f"{expression}: the time of a record cannot depend on now()")
    return row_program(expression)


def _compiled(expression: str) -> Program | None:
    with suppress(UsageError, QueryFailedError):
        return time_program(expression)
    return None


def recovery_options(tail: TailPolicy, *, repair: bool = False) -> RecoveryOptions:
    """Return the options of a recovery, checked."""
    if tail not in TAILS:
        raise UsageError(f"tail {tail!r}: it is one of {', '.join(map(repr, TAILS))}")
    return RecoveryOptions(_compiled, tail, repair)


def _late(monotonic: object) -> int | None:
    match monotonic:
        case "strict":
            return 0
        case "off":
            return None
        case int() if not isinstance(monotonic, bool) and monotonic >= 0:
            return monotonic
        case _:
            raise UsageError(
                f"monotonic {monotonic!r}: it is 'strict', 'off' or a number of milliseconds"
            )


_FLAGS = {
    "rotate_bytes": "--rotate-bytes",
    "rotate_rows": "--rotate-rows",
    "rotate_seconds": "--rotate-seconds",
    "max_record": "--max-record",
    "from_line": "--from",
    "to_line": "--to",
    "poll": "--poll",
}
"""Arguments that are flags of a command as well."""


def size_of(name: str, value: int | str, most: int | None = None) -> int:
    """Return a size in bytes, checked."""
    return positive(name, parse_size(value), most)


def positive(name: str, value: object, most: int | None = None) -> int:
    """Return a positive integer, checked."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        reason = f"must be a positive integer, not {value!r}"
        raise UsageError(f"{_named(name)} {reason}")
    if most is not None and value > most:
        raise UsageError(f"{_named(name)} must be at most {most}, not {value}")
    return value


def _named(name: str) -> str:
    """Return the name of an argument, with its flag if it has one.

    >>> _named("rotate_bytes"), _named("every_lines")
    ('rotate_bytes (--rotate-bytes)', 'every_lines')
    """
    return f"{name} ({_FLAGS[name]})" if name in _FLAGS else name


def seconds_of(name: str, value: object) -> float:
    """Return a number of seconds above 0, checked."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise UsageError(
            f"{_named(name)} must be a number of seconds above 0, not {value!r}"
        )
    return value
