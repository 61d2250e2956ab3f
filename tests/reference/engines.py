"""Outcomes of a query, and a runner of tasks without Spark."""

import pickle
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from headrace.engines.spark.query.task import TaskRun
from headrace.engines.spark.query.task_query import (
    Chunk,
    GroupShuffle,
    JoinShuffle,
    MergeShuffle,
    SortShuffle,
    UniqueShuffle,
)
from headrace.engines.spark.shuffle.finish_task import ChunkMaker, Element
from headrace.engines.spark.shuffle.group_task import GroupMaker, GroupMerger, Member
from headrace.errors import HeadraceError
from headrace.kernel.programs import SiftedRow, Sources, Stage, StreamQuery
from headrace.kernel.rows import RowBatch
from headrace.kernel.sort_keys import KeyedRows
from headrace.kernel.values import DEEPEST
from tests.reference.keyed_rows import Element as Keyed
from tests.reference.keyed_rows import elements as elements_of


def in_process(query, tasks, tell):
    """Run tasks one after the other; data passed between processes is pickled."""
    query, tasks = pickle.loads(pickle.dumps((query, tasks)))
    if query.output == "shuffle":
        yield from shuffled_in_process(query, tasks)
        return
    for number, task in enumerate(tasks):
        for chunk in TaskRun(query).run(task):
            yield number, pickle.loads(pickle.dumps(chunk))
        tell(number + 1, len(tasks))


def shuffled_in_process(query, tasks):
    """Shuffle with Python's own sort and dictionaries."""
    if isinstance(query.shuffle, MergeShuffle):
        yield from merged_groups(query, tasks)
        return
    rows = list(keyed_rows(query, tasks))
    match query.shuffle:
        case SortShuffle():
            rows.sort(key=lambda row: row.of.key)
            lines = [row.of.line for row in rows]
            wanted = [line for line in lines if query.form.nulls or line != b"null"]
            yield from ((0, Chunk(0, 0, lines=line + b"\n")) for line in wanted)
        case GroupShuffle(plan):
            yield from groups(query, plan, rows)
        case UniqueShuffle(behind=behind):
            firsts = {row.of.key: row for row in reversed(rows)}
            kept = [row for row in rows if firsts[row.of.key] is row]
            yield from given(query, behind, [(row, []) for row in kept])
        case JoinShuffle(join, other, other_tasks, behind=behind):
            lines = defaultdict(list)
            for row in keyed_rows(other, other_tasks):
                lines[row.of.key].append(row.of.line)
            lines.pop(b"", None)
            joins = [(row, [joining(query, join, lines[row.of.key])]) for row in rows]
            yield from given(query, behind, joins)


def merged_groups(query, tasks):
    """Yield what becomes of groups, merged one by one, in the order of their places."""
    run, members = TaskRun(replace(query, output="groups")), defaultdict(list)
    for task, fragments in enumerate(tasks):
        for before, groups in run.groups(fragments):
            firsts = memoryview(groups.firsts).cast("q")
            for first, name, part in zip(
                firsts, split(groups.names), split(groups.parts), strict=True
            ):
                members[name].append(Member(task, before + first, name, part))
    merger, pieces = GroupMerger(query, query.shuffle), []
    for each in members.values():
        for member in each:
            merger.merge([member])
        pieces += merger.take()
    for piece in sorted(pieces, key=lambda piece: piece[:4]):
        yield 0, Chunk(0, 0, lines=piece.text, failure=piece.failure)


def split(texts):
    """Return texts that have been put one after the other."""
    ends = memoryview(texts.ends).cast("i")
    return [texts.data[start:end] for start, end in pairwise(ends)]


def groups(query, plan, rows):
    """Yield the result of each group, in the order of their keys."""
    members = defaultdict(list)
    for number, row in enumerate(rows):
        members[row.of.key].append(Member(0, number, row.of.key, row.of.line))
    made = []
    for each in members.values():
        made += GroupMaker(query, plan).pieces(each)
    for piece in sorted(made, key=lambda piece: piece.stage):
        yield 0, Chunk(0, 0, lines=piece.text, failure=piece.failure)


def keyed_rows(query, tasks):
    """Yield all elements in their order, with their places."""
    for number in range(len(tasks)):
        for fragment, first, keyed in TaskRun(query).keyed(tasks, number):
            for each in elements_of(keyed):
                yield Shuffled(number, fragment, first + each.position, each)


def given(query, behind, elements):
    """Yield the elements after the stages that replace a shuffle."""
    finishing = None if behind is None else ChunkMaker(query, behind)
    then = [] if behind is None else behind.stages
    for row, stages in elements:
        plain = [Stage.plain(each.kind, each.code, each.count) for each in then]
        made = KeyedRows(
            None, stages=[*stages, *plain], max_depth=DEEPEST, sources=known(query)
        ).of(RowBatch.of_contents(0, [row.of.line]))
        place = row.task, row.fragment, row.row, row.of.offset
        if finishing is None:
            for each in elements_of(made):
                sifted = SiftedRow(row.row, row.of.offset, each.line)
                yield row.task, Chunk(row.fragment, 0, sifted=[sifted])
            continue
        lines = [Element(*place, each.line) for each in elements_of(made)]
        wrong = [
            Element(*place, None, each.reason, each.column, each.offset)
            for each in made.refused
        ]
        # In as many batches as possible.
        for one in lines + wrong:
            yield from finishing.chunks([one])


def joining(query, join, lines):
    """Return the stage that joins with the elements of one key only."""
    filling = StreamQuery(
        [Stage.table(join.kind, join.right_key, None)],
        reduction="count",
        limit=None,
        nulls=True,
        max_memory=1 << 20,
        held_before=0,
        max_depth=DEEPEST,
        sources=known(query),
    )
    filling.answer(RowBatch.of_contents(0, lines), 0)
    return Stage.join(join.kind, join.key, filling.table(), join.name)


def known(query):
    return None if query.known is None else Sources(list(query.known), 256)


BY_TASKS = {"engine": "spark", "_run_tasks": in_process}
"""Options of a query that tasks run in this process."""


class Shuffled(NamedTuple):
    """An element with its place."""

    task: int
    fragment: int
    row: int
    of: Keyed


def outcome(dataset, query, **options):
    """Return the complete outcome of a run: bytes, error, counts."""
    try:
        result = dataset.query(query, **options)
    except HeadraceError as error:
        return described(error)
    lines, error = [], None
    try:
        lines.extend(result.lines())
    except HeadraceError as raised:
        error = described(raised)
    stats = result.stats
    counts = (stats.rows, stats.emitted, stats.filtered, stats.skipped, stats.blank)
    errors = [described(each) for each in stats.errors]
    named = list(stats.named)
    return b"".join(lines), error, counts, stats.bad, errors, named


def described(error):
    """Return the type and all fields of an error."""
    return type(error).__name__, error.args, str(error)
