"""Strategies with a shuffle: sorts, groups, first elements of each key, joins of large sides.

Tasks survey all elements first. The survey decides how the elements are divided, and whether
the shuffle gives the answer of the local engine; if not, the query goes on without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from headrace.engines.query.run import lines_of_value
from headrace.engines.spark.query.joins import (
    choice_of,
    read_right_sides,
    task_query,
)
from headrace.engines.spark.query.row_order import MOST_TASKS, PlacedChunk
from headrace.engines.spark.query.shuffle_counts import MOST_HELD, ShuffledRows
from headrace.engines.spark.query.survey import SideSurvey
from headrace.engines.spark.query.task_query import (
    Chunk,
    GroupShuffle,
    JoinKey,
    JoinShuffle,
    RefusedRow,
    ShuffleKey,
    SortShuffle,
    TaskQuery,
    UniqueShuffle,
)
from headrace.engines.spark.shuffle.key_sample import bounds, merged
from headrace.errors import QueryFailedError
from headrace.kernel.programs import Counts, Refused
from headrace.kernel.rows import RowBatch, rows_of
from headrace.physical.distribution import Joined, Unique, are_local
from headrace.physical.joins import left_keys_first
from headrace.physical.query_plan import ELEMENTS, PlainStage, StreamPlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.engines.query.run import LineForm
    from headrace.engines.spark.query.row_order import RowOrder
    from headrace.engines.spark.query.run import SparkRun
    from headrace.engines.spark.query.survey_task import Survey
    from headrace.engines.spark.query.task_query import RowPlace, Shuffle
    from headrace.kernel.programs import Program, RowQuery, StreamQuery
    from headrace.physical.distribution import Grouped, Sorted


@dataclass(frozen=True, slots=True)
class ShuffleResult:
    """The elements that a shuffle has left, as chunks, and the rows that they are of.

    `left` is the rest of the plan: without stages, tasks have made lines of the elements, or have
    reduced them.
    """

    rows: ShuffledRows
    chunks: Iterator[tuple[int, Chunk]]
    left: StreamPlan


@dataclass(frozen=True, slots=True)
class _Surveyed:
    """The survey of the left side of a shuffle, and its rows."""

    side: SideSurvey
    rows: ShuffledRows


# Sorts and groups


def sorted_lines(
    spark: SparkRun, plan: StreamPlan, strategy: Sorted, form: LineForm
) -> Iterator[bytes] | None:
    """Return lines of output in the order of their keys; None if a shuffle cannot give them."""
    order = strategy.order
    read_right_sides(spark, plan)
    key = ShuffleKey(order.key, order.then, order.falling, compact=True)
    query = replace(task_query(spark, "survey", (plan,)), key=key, form=form)
    surveys = _survey_elements(spark, query)
    if surveys is None:
        return None
    if form.limit == 0:
        return iter(())
    keys = merged([survey.sample for survey in surveys])
    parts = partitions_of(spark, sum(survey.size for survey in surveys))
    shuffle = SortShuffle(tuple(bounds(keys, parts)))
    chunks = run_shuffle(spark, query, shuffle)
    return first_lines((chunk.lines for _, chunk in chunks), form.limit)


def grouped_lines(
    spark: SparkRun, plan: StreamPlan, strategy: Grouped, form: LineForm
) -> Iterator[bytes] | None:
    """Return the lines of groups, in the order in which their keys first come; or None."""
    group = strategy.group
    read_right_sides(spark, plan)
    key = ShuffleKey(group.key, compact=True)
    query = replace(task_query(spark, "survey", (plan,)), key=key)
    surveys = _survey_elements(spark, query)
    if surveys is None:
        return None
    parts = partitions_of(spark, sum(survey.size for survey in surveys))
    chunks = run_shuffle(spark, query, GroupShuffle(group, parts))
    # A failure comes before all groups.
    first = next(chunks, (0, Chunk(0, 0)))[1]
    if first.failure is not None:
        # Another error may come before it: of keys, or of the rest of the query.
        return None
    texts = chain([first.lines], (chunk.lines for _, chunk in chunks))
    if group.gives == "object":
        return as_object(texts)
    if group.rest is not None:
        try:
            value = _rest_of_groups(spark, group.rest, texts)
        except QueryFailedError:
            # The place in the query that it names depends on how the query is cut.
            return None
        return lines_of_value(value, plan, form)
    wanted = texts if form.nulls else map(without_nulls, texts)
    return first_lines(wanted, form.limit)


def _rest_of_groups(spark: SparkRun, rest: Program, texts: Iterable[bytes]) -> bytes:
    """Evaluate the rest of a query over all elements of groups."""
    plan = StreamPlan(ELEMENTS, (), "collect")
    query = spark.run.reducing_query(plan)
    for text in texts:
        for batch in rows_of(text):
            query.answer(batch, 0)
            spark.run.report.watch_memory(query)
    return spark.run.finish([replace(plan, rest=rest)], [query])[0]


def _survey_elements(spark: SparkRun, query: TaskQuery) -> list[Survey] | None:
    """Survey all elements; None if a shuffle would not have all of them."""
    surveys, complete, report = [], True, spark.run.report
    for placed, survey in spark.surveys(query, spark.counted_order(query)):
        report.read += placed.chunk.counts
        spark.report_chunk(placed)
        surveys.append(survey)
        complete = complete and not survey.late and not placed.is_distrusted
    return surveys if complete else None


# Elements with the same key


def shuffle_by_key(
    spark: SparkRun, plan: StreamPlan, strategy: Unique | Joined, form: LineForm
) -> ShuffleResult | None:
    """Shuffle the elements of a plan by their keys; None if the answer would be another."""
    left = replace(plan, source=ELEMENTS, stages=strategy.rest)
    behind = left if are_local(strategy.rest) else None
    first = replace(plan, stages=strategy.first)
    match strategy:
        case Unique():
            shuffled = _shuffle_unique(spark, first, strategy, behind)
        case Joined():
            shuffled = _shuffle_join(spark, first, strategy, behind)
    if shuffled is None:
        return None
    surveyed, query, shuffle = shuffled
    return ShuffleResult(
        surveyed.rows,
        run_shuffle(spark, replace(query, form=form), shuffle),
        left if behind is None else replace(left, stages=()),
    )


def _shuffle_unique(
    spark: SparkRun, first: StreamPlan, strategy: Unique, behind: StreamPlan | None
) -> tuple[_Surveyed, TaskQuery, Shuffle] | None:
    if spark.is_small(spark.main_order(first)):
        return None
    assert strategy.distinct.code is not None
    key = ShuffleKey(strategy.distinct.code)
    surveyed = _survey_left(spark, first, key, behind)
    if surveyed is None or surveyed.side.failed or surveyed.side.late:
        return None
    parts = partitions_of(spark, surveyed.side.size)
    return surveyed, surveyed.side.query, UniqueShuffle(parts, behind)


def _shuffle_join(
    spark: SparkRun, first: StreamPlan, strategy: Joined, behind: StreamPlan | None
) -> tuple[_Surveyed, TaskQuery, Shuffle] | None:
    join, run = strategy.join, spark.run
    name, right = join.right.source, join.right
    assert name is not None
    if choice_of(spark, (join,), None).strategy == "driver":
        return None
    surveyed = _survey_left(spark, first, JoinKey(join.key), behind)
    if surveyed is None:
        return None
    left, aborts = surveyed.side, surveyed.side.query.aborts
    keys_first = left_keys_first(run.rows_of(None), run.rows_of(name))
    if aborts and left.failed and keys_first:
        # The local engine reads the keys of the left rows before the right side.
        spark.report_rows([left.failed])
    other = task_query(spark, "survey", (right,))
    other = replace(other, key=JoinKey(join.right_key))
    order = spark.order_of(name)
    others = _survey_right(spark, name, other, order)
    if others is None or not _can_join(strategy, behind, left, others):
        return None
    run.report.count(name, others.counts)
    spark.report_rows(others.bad)
    query, key = left.query, left.query.key
    if aborts and left.failed and key is not None:
        placed, row = left.failed
        key = replace(key, stop=(placed.number, row.refused.row))
    tasks = tuple(tuple(order.fragments_of(task)) for task in order.partitions)
    parts = partitions_of(spark, left.size + others.size)
    shuffle = JoinShuffle(join, other, tasks, parts, behind)
    return surveyed, replace(query, key=key), shuffle


def _survey_left(
    spark: SparkRun, plan: StreamPlan, key: ShuffleKey, behind: StreamPlan | None
) -> _Surveyed | None:
    """Survey the rows of the main source; None if some cannot be counted one by one.

    A row may have several elements if tasks do all the rest, and elements cannot fail there.
    """
    read_right_sides(spark, plan)
    query = replace(task_query(spark, "survey", (plan,)), key=key)
    several = (
        behind is not None
        and not behind.stages
        and behind.reduction not in ("sum", "avg")
    )
    side, chunks, order = SideSurvey(query), list[PlacedChunk](), spark.main_order(plan)
    for placed, survey in spark.surveys(query, order):
        side.add(placed, survey)
        if placed.chunk.failure is not None or placed.is_distrusted:
            return None
        if side.has_several and not several:
            return None
        if len(side.bad) > MOST_HELD:
            return None
        chunks.append(replace(placed, chunk=replace(placed.chunk, survey=None)))
        if placed.chunk.refused and query.aborts:
            break
    return _Surveyed(side, ShuffledRows(query, chunks, order))


def _survey_right(
    spark: SparkRun, name: str, query: TaskQuery, order: RowOrder
) -> SideSurvey | None:
    """Survey the right side of a join; raises the error of a row that ends the query.

    None if its elements are not known: a row that a program refuses may have had elements
    before that, which the local engine joins.
    """
    side = SideSurvey(query)
    for placed, survey in spark.surveys(query, order):
        side.add(placed, survey)
        chunk = placed.chunk
        if chunk.failure is not None or placed.is_distrusted:
            return None
        if chunk.refused and query.aborts:
            spark.run.report.count(name, side.counts)
            spark.report_rows([(placed, chunk.refused[0])])
        if len(side.bad) > MOST_HELD:
            return None
    return None if side.failed else side


def _can_join(
    strategy: Joined, behind: StreamPlan | None, left: SideSurvey, right: SideSurvey
) -> bool:
    """Whether the result is known for elements that cannot be joined."""
    join = strategy.join
    objects = left.objects and (join.name is not None or right.objects)
    if objects or join.kind in ("diff", "intersect"):
        return True
    # Tasks report a row that fails, if all its elements come to one task.
    return behind is not None and not left.has_several


# Elements that come out


def run_shuffle(
    spark: SparkRun, query: TaskQuery, shuffle: Shuffle
) -> Iterator[tuple[int, Chunk]]:
    """Yield the chunks of a shuffle; the tasks are those of the survey, up to a stop."""
    order = spark.main_order(query.plans[0])
    partitions: list[list[int]] = order.partitions
    if query.key is not None and query.key.stop is not None:
        last, _ = query.key.stop
        wanted = [[each for each in task if each <= last] for task in partitions]
        partitions = [task for task in wanted if task]
    tasks = [order.fragments_of(task) for task in partitions]
    spark.run.report.bytes_by_tasks = 0
    return spark.run_tasks(replace(query, output="shuffle", shuffle=shuffle), tasks)


def partitions_of(spark: SparkRun, size: int) -> int:
    """Return the number of partitions for this many bytes of elements."""
    return min(max(-(-size // spark.partition_bytes), 1), MOST_TASKS)


def lines_of_shuffle(
    spark: SparkRun, result: ShuffleResult, form: LineForm
) -> Iterator[bytes]:
    """Yield the lines of output of elements that a shuffle has left."""
    if not result.left.stages:
        yield from (chunk.lines for chunk in _finished_chunks(spark, result))
        return
    query = spark.run.lines_query(result.left, form)
    yield from _read_elements(spark, result, query)
    yield query.end()


def value_of_shuffle(spark: SparkRun, result: ShuffleResult) -> bytes:
    """Return the value of elements that a shuffle has left."""
    query = spark.run.reducing_query(result.left)
    if result.left.stages:
        for lines in _read_elements(spark, result, query):
            assert not lines  # a query that reduces elements has none
        query.end()
    else:
        for chunk in _finished_chunks(spark, result):
            for part in chunk.parts:
                query.merge(part)
            spark.run.report.watch_memory(query)
    return spark.run.finish([result.left], [query])[0]


def _read_elements(
    spark: SparkRun, result: ShuffleResult, query: RowQuery | StreamQuery
) -> Iterator[bytes]:
    """Put elements through a query, and report rows as if it had read all of them."""
    scanner = spark.run.scanner
    has_program = any(
        not isinstance(stage, PlainStage) or stage.code is not None
        for stage in result.left.stages
    )
    for task, chunk in result.chunks:
        placed = result.rows.placed(task, chunk)
        batch = RowBatch.of_contents(0, [row.content for row in chunk.sifted])
        for lines, refused in scanner.answers_of([query], batch, reverse=False):
            yield lines
            if refused is not None:
                row = chunk.sifted[refused.row]
                column = refused.column
                if column is not None and not has_program:
                    # The last program before the shuffle made the element.
                    column = result.left.column
                offset = row.offset + refused.offset
                failed = Refused(row.position, offset, refused.reason, column)
                _reject(spark, result, placed, RefusedRow(failed, None), query.counts)
    _count(spark, result, query.counts, None)
    spark.report_rows(result.rows.bad_before(None))


def _finished_chunks(spark: SparkRun, result: ShuffleResult) -> Iterator[Chunk]:
    """Yield the chunks that tasks made behind a shuffle, and report rows as above."""
    counts = Counts()
    for task, chunk in result.chunks:
        placed = result.rows.placed(task, chunk)
        counts += chunk.counts
        yield chunk
        for row in chunk.refused:
            _reject(spark, result, placed, row, counts)
    _count(spark, result, counts, None)
    spark.report_rows(result.rows.bad_before(None))


def _reject(
    spark: SparkRun,
    result: ShuffleResult,
    placed: PlacedChunk,
    row: RefusedRow,
    counts: Counts,
) -> None:
    """Report a row that failed behind a shuffle, and the bad rows before it first."""
    rows, report, refused = result.rows, spark.run.report, row.refused
    place = placed.number, refused.row
    if report.on_error == "abort":
        _count(spark, result, counts, place)
    spark.report_rows(rows.bad_before(place))
    report.reject(lambda: placed.error(refused), lambda: rows.row(place))


def _count(
    spark: SparkRun, result: ShuffleResult, left: Counts, place: RowPlace | None
) -> None:
    """Record the counts of all rows, or of those up to a place."""
    counts = result.rows.counts(left, place)
    spark.run.report.count(None, counts, [result.rows.skipped(place)])


def as_object(entries: Iterable[bytes]) -> Iterator[bytes]:
    """Yield one line, in pieces, of entries that each begin with a comma."""
    begun = False
    for text in entries:
        if text:
            yield text if begun else b"{" + text[1:]
            begun = True
    yield b"}\n" if begun else b"{}\n"


def without_nulls(lines: bytes) -> bytes:
    """Return lines that are not null."""
    kept = lines.splitlines(keepends=True)
    return b"".join(line for line in kept if line != b"null\n")


def first_lines(texts: Iterable[bytes], limit: int | None) -> Iterator[bytes]:
    """Yield the first lines of texts, up to a limit."""
    for text in texts:
        count = text.count(b"\n")
        if limit is None or count < limit:
            yield text
        else:
            yield b"".join(text.splitlines(keepends=True)[:limit])
            return
        limit = None if limit is None else limit - count
