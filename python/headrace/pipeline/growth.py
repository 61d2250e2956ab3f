"""Files that are still written to: what of them can be read, and what was read before.

A plain file that has only grown is not another one. What was read of it stays, and the
rest is an input of its own, if the first ended with a newline and both ends of it are what
they were. An edit in the middle of a file that was also appended to is not noticed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from headrace.kernel.rows import File, reading
from headrace.pipeline.ledger import stamp_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.pipeline.inputs import Inputs
    from headrace.pipeline.ledger import Input, Ledger
    from headrace.store.source import Source

_LOOK_BACK = 1 << 16
"""How many bytes are looked at together for the last newline."""


def whole_lines(source: Source) -> Source:
    """Return a plain file without a last line that has no newline yet."""
    if not _is_plain(source) or source.size == 0:
        return source
    with reading(source.location):
        file = File(source.location)
        end = _behind_last_newline(file, source.size)
        return replace(source, size=end, ends=file.fingerprint(end))


def _behind_last_newline(file: File, end: int) -> int:
    while end > 0:
        start = max(end - _LOOK_BACK, 0)
        newline = file.read_at(start, end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def continued(found: Inputs, done: Ledger) -> Inputs:
    """Return inputs, those that have only grown as what was read of them and what is new.

    Of a file that is named twice, nobody could say which time its parts are of.
    """
    read: dict[str, list[Input]] = {}
    for each in done.inputs:
        read.setdefault(each.path, []).append(each)
    times = Counter(now.path for now, _source in found)
    inputs: Inputs = []
    for now, source in found:
        before = read.get(now.path, [])
        if times[now.path] > 1 or not _is_one_file(before):
            inputs.append((now, source))
            continue
        last = before[-1]
        same = (now.size, now.stamp) == (last.size, last.stamp)
        if not same and not _has_grown(source, last):
            inputs.append((now, source))
            continue
        inputs += [(each, source) for each in before]
        if now.size > last.size:
            inputs.append((now._replace(start=last.size), source))
    return inputs


def _is_one_file(inputs: Sequence[Input]) -> bool:
    """Whether these are all of one file, up to some byte."""
    follows = all(one.size == two.start for one, two in pairwise(inputs))
    return bool(inputs) and inputs[0].start == 0 and follows


def _has_grown(source: Source, last: Input) -> bool:
    if not _is_plain(source) or source.size < last.size:
        return False
    with reading(source.location):
        file = File(source.location)
        size, mtime_ns, _ctime_ns = file.stat()
        if size <= last.size:
            return False
        ended = last.size == 0 or file.read_at(last.size - 1, 1) == b"\n"
        before = stamp_of(mtime_ns, file.fingerprint(last.size))
        # The time is another one, of course.
        return ended and before.partition("-")[2] == last.stamp.partition("-")[2]


def _is_plain(source: Source) -> bool:
    return source.kind == "file" and source.codec == "none"
