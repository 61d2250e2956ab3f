"""How a query is joined with named sources: by tasks that hold them or look keys up, or otherwise.

Which way is best is said by `headrace.physical.joins`; here it is found what that must know.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from headrace.engines.query.run import QueryRun
from headrace.engines.spark.query.driver import TaskedRows
from headrace.engines.spark.query.indexed_rows import are_few
from headrace.engines.spark.query.survey import Seen
from headrace.engines.spark.query.task import Keying, TaskQuery
from headrace.engines.spark.source.partitions import absolute
from headrace.kernel.programs import Counts
from headrace.physical import access
from headrace.physical.distribution import Found, joins_by_shuffle
from headrace.physical.joins import SparkChoice, SparkSides, choose_on_spark
from headrace.physical.query_plan import JoinPlan, RowPlan, StreamPlan, ZipPlan
from headrace.store.index.key_scan import KeyRows, Proven
from headrace.store.rows.demand import KeySet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from headrace.engines.query.scan import Pass, Rows
    from headrace.engines.query.skipped import Uncounted
    from headrace.engines.spark.query.task import Gives
    from headrace.kernel.programs import JoinTable
    from headrace.physical.query_plan import StagePlan


class _Lookup(NamedTuple):
    """Indexes that lead to the right rows of a join, and what there is to count of these."""

    proven: tuple[Proven, ...]
    counts: Counts
    rows_per_key: float


@dataclass(slots=True)
class JoiningRun(TaskedRows):
    """A run that knows which of its joins tasks can do, and whether it needs tasks at all."""

    _lookups: dict[JoinPlan, _Lookup | None] = field(default_factory=dict)
    _looked_up: dict[JoinPlan, bool] = field(default_factory=dict)
    _counted: dict[JoinPlan, tuple[str, Counts, Sequence[Uncounted]]] = field(
        default_factory=dict
    )

    def joins(
        self, files: Sequence[Rows], named: Mapping[str, Sequence[Rows]]
    ) -> Iterator[tuple[str, SparkChoice]]:
        """Say of each named source that the query joins with how that is done, and why."""
        self._files = {None: files}
        self._files.update(named)
        main = self.plan.main
        if not isinstance(main, StreamPlan) or main.source is not None or main.reverse:
            return
        for at, stage in enumerate(main.stages):
            if isinstance(stage, JoinPlan) and stage.right.source is not None:
                yield stage.right.source, self._choice(main.stages[at:], main.limit)

    def found(
        self, files: Sequence[Rows], named: Mapping[str, Sequence[Rows]]
    ) -> Found | None:
        """Say which rows key indexes lead to, if they are used, and who asks them."""
        self._files = {None: files}
        self._files.update(named)
        way = self._main_pass()
        found = () if way is None else self._found(way)
        if way is None or not found:
            return None
        return Found(
            sum(file.rows for file in found if file),
            self._asks_here(way),
            self._row_order(None, found).size,
            sum(file.source.size for file in files),
        )

    def _asks_here(self, way: Pass) -> bool:
        """Whether key indexes lead to so few rows that no task need be run to ask them.

        Where a join is shuffled, there are many rows on the other side, which tasks read.
        """
        found = self._found(way)
        return (
            bool(found)
            and are_few(found)
            and not any(
                isinstance(stage, JoinPlan)
                and self._choice(way.stages[at:], None).strategy == "shuffle"
                for at, stage in enumerate(way.stages)
            )
        )

    def _in_tasks(self, plan: StreamPlan) -> Callable[[JoinPlan], bool]:
        """Return what says whether tasks can do a join that is among the stages of a plan."""

        def in_tasks(join: JoinPlan) -> bool:
            stages, at = plan.stages, plan.stages.index(join)
            match self._choice(stages[at:], None).strategy:
                case "broadcast":
                    return True
                case "index":
                    left = StreamPlan(None, stages[:at], "lines", keys=plan.keys)
                    return self._looks_up(left, join)
                case _:
                    return False

        return in_tasks

    def _choice(self, stages: Sequence[StagePlan], limit: int | None) -> SparkChoice:
        """Choose how the first of some stages is done, which is a join."""
        join = stages[0]
        assert isinstance(join, JoinPlan)
        name, right = join.right.source, join.right
        if name is None or any(file.source.is_pipe for file in self._files[name]):
            return SparkChoice("driver", "the right side can be read only here")
        plain = not any(isinstance(each, (JoinPlan, ZipPlan)) for each in right.stages)
        shuffled = limit is None and joins_by_shuffle(stages)
        lookup = self._proven(join)
        return choose_on_spark(
            SparkSides(
                self._rows(None),
                self._rows(name),
                indexed=lookup is not None,
                # A table takes more room than the rows do in their file.
                tasks_hold=plain and self._is_held_here(name, share=4),
                held_here=self._is_held_here(name),
                shuffled=shuffled,
                rows_per_key=1.0 if lookup is None else lookup.rows_per_key,
            )
        )

    def _proven(self, join: JoinPlan) -> _Lookup | None:
        """Find indexes of all files of the right side of a join that can tell of its key."""
        if join not in self._lookups:
            self._lookups[join] = self._found_indexes(join)
        return self._lookups[join]

    def _found_indexes(self, join: JoinPlan) -> _Lookup | None:
        if join.right_fields is None or not self.options.index:
            return None
        keys = KeySet(join.right_fields.names, ())
        proven, counts, many, keys_of_many = list[Proven](), Counts(), 0, 0
        for file in self._files[join.right.source]:
            found = file.by_key(keys, self.options.max_depth, access, prove=True)
            # Whether numbers that are equal have one key must not depend on the rows.
            if not isinstance(found, KeyRows) or not found.stored.whole.plain_numbers:
                return None
            proven.append(found.proven)
            lines, blank = found.lines()
            counts += Counts(rows=lines, emitted=lines - blank, blank=blank)
            meta = found.stored.whole
            many += meta.records
            keys_of_many += meta.records if meta.keys is None else meta.keys
        return _Lookup(tuple(proven), counts, many / max(keys_of_many, 1))

    def _looks_up(self, plan: StreamPlan, join: JoinPlan) -> bool:
        """Whether tasks can look up all keys of a join; raises what is wrong with left rows.

        As in one process they are read first, only for their keys.
        """
        if join in self._looked_up:
            return self._looked_up[join]
        self._read_joined(plan)
        keying = Keying(join.key, joins=True, looked_up=join)
        query = replace(self._task_query("keys", (plan,), (join,)), keying=keying)
        seen, usable = Seen(query), True
        for arrived, looked in self._looked(query, self._main_order(plan)):
            seen.add(arrived, looked)
            failed = arrived.chunk.failure is not None or arrived.is_distrusted
            usable = not failed and not seen.late
            if not usable or (seen.failed and self.options.on_error == "abort"):
                break
        if usable and seen.failed and self.options.on_error == "abort":
            arrived, row = seen.failed
            raise arrived.first_error(row)
        self._looked_up[join] = usable
        return usable

    def _read_joined(self, plan: StreamPlan) -> None:
        """Count the right sides of joins, and say what is wrong with them.

        What every task reads is read here too.
        """
        for at, stage in enumerate(plan.stages):
            if not isinstance(stage, JoinPlan):
                continue
            lookup = self._lookups.get(stage)
            if lookup is None or not self._looked_up.get(stage):
                self._stage(plan, at)
            elif stage not in self._counted and stage not in self._tables:
                assert stage.right.source is not None
                self._counted[stage] = (stage.right.source, lookup.counts, ())
                self._readings.append(self._counted[stage])

    def _table(self, plan: StreamPlan, at: int, join: JoinPlan) -> JoinTable:
        if join in self._counted:
            # Whoever reads it here counts it too.
            self._readings.remove(self._counted.pop(join))
        return QueryRun._table(self, plan, at, join)

    def _task_query(
        self,
        gives: Gives,
        plans: Sequence[RowPlan | StreamPlan],
        others: Sequence[JoinPlan] = (),
    ) -> TaskQuery:
        """Return what tasks are asked; they know the right sides of `others` too."""
        joins = [
            stage
            for plan in plans
            if isinstance(plan, StreamPlan)
            for stage in plan.stages
            if isinstance(stage, JoinPlan)
        ]
        named = {
            name: tuple(absolute(file.source) for file in self._files[name])
            for name in {join.right.source for join in (*joins, *others)}
            if name is not None
        }
        by_index = tuple(join for join in joins if self._looked_up.get(join))
        lookups = [self._lookups[join] for join in (*by_index, *others)]
        return TaskQuery(
            gives,
            tuple(plans),
            self.options,
            self.reading,
            self.known,
            named,
            raw=self.tell is not None or self.options.on_error == "abort",
            by_index=by_index,
            proven=tuple(each for found in lookups if found for each in found.proven),
        )
