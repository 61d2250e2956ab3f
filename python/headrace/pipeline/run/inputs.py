"""Inputs: the files that a pass reads, each with a stamp of its content, and those left to read."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from headrace.engines.spark.source.partitions import absolute, packed
from headrace.errors import BadRowError, UsageError
from headrace.kernel.rows import File, line_end, reading
from headrace.kernel.values import MAX_DEPTH
from headrace.physical.fragment import Fragment, fragments
from headrace.pipeline.plan.passes import Pass, fingerprint
from headrace.pipeline.spec import Pipeline, texts
from headrace.pipeline.state.ledger import Input, Ledger, Todo, left_to_do, stamp_of
from headrace.store.files.source import Source, expand, is_url
from headrace.store.files.units import parse_size
from headrace.store.shards.shard_set import ShardSet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    from headrace.pipeline.state.layout import Layout
    from headrace.store.shards.names import SetNames

    Inputs: TypeAlias = list[tuple[Input, Source]]


def whole_lines(source: Source) -> Source:
    """Return a plain file without a last line that has no newline yet."""
    if not _is_plain(source) or source.size == 0:
        return source
    with reading(source.location):
        file = File(source.location)
        end = line_end(file, 0, source.size)
        return replace(source, size=end, ends=file.fingerprint(end))


def continued(found: Inputs, done: Ledger) -> Inputs:
    """Split inputs that have only grown into the bytes that were read and the new bytes.

    A file that is named twice is not split, because its ranges would be ambiguous.
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
    """Whether these inputs are consecutive ranges of one file, from its start."""
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
        # Its time has changed, of course.
        return ended and before.partition("-")[2] == last.stamp.partition("-")[2]


def _is_plain(source: Source) -> bool:
    return source.kind == "file" and source.codec == "none"


def main_inputs(pipeline: Pipeline, layout: Layout) -> Inputs:
    """Find the files that the pipeline reads."""
    waits = pipeline.source.wait_for_newline
    return _found(pipeline.source.paths, layout, whole=waits)


def named_inputs(pipeline: Pipeline, layout: Layout) -> dict[str, Inputs]:
    """Find the files of the named sources."""
    return {name: _found(paths, layout) for name, paths in pipeline.names.items()}


def part_inputs(names: SetNames) -> Inputs:
    """Return the parts of the set of a pass as inputs."""
    shards = ShardSet(names.directory, names.name)
    sources = shards.sources()
    return [
        (Input(part.path, part.bytes, part.digest), source)
        for part, source in zip(shards.metadata.parts, sources, strict=True)
    ]


def _found(
    paths: str | Sequence[str], layout: Layout, *, whole: bool = False
) -> Inputs:
    """Find files; with `whole`, without an unfinished last line."""
    located = [
        path if is_url(path) else str(layout.base / path) for path in texts(paths)
    ]
    found = []
    own = layout.root.resolve()
    for each in expand(located):
        source = whole_lines(each) if whole else each
        path = source.location
        if source.is_pipe:
            raise UsageError(f"{path}: a pipeline cannot read a pipe")
        if source.kind == "file" and Path(path).resolve().is_relative_to(own):
            raise UsageError(
                f"{path}: the pipeline itself writes there; let `source` and `names` "
                "name other files, or `directory` another place"
            )
        if source.kind == "file" and Path(path).is_relative_to(layout.base):
            # Relative, so that the pipeline can be moved with its inputs.
            path = os.path.relpath(path, layout.base)
        # The name of a file may be bytes that are no text, but the ledger is text.
        path = os.fsencode(path).decode(errors="backslashreplace")
        stamp = stamp_of(source.mtime_ns, source.ends)
        found.append((Input(path, source.size, stamp), source))
    return found


def split(chosen: Inputs, size: int) -> tuple[tuple[Fragment, ...], ...]:
    """Cut inputs into fragments of about `size` bytes, and group these into tasks."""
    cut: list[Fragment] = []
    for each, source in chosen:
        cut += fragments(absolute(source), size, each.start, each.size)
    return tuple(packed(cut, size))


def check_named(pipeline: Pipeline, sources: Sequence[Source]) -> None:
    """Raise if a row of a named source is bad."""
    from headrace.engines.local.tally import tally

    limit = parse_size(pipeline.source.max_line)
    stats = tally(sources, max_line=limit, max_depth=MAX_DEPTH)
    for bad in stats.first_bad:
        raise BadRowError(bad.path, bad.line, bad.offset, bad.reason)
    if stats.too_long:
        raise UsageError(
            f"{sources[0].location}: {stats.too_long} lines are longer than max_line"
        )


class PassState(NamedTuple):
    """The state of a pass: its ledger, and the inputs left to read.

    `inputs` are all present inputs; the old and the new bytes of a file that has grown are two.
    """

    before: Ledger | None
    fingerprint: str
    inputs: Inputs
    todo: Todo


def state_of(
    one: Pass,
    inputs: Inputs,
    *,
    pipeline: Pipeline,
    layout: Layout,
    named: Mapping[str, Inputs],
    fresh: bool = False,
) -> PassState:
    """Compare the ledger of a pass with its inputs; `fresh`: as if it had none."""
    found = layout.current(one, pipeline)
    before = None if found is None else found[1]
    of_names = {name: [each for each, _ in files] for name, files in named.items()}
    now = fingerprint(pipeline, one, of_names)
    if before is not None and before.fingerprint == now and not fresh:
        inputs = continued(inputs, before)
    todo = left_to_do(
        before,
        now,
        [each for each, _source in inputs],
        appends=one.appends,
        gone=None if found is None else layout.gone(one, *found),
        fresh=fresh,
    )
    return PassState(before, now, inputs, todo)
