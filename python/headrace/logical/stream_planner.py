"""Planner of queries over the stream of all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from headrace.language import ast, traversal
from headrace.logical.encode.joins import join_call
from headrace.logical.group_slots import (
    elements_of,
    last_elements,
    named_groups,
    slots_of,
    slots_of_numbers,
)
from headrace.logical.grouping import OF_NUMBERS, Grouping, grouping_of
from headrace.logical.methods import (
    ROW_LOCAL,
    begins_with_rows,
    first_write,
    is_chain,
    is_join,
    is_rows,
)
from headrace.logical.named_sources import MAIN, is_closed, lifted, main_by_name
from headrace.logical.names.inlining import simplified
from headrace.logical.names.row_scope import checked
from headrace.logical.normal_form import one_path
from headrace.logical.shape import gives_elements, stream_steps
from headrace.logical.stream_plan import (
    JoinStage,
    MergedGroups,
    Order,
    Prune,
    Reduction,
    Stage,
    StreamPlan,
    StreamStage,
    ValuePlan,
    ZipStage,
)
from headrace.logical.stream_steps import (
    are_elementwise,
    changed_row,
    compares_two,
    count_taken,
    element_query,
    group_of,
    is_call,
    is_total_field,
    key_check,
    literal_count,
    longest_option,
    mentions_root,
    negated,
    sort_key,
    steps_of_entry,
)
from headrace.record import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.logical.encode.joins import JoinCall
    from headrace.logical.group_slots import Slot

_NUMBERS: dict[str, Reduction] = {
    "sum": "sum",
    "avg": "avg",
    "min": "min",
    "max": "max",
}
_KEYED = frozenset(
    {"group_by", "index_by", "max_by", "min_by", "partition", "sort", "sort_by"}
)
_OF_ONE_VALUE = frozenset({
    "approx_count_distinct", "approx_distinct", "count_by", "count_distinct", "mode", "nunique",
})  # fmt: skip

_Steps: TypeAlias = "Sequence[ast.Step]"


def plan_stream(
    tree: ast.Node, *, whole: bool, query: str = ""
) -> StreamPlan | ValuePlan | None:
    """Plan a query over all rows; None if it is a row query.

    `whole`: ``$`` is the array of all rows. Otherwise only a query with
    ``$.rows()`` is a stream query. `query` is its text, for errors.
    """
    if not whole and not any(map(is_rows, traversal.walk(tree))):
        tree = one_path(tree)
        return plan_source(tree) if is_closed(tree) else None
    spread = gives_elements(tree, whole=whole)
    tree = one_path(checked(simplified(tree, whole=whole), whole=whole, query=query))
    plan = _planned(tree, whole=whole)
    lines = isinstance(plan, StreamPlan) and plan.reduction == "lines"
    return plan if lines else replace(plan, spread=spread)


def _planned(tree: ast.Node, *, whole: bool) -> StreamPlan | ValuePlan:
    if whole and isinstance(tree, ast.Path) and is_chain(tree):
        changed = replace(tree, base=MAIN)
        if isinstance(tree.base, ast.Root) and is_closed(changed):
            return plan_source(changed)
    named = main_by_name(tree, whole=whole)
    roots = sum(node == MAIN for node in traversal.walk(named))
    # A source with a second sub-query inside of the first is read twice.
    if roots <= 1 and (is_closed(named) or _is_about_rows(named)):
        return plan_source(named)
    if _uses_only_subqueries(named):
        return ValuePlan(named, spread=False)
    return StreamPlan((), "collect", rest=tree)


def _uses_only_subqueries(named: ast.Node) -> bool:
    """Whether a query has no rows left in it once its sub-queries have run.

    Those over the main source must not need each other, because it is read once for all of them.
    Nor may one fail inside of a ``try``.
    """
    rest, subqueries = lifted(named)
    over_main = [tree for tree in subqueries.values() if _source_of(tree) == MAIN]
    # Sub-queries over other sources run before the main source is read.
    alone = all(
        sum(node == MAIN for node in traversal.walk(tree)) == (tree in over_main)
        for tree in subqueries.values()
    )
    orders = {plan_source(tree).reverse for tree in over_main}
    return (
        alone
        and len(orders) == 1
        and not any(isinstance(node, ast.Root) for node in traversal.walk(rest))
        and not any(map(_catches_failure, traversal.walk(named)))
    )


def _catches_failure(node: ast.Node) -> bool:
    """Whether an expression catches the failure of a sub-query over the main source.

    A sub-query behind ``else`` must not fail the query where ``try`` never needs it.
    """
    return isinstance(node, ast.Try) and any(
        part == MAIN for part in traversal.walk(node)
    )


def _is_about_rows(named: ast.Node) -> bool:
    """Whether a query is one path over the rows, with nothing around it."""
    return (
        isinstance(named, ast.Path)
        and named.base == MAIN
        and begins_with_rows(named.steps)
    )


def _source_of(tree: ast.Node) -> ast.Node:
    return tree.base if isinstance(tree, ast.Path) else tree


def plan_source(tree: ast.Node) -> StreamPlan:
    """Plan a query that `is_closed`: one that uses a single source."""
    match tree:
        case ast.Source(name):
            return StreamPlan((), "lines", source=None if tree == MAIN else name)
        case ast.Path(ast.Source() as source, steps) if begins_with_rows(steps):
            reverse = len(steps) > 1 and is_call(steps[1], "reverse")
            plan = _Planner(row_is_root=True).plan(steps[1 + reverse :])
            return replace(plan, source=plan_source(source).source, reverse=reverse)
        case ast.Path(ast.Source() as source, steps):
            plan = _plan_steps(steps)
            return replace(plan, source=plan_source(source).source)
        case _:
            raise AssertionError(tree)


def _plan_steps(steps: _Steps) -> StreamPlan:
    """Plan steps over the array of all rows, of which the first may be a write."""
    planner = _Planner(row_is_root=False)
    if (found := first_write(steps)) is None:
        return planner.plan(steps)
    path, write = found
    behind = steps[len(path) + 1 :]
    changed = changed_row(path, write)
    if changed is None or first_write(behind) is not None:
        rest = ast.Path(ast.Root(), tuple(steps))
        return StreamPlan((), "collect", rest=rest, spread=stream_steps(behind))
    planner.begin(StreamStage("each", changed))
    return planner.plan(behind)


class _Planner:
    """Planner of the steps of a path, one after the other.

    `row_is_root`: in the arguments of the steps ``$`` is the element. Otherwise they
    do not use ``$``.
    """

    def __init__(self, *, row_is_root: bool) -> None:
        self._row_is_root = row_is_root
        self._stages: list[Stage] = []
        self._local: list[ast.Step] = []

    def begin(self, stage: Stage) -> None:
        """Begin with a stage, over whose output the steps are planned."""
        self._stages.append(stage)

    def plan(self, steps: _Steps) -> StreamPlan:
        """Plan all steps."""
        for position, step in enumerate(steps):
            # All steps behind an Each apply to each element.
            is_last = isinstance(step, ast.Each) and step.body is None
            if any(map(mentions_root, steps[position:] if is_last else [step])):
                # ``$`` is the element only at the beginning of a stage.
                self._flush()
            if is_last:
                self._local += steps[position:]
                return self._finish("lines")
            if self._pass(step):
                continue
            reduced = self._reduce(step, steps[position + 1 :])
            return replace(reduced, offset=step.span.start)
        return self._finish("lines")

    def _pass(self, step: ast.Step) -> bool:  # noqa: C901, a table of kinds
        """Make a step a stage, if it handles one element at a time."""
        match step:
            case ast.InlineFilter() | ast.Each():
                self._local.append(step)
            case ast.Method() if step.name in ROW_LOCAL:
                self._local.append(step)
            case ast.Method("take" | "skip" | "drop", (ast.Arg(value),)) if (
                count := literal_count((value,))
            ) is not None:
                kind: Literal["take", "skip"] = (
                    "take" if step.name == "take" else "skip"
                )
                self._stage(StreamStage(kind, count=count))
            case ast.Slice(start, stop, None) if (start or 0) >= 0 and (stop or 0) >= 0:
                if stop is not None:
                    self._stage(StreamStage("take", count=stop))
                if start:
                    self._stage(StreamStage("skip", count=start))
            case ast.Method("unique" | "distinct", ()):
                self._stage(StreamStage("distinct", ast.Current()))
            case ast.Method("unique_by" | "distinct_by", (arg,)):
                self._stage(StreamStage("distinct", element_query(arg.value)))
            case ast.Method("take_while" | "takewhile", (arg,)):
                self._stage(StreamStage("take_while", element_query(arg.value)))
            case ast.Method("drop_while" | "dropwhile", (arg,)):
                self._stage(StreamStage("drop_while", element_query(arg.value)))
            case ast.Method() if is_join(step):
                call = join_call(step.name, step.args)
                if isinstance(call, str) or not is_closed(call.other):
                    return False
                self._stage(_join_stage(call))
            case ast.Method("zip_streams", (other, *options)) if is_closed(other.value):
                longest = longest_option(options)
                if longest is None:
                    return False
                self._stage(ZipStage(plan_source(other.value), longest))
            case _:
                return False
        return True

    def _stage(self, stage: Stage) -> None:
        self._flush()
        self._stages.append(stage)

    def _flush(self) -> None:
        """Make one stage of the steps that handle each element by itself."""
        if self._local:
            element = ast.ArrayLiteral((ast.Root(),))
            each = ast.Path(element, tuple(self._local))
            self._stages.append(StreamStage("each", each))
            self._local = []

    def _finish(self, reduction: Reduction) -> StreamPlan:
        self._flush()
        return StreamPlan(tuple(self._stages), reduction)

    def _collect(self, rest: _Steps) -> StreamPlan:
        plan = replace(self._finish("collect"), rest=self._rest(rest))
        return replace(plan, spread=stream_steps(rest))

    def _rest(self, steps: _Steps) -> ast.Node:
        # Behind rows(), ``$`` in the arguments is still the element.
        rows = (ast.Method("rows"),) if self._row_is_root else ()
        return ast.Path(ast.Root(), (*rows, *steps))

    def _reduce(self, step: ast.Step, rest: _Steps) -> StreamPlan:
        """Plan the first step that needs more than one element at a time."""
        if isinstance(step, ast.Index | ast.Slice) and (
            found := self._placed(step, rest)
        ):
            return found
        if isinstance(step, ast.Method):
            self._check_keys(step)
            plans = (
                self._bounded,
                self._counted,
                self._projected,
                self._indexed,
                self._grouped,
                self._grouped_by_text,
                self._of_numbers,
            )
            for plan in plans:
                if found := plan(step, rest):
                    return found
            return replace(
                self._collect([step, *rest]),
                prune=self._prune(step, rest),
                order=self._order(step, rest),
                group=group_of(step, rest),
            )
        return self._collect([step, *rest])

    def _check_keys(self, step: ast.Method) -> None:
        """Make a row whose keys cannot be computed fail by itself, before elements are collected."""
        if step.name not in _KEYED:
            return
        keys = [arg.value for arg in step.args if not compares_two(arg.value)]
        if len(keys) > 1 and step.name == "partition":
            # A condition behind one that does not hold is not computed.
            keys = [ast.And(tuple(keys))]
        for key in keys:
            checked = key_check(key)
            if checked is not None:
                self._local.append(ast.Method("filter", (ast.Arg(checked),)))

    def _placed(self, step: ast.Index | ast.Slice, rest: _Steps) -> StreamPlan | None:
        """Plan positions and slices, counted from the front or from the end."""
        match step:
            case ast.Index(index) if index >= 0:
                return self._nth(index, rest)
            case ast.Index(index):
                plan = self._collect([step, *rest])
                return replace(plan, reduction="last", limit=-index)
            case ast.Slice(int(start), None, None) if start < 0:
                plan = self._collect([step, *rest])
                return replace(plan, reduction="last", limit=-start)
            case _:
                return None

    def _nth(self, index: int, rest: _Steps) -> StreamPlan:
        self._stage(StreamStage("skip", count=index))
        return replace(self._collect([ast.Index(0), *rest]), limit=1)

    def _prune(self, step: ast.Method, rest: _Steps) -> Prune | None:
        """Plan what needs only the best elements, in some order."""
        arguments = _values(step)
        match step.name:
            case "sort" | "sort_by" if rest and not any(map(compares_two, arguments)):
                keep = count_taken(rest[0])
                return None if keep is None else Prune(*_sort_keys(arguments), keep)
            case "min_by" | "max_by" if len(arguments) == 1:
                key = element_query(arguments[0])
                return Prune((key,), (step.name == "max_by",), 1)
            case _:
                return None

    def _order(self, step: ast.Method, rest: _Steps) -> Order | None:
        """Plan a sort by keys, if all steps behind it handle each element by itself."""
        arguments = _values(step)
        if step.name not in ("sort", "sort_by") or any(map(compares_two, arguments)):
            return None
        if not are_elementwise(rest):
            return None
        then = _Planner(row_is_root=self._row_is_root).plan(rest).stages
        keys, falling = _sort_keys(arguments)
        return Order(ast.ArrayLiteral(keys), falling, then)

    def _bounded(self, step: ast.Method, rest: _Steps) -> StreamPlan | None:
        """Plan a step that needs only the first or the last n elements."""
        arguments = _values(step)
        count = literal_count(arguments)
        is_counted = count is not None
        match step.name:
            case "first" if is_counted:
                return replace(self._collect([step, *rest]), limit=count)
            case "last" if is_counted:
                plan = self._collect([step, *rest])
                return replace(plan, reduction="last", limit=count)
            case "nth" if count is not None and arguments:
                return self._nth(count, rest)
            case "find" | "find_first" if arguments:
                self._local.append(replace(step, name="filter"))
                first = ast.Method("first", span=step.span)
                return replace(self._collect([first, *rest]), limit=1)
            case "find_one" if arguments:
                self._local.append(replace(step, name="filter"))
                # A second element proves that there are too many.
                every = ast.Arg(ast.Literal(value=True))
                one = replace(step, args=(every,))
                return replace(self._collect([one, *rest]), limit=2)
            case "any" | "exists" if arguments:
                self._local.append(replace(step, name="filter"))
                return self._whether(ast.CompareOperator.GREATER, rest)
            case "all" if len(arguments) == 1:
                against = ast.Arg(negated(arguments[0]))
                self._local.append(replace(step, name="filter", args=(against,)))
                return self._whether(ast.CompareOperator.EQUAL, rest)
            case _:
                return None

    def _projected(self, step: ast.Method, rest: _Steps) -> StreamPlan | None:
        """Plan a step that uses one value of each element: only that is held."""
        arguments = _values(step)
        if step.name not in _OF_ONE_VALUE or len(arguments) != 1:
            return None
        self._local.append(replace(step, name="map"))
        # Behind an object, ``$`` would be that.
        if step.name == "count_by" and not any(map(mentions_root, rest)):
            return self._of_entries("count_by", rest)
        whole = replace(step, args=(ast.Arg(ast.Current()),))
        return self._collect([whole, *rest])

    def _indexed(self, step: ast.Method, rest: _Steps) -> StreamPlan | None:
        """Plan `index_by` and `pivot`: only the last element of each key is held."""
        if any(map(mentions_root, rest)):
            return None
        match step.name, step.args:
            case "index_by", (key,):
                reduction: Reduction = "index_by"
                elements = last_elements((key,), ast.Arg(ast.Current()))
            case "pivot", (*keys, value) if all(map(is_total_field, step.args)):
                reduction = "pivot" if len(keys) == 1 else "pivot_cells"
                elements = last_elements(keys, value)
            case _:
                return None
        if elements is None:
            return None
        self._local.append(ast.Method("map", (ast.Arg(elements),), span=step.span))
        return self._of_entries(reduction, rest)

    def _of_entries(self, reduction: Reduction, rest: _Steps) -> StreamPlan:
        """Plan a reduction to an object with an entry for each key."""
        further = ast.Path(ast.Root(), tuple(rest)) if rest else None
        spread = bool(rest) and stream_steps(rest)
        plan = replace(self._finish(reduction), rest=further, spread=spread)
        merged = None if reduction == "pivot_cells" else _merged_entries((), rest)
        return replace(plan, merged=merged)

    def _grouped(self, step: ast.Method, rest: _Steps) -> StreamPlan | None:
        """Plan `group` and `aggregate`: each group is held as its keys and its slots."""
        if step.name not in ("group", "aggregate") or any(map(mentions_root, rest)):
            return None
        meant = grouping_of(step.name, step.args, step)
        cut = slots_of(meant) if isinstance(meant, Grouping) else None
        if not isinstance(meant, Grouping) or cut is None:
            return None
        slots, row = cut
        rows: list[ast.Step] = [ast.Method("map", (ast.Arg(row),))]
        if step.name == "aggregate":
            rows.append(ast.Index(0))
        reduction: Reduction = "group" if step.name == "group" else "aggregate"
        plan = self._in_slots(reduction, step, meant, slots, [*rows, *rest])
        merged = None
        if reduction == "group":
            merged = _merged(_Planner(row_is_root=False), [*rows, *rest])
        return replace(plan, spread=stream_steps([step, *rest]), merged=merged)

    def _grouped_by_text(self, step: ast.Method, rest: _Steps) -> StreamPlan | None:
        """Plan `group_by` and `group_shape` with what becomes of each group, held as its slots."""
        if step.name not in ("group_by", "group_shape"):
            return None
        groups = named_groups(step, rest)
        if groups is None:
            return None
        keys = Grouping((("key", groups.key),), ast.ObjectLiteral(()))
        pairs = ast.Method("map", (ast.Arg(groups.pair),), span=step.span)
        steps = [pairs, ast.Method("from_pairs"), *groups.rest]
        plan = self._in_slots("group_by", step, keys, groups.slots, steps)
        merged = _merged_entries((pairs,), groups.rest)
        return replace(plan, spread=stream_steps([step, *rest]), merged=merged)

    def _of_numbers(self, step: ast.Method, rest: _Steps) -> StreamPlan | None:
        """Plan a statistic, which needs all numbers and nothing else of the elements."""
        if step.name not in OF_NUMBERS or any(map(mentions_root, rest)):
            return None
        cut = slots_of_numbers(step)
        if cut is None:
            return None
        slot, statistic = cut
        steps = [ast.Index(0), ast.Index(1), ast.Index(0), statistic, *rest]
        no_keys = Grouping((), ast.ObjectLiteral(()))
        plan = self._in_slots("aggregate", step, no_keys, [slot], steps)
        return replace(plan, spread=bool(rest) and stream_steps(rest))

    def _in_slots(
        self,
        reduction: Reduction,
        step: ast.Method,
        keys: Grouping,
        slots: Sequence[Slot],
        rest: _Steps,
    ) -> StreamPlan:
        """Plan a reduction to groups, and the steps that make the answer of their slots."""
        taken = ast.Arg(elements_of(keys, slots))
        self._local.append(ast.Method("map", (taken,), span=step.span))
        plan = replace(
            self._finish(reduction), slots=tuple(each.shape for each in slots)
        )
        return replace(plan, rest=ast.Path(ast.Root(), tuple(rest), span=step.span))

    def _counted(self, step: ast.Method, rest: _Steps) -> StreamPlan | None:
        """Plan a total of all elements."""
        arguments = _values(step)
        further = ast.Path(ast.Root(), tuple(rest)) if rest else None
        if step.name == "count" or (step.name == "len" and not arguments):
            if arguments:
                self._local.append(replace(step, name="filter"))
            return replace(self._finish("count"), rest=further)
        reduction = _NUMBERS.get(step.name)
        if reduction is None or len(arguments) > 1:
            return None
        if arguments:
            self._local.append(replace(step, name="map"))
        return replace(self._finish(reduction), rest=further)

    def _whether(self, operator: ast.CompareOperator, rest: _Steps) -> StreamPlan:
        """Plan a test whether any element, or no element, is left; one element decides."""
        length = ast.Path(ast.Root(), (ast.Method("len"),))
        test: ast.Node = ast.Compare(operator, length, ast.Literal(0))
        if rest:
            test = ast.Path(test, tuple(rest))
        return replace(self._finish("collect"), limit=1, rest=test)


def _merged_entries(
    steps: Sequence[ast.Step], rest: Sequence[ast.Step]
) -> MergedGroups | None:
    """Plan the steps behind an object of groups, whose entries `steps` make."""
    cut = steps_of_entry(rest)
    if cut is None:
        return None
    of_entry, behind = cut
    made: ast.Node = ast.Path(
        ast.ArrayLiteral((ast.Root(),)), (*steps, ast.Method("from_pairs"), *of_entry)
    )
    if behind is None:
        each = StreamStage("each", ast.ArrayLiteral((made,)))
        return MergedGroups(StreamPlan((each,), "lines"), "object")
    planner = _Planner(row_is_root=False)
    planner.begin(StreamStage("each", made))
    return _merged(planner, behind)


def _merged(planner: _Planner, steps: _Steps) -> MergedGroups | None:
    """Plan steps over merged groups; None if they need further sources.

    A position is taken of all elements before it, whether these are needed or not: an element
    behind it may fail.
    """
    places = [isinstance(step, ast.Index | ast.Slice) for step in steps]
    end = places.index(True) if True in places else len(steps)
    plan = planner.plan(steps[:end])
    if plan.reduction == "lines" and end < len(steps):
        rest = ast.Path(ast.Root(), tuple(steps[end:]))
        plan = replace(plan, reduction="collect", rest=rest)
    elif end < len(steps):
        return None
    plain = all(isinstance(stage, StreamStage) for stage in plan.stages)
    return MergedGroups(plan, "elements") if plain else None


def _values(step: ast.Method) -> tuple[ast.Node, ...]:
    return tuple(arg.value for arg in step.args)


def _sort_keys(
    arguments: Sequence[ast.Node],
) -> tuple[tuple[ast.Node, ...], tuple[bool, ...]]:
    """Return the keys of a sort, and which of them fall."""
    # An element is its own key if there are none.
    keys = [sort_key(argument) for argument in arguments] or [(ast.Current(), False)]
    return tuple(key for key, _ in keys), tuple(falls for _, falls in keys)


def _join_stage(call: JoinCall) -> JoinStage:
    key, right_key = element_query(call.on), element_query(call.right_on)
    return JoinStage(call.kind, key, plan_source(call.other), right_key, call.name)
