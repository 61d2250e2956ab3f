"""Query plan: the programs of a query for the core, and how their results are combined."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from headrace.errors import QueryMeaningError, UsageError
from headrace.kernel.programs import Program
from headrace.language import ast, traversal
from headrace.language.tokens import UNBOUND
from headrace.language.traversal import deep
from headrace.logical.encode.compiler import compile_query
from headrace.logical.methods import (
    NOTHING,
    fields_of,
    is_rows,
    of_elements,
    reads_other_rows,
    union,
)
from headrace.logical.resolution import read_query
from headrace.record import record, replace
from headrace.store.rows.demand import Lanes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.kernel.programs import PruneCode
    from headrace.language.tokens import Bindings
    from headrace.logical import stream_plan as logical
    from headrace.logical.group_slots import SlotShape
    from headrace.logical.key_filter import JoinKey
    from headrace.logical.methods import Fields, JoinKind
    from headrace.store.rows.demand import KeyFilter

ALL_FIELDS = Lanes()

ELEMENTS = ""
"""The source name of a plan over elements that were made before: no file, no frame."""

T = TypeVar("T")


@record
class RowPlan:
    """A row query; `fields` are the fields that it reads.

    A row needs one of the keys `matching` for a true answer, and one of `giving` for an answer
    that is not null.
    """

    program: Program
    fields: Fields
    matching: KeyFilter | None = None
    giving: KeyFilter | None = None


@record
class PlainStage:
    """A stage of a stream query: its kind, the code of its program, and its count."""

    kind: str
    code: bytes | None
    count: int = 0


@record
class JoinPlan:
    """A stage that joins with another stream. `name`: the field for the other element.

    `right_fields`: the right elements are rows, and these fields are their key.
    """

    kind: JoinKind
    key: bytes
    right: StreamPlan
    right_key: bytes
    name: str | None
    right_fields: JoinKey | None = None


@record
class ZipPlan:
    """A stage that pairs elements with the elements of another stream by number."""

    right: StreamPlan
    longest: bool


StagePlan: TypeAlias = PlainStage | JoinPlan | ZipPlan


@record
class OrderPlan:
    """A sort by keys of one program, some `falling`, and the program for the sorted elements."""

    key: bytes
    falling: tuple[bool, ...]
    then: tuple[StagePlan, ...]


@record
class GroupPlan:
    """Groups of elements by the names that a program gives, whose code is `key`.

    The other fields are those of `headrace.logical.stream_plan.Group`.
    """

    key: bytes
    check: Program
    each: Program | None
    gives: Literal["object", "elements"]
    rest: Program | None


@record
class MergedPlan:
    """What a query makes of groups that a shuffle has merged.

    The fields are those of `headrace.logical.stream_plan.MergedGroups`.
    """

    behind: StreamPlan
    gives: Literal["object", "elements"]


@record
class StreamPlan:
    """A stream query over `source`, or over the main source.

    The rows go through the stages and are reduced; `rest` runs on the result, and with `spread`
    the answer is an array whose elements are lines. With `prune`, only elements that can be part
    of the answer are held. `order` is the same as `rest`, if that is a sort by keys, `group` if it
    begins with groups, and `merged` if it is about groups with `slots`. `keys` are the keys of
    which rows must have one to pass the first stage.
    """

    source: str | None
    stages: tuple[StagePlan, ...]
    reduction: logical.Reduction
    limit: int | None = None
    rest: Program | None = None
    spread: bool = False
    reverse: bool = False
    lanes: Lanes = ALL_FIELDS
    prune: PruneCode | None = None
    order: OrderPlan | None = None
    keys: KeyFilter | None = None
    group: GroupPlan | None = None
    merged: MergedPlan | None = None
    slots: tuple[SlotShape, ...] = ()
    column: int = 1
    """The column of the query that errors of rows in the reduction name."""
    query: str = ""
    offset: int = 0
    """The query, and the offset in it of the step that reduces the elements."""

    @property
    def result_depth(self) -> int:
        """How much deeper than the elements the result may be, on which `rest` runs."""
        return 4 if self.slots else 1


@record
class ValuePlan:
    """A query over the results of other queries; `spread` as in a stream query."""

    program: Program
    spread: bool


@record
class QueryPlan:
    """A query, and the queries over sources that must run before it.

    Programs refer to the results of `questions` by number; a question may use earlier ones, but a
    question over the main source no other over the main source. `names` are the other sources,
    each with its offset in the query. `question_names` are the texts of the questions. `places`: the query reads the place of its rows. `tree`,
    `condition` and `key` are the parsed query, its ``where`` and its ``distinct_by``.
    """

    main: RowPlan | StreamPlan | ValuePlan
    questions: tuple[StreamPlan, ...]
    names: tuple[tuple[str, int], ...]
    question_names: tuple[str, ...] = ()
    places: bool = False
    tree: ast.Node = ast.Root()
    condition: ast.Node | None = None
    key: ast.Node | None = None


@lru_cache(maxsize=256)
@deep()
def plan_query(
    query: str,
    *,
    stream: bool = False,
    distinct_by: str | None = None,
    where: str | None = None,
    matches: bool = False,
    bindings: Bindings = UNBOUND,
    strict_types: bool = False,
) -> QueryPlan:
    """Plan a query. Plans are cached.

    A plan does not depend on the sources. With `where`, the query runs only on rows for which that
    is truthy, on whole rows if it `matches`; with `distinct_by`, only on the first row of each key.
    With `strict_types`, a value of a type that an operation does not support is an error.
    """
    tree = given = read_query(query, bindings)
    sources = _sources(tree)
    # A query without a meaning is refused as a whole, before it is cut.
    compile_query(query, tree, dict.fromkeys(sources, 0))
    plan = None
    if stream or reads_other_rows(tree):
        from headrace.logical.stream_planner import plan_stream

        plan = plan_stream(tree, whole=stream, query=query)
    chosen = condition = None
    if where is not None:
        chosen = condition = _condition(where, bindings)
        sources.update(_sources(condition))
        if matches:
            tree = ast.And((condition, tree))
            condition = None
    planner = _Planner(query, condition, strict=strict_types)
    main: RowPlan | StreamPlan | ValuePlan
    key = None
    if distinct_by is not None:
        if plan is not None:
            raise UsageError(
                "distinct_by is about each row; write .unique_by(key) here"
            )
        key = read_query(distinct_by, bindings)
        _refuse_rows(distinct_by, key)
        main = planner.distinct(tree, distinct_by, key)
    elif plan is None and condition is not None:
        main = planner.each_of(tree, (), NOTHING)
    elif plan is None:
        main = RowPlan(
            planner.program(tree),
            fields_of(tree),
            planner.found_by(_keys_of(tree)) if matches else None,
            planner.found_by(_keys_of(_chosen_rows(tree))),
        )
    else:
        main = planner.all_rows(plan)
    trees = [tree for tree in (given, chosen, key) if tree is not None]
    places = any(map(reads_place, trees))
    names = tuple(sources.items())
    return QueryPlan(
        main,
        tuple(planner.questions),
        names,
        tuple(planner.numbers),
        places,
        given,
        chosen,
        key,
    )


def row_program(query: str) -> Program:
    """Return the program of a row query."""
    plan = plan_query(query)
    if not isinstance(plan.main, RowPlan) or plan.questions or plan.names:
        raise UsageError(f"{query}: this must be a row query, about each row by itself")
    return plan.main.program


def _keys_of(condition: ast.Node | None) -> KeyFilter | None:
    """Return the keys of which a row must have one to pass a condition."""
    if condition is None:
        return None
    from headrace.logical.key_filter import of_condition

    return of_condition(condition)


def _chosen_rows(tree: ast.Node) -> ast.Node | None:
    """Return the condition on the rows whose answer is not null, if the query has one."""
    match tree:
        case ast.Conditional(test, _, ast.Literal(None)):
            return test
        case _:
            return None


def _refuse_rows(text: str, key: ast.Node) -> None:
    """Refuse a key that is about all rows, not about one."""
    for node in traversal.walk(key):
        if is_rows(node):
            raise QueryMeaningError(
                text,
                node.span.start,
                "distinct_by is a key of each row, and $.rows() is about all rows",
                "name a field of the row: --distinct-by id, distinct_by='id'",
            )


def lanes(plan: logical.StreamPlan) -> Lanes:
    """Return the fields of a row that a plan reads."""
    from headrace.logical import stream_plan as logical

    scan: Fields = NOTHING
    for stage in plan.stages:
        match stage:
            case logical.StreamStage("each", ast.Located() as program):
                chosen, made, passed_on = of_elements(program)
                scan = union([scan, chosen])
                if not passed_on:
                    return Lanes(scan, made, selective=bool(scan))
            case logical.StreamStage(program=ast.Located() as program):
                scan = union([scan, fields_of(program)])
            case logical.JoinStage("diff" | "intersect", key):
                scan = union([scan, fields_of(key)])
            case logical.JoinStage() | logical.ZipStage():
                return ALL_FIELDS
            case logical.StreamStage():
                pass
    result = NOTHING if plan.reduction == "count" else None
    return Lanes(scan, result, selective=bool(scan))


@cache
def whole_row() -> Program:
    """Return the program that returns the row unchanged."""
    return Program("$", compile_query("$", ast.Root()))


PLACES = frozenset({"input_file", "input_line", "input_row"})
"""Functions of the place of a row."""


def reads_place(tree: ast.Node) -> bool:
    """Whether a query reads the place of its rows."""
    for node in traversal.walk(tree):
        match node:
            case ast.Call(name) | ast.Name(name) if name in PLACES:
                return True
            case ast.Path(_, steps):
                names = {step.name for step in steps if isinstance(step, ast.Method)}
                if names & PLACES:
                    return True
            case _:
                pass
    return False


def _sources(tree: ast.Node) -> dict[str, int]:
    """Return the other sources that a query names, each with its offset."""
    return {
        node.name: node.span.start
        for node in traversal.walk(tree)
        if isinstance(node, ast.Source)
    }


def _condition(where: str, bindings: Bindings) -> ast.Node:
    """Parse a condition on rows; its errors show its own text."""
    from headrace.logical.named_sources import lifted
    from headrace.logical.stream_planner import plan_source, plan_stream

    condition = read_query(where, bindings)
    inner, questions = lifted(condition)
    sources = [plan_source(each).source for each in questions.values()]
    if None in sources or plan_stream(condition, whole=False) is not None:
        raise UsageError(
            f"where: {where}: it is a condition on each row, and $.rows() is about all rows; "
            "name the value of all rows in the query: "
            "$.rows().avg(x) -> mean | $.rows().filter(x > mean)"
        )
    compile_query(where, inner, {name: at for at, name in enumerate(questions)})
    return condition


def _chosen_by(condition: ast.Node) -> logical.StreamStage:
    """Return the stage that keeps rows for which a condition is truthy."""
    from headrace.logical import stream_plan as logical

    rows = ast.ArrayLiteral((ast.Root(),))
    filtered = ast.Method("filter", (ast.Arg(condition),))
    return logical.StreamStage("each", ast.Path(rows, (filtered,)))


def _column(stages: Sequence[logical.Stage]) -> int:
    """Return the column for errors in the reduction: that of the last program before it."""
    from headrace.logical import stream_plan as logical

    for stage in reversed(stages):
        match stage:
            case logical.StreamStage(_, program) if program is not None:
                return _root_column(program)
            case logical.JoinStage():
                return _root_column(stage.key)
            case _:
                pass
    return 1


def _root_column(program: ast.Node) -> int:
    """Return the column of the last expression of a program."""
    match program:
        case ast.Path(_, (*_, last)):
            return last.span.start + 1
        case _:
            return program.span.start + 1


class _Planner:
    """Plans the parts of one query, and for each part its queries over named sources."""

    def __init__(
        self, query: str, where: ast.Node | None = None, *, strict: bool = False
    ) -> None:
        self._query = query
        self._where = where
        self._strict = strict
        self.numbers: dict[str, int] = {}
        self.questions: list[StreamPlan] = []

    def found_by(self, keys: T | None) -> T | None:
        """Return the keys of rows, if rows without them can be skipped.

        With strict types, a row without the keys may fail.
        """
        return None if self._strict else keys

    def all_rows(
        self, plan: logical.StreamPlan | logical.ValuePlan
    ) -> StreamPlan | ValuePlan:
        from headrace.logical import stream_plan as logical

        if isinstance(plan, logical.ValuePlan):
            return ValuePlan(self.program(plan.tree), plan.spread)
        return self.stream(plan)

    def stream(self, plan: logical.StreamPlan) -> StreamPlan:
        if self._where is not None and plan.source is None:
            plan = replace(plan, stages=(_chosen_by(self._where), *plan.stages))
        from headrace.logical.key_filter import of_stream

        stages = tuple(self._stage(stage) for stage in plan.stages)
        rest = None if plan.rest is None else self.program(plan.rest)
        return StreamPlan(
            plan.source,
            stages,
            plan.reduction,
            plan.limit,
            rest,
            plan.spread,
            plan.reverse,
            lanes(plan),
            None if plan.prune is None else self._prune(plan.prune),
            None if plan.order is None else self._order(plan.order),
            self.found_by(of_stream(plan)),
            None if plan.group is None else self._group(plan.group),
            None if plan.merged is None else self._merged(plan.merged),
            plan.slots,
            _column(plan.stages),
            self._query,
            plan.offset,
        )

    def _group(self, group: logical.Group) -> GroupPlan:
        each = None if group.each is None else self.program(group.each)
        rest = None if group.rest is None else self.program(group.rest)
        key, check = self._code(group.key), self.program(group.check)
        return GroupPlan(key, check, each, group.gives, rest)

    def _merged(self, merged: logical.MergedGroups) -> MergedPlan:
        behind = self.stream(replace(merged.behind, source=ELEMENTS))
        return MergedPlan(behind, merged.gives)

    def _order(self, order: logical.Order) -> OrderPlan:
        then = tuple(self._stage(stage) for stage in order.then)
        return OrderPlan(self._code(order.key), order.falling, then)

    def _prune(self, prune: logical.Prune) -> PruneCode:
        return self._code(ast.ArrayLiteral(prune.keys)), prune.falling, prune.keep

    def distinct(self, tree: ast.Node, query: str, key: ast.Node) -> StreamPlan:
        once = PlainStage("distinct", compile_query(query, key, strict=self._strict))
        return self.each_of(tree, (once,), fields_of(key))

    def each_of(
        self, tree: ast.Node, stages: tuple[StagePlan, ...], read: Fields
    ) -> StreamPlan:
        """Plan a row query for the rows that pass the condition, if any, and stages."""
        keys = None
        if self._where is not None:
            stages = (self._stage(_chosen_by(self._where)), *stages)
            read = union([read, fields_of(self._where)])
            keys = self.found_by(_keys_of(self._where))
        each = PlainStage("each", self._code(ast.ArrayLiteral((tree,))))
        lanes = Lanes(read, fields_of(tree), selective=True)
        return StreamPlan(None, (*stages, each), "lines", lanes=lanes, keys=keys)

    def program(self, tree: ast.Node) -> Program:
        return Program(self._query, self._code(tree))

    def _stage(self, stage: logical.Stage) -> StagePlan:
        from headrace.logical import stream_plan as logical
        from headrace.logical.key_filter import of_join

        match stage:
            case logical.StreamStage(kind, program, count):
                code = None if program is None else self._code(program)
                return PlainStage(kind, code, count)
            case logical.JoinStage():
                key, right_key = self._code(stage.key), self._code(stage.right_key)
                right = self.stream(stage.right)
                fields = self.found_by(of_join(stage))
                return JoinPlan(stage.kind, key, right, right_key, stage.name, fields)
            case logical.ZipStage():
                return ZipPlan(self.stream(stage.right), stage.longest)

    def _code(self, tree: ast.Node) -> bytes:
        if not _sources(tree):
            return compile_query(self._query, tree, self.numbers, strict=self._strict)
        from headrace.logical.named_sources import lifted
        from headrace.logical.stream_planner import plan_source

        tree, questions = lifted(tree)
        for name, question in questions.items():
            if name not in self.numbers:
                plan = self.stream(plan_source(question))
                # The questions inside this one already have their numbers.
                self.numbers[name] = len(self.questions)
                self.questions.append(plan)
        return compile_query(self._query, tree, self.numbers, strict=self._strict)
