"""Planning a query over the stream of all rows.

The query is cut in three. The first part is done element by element, beginning
with the rows: these are its *stages*. What comes out of them is *reduced* to
something that does not grow with the number of rows, wherever the query allows
that. The *rest* of the query is asked of the result. Any cut is right; a good one
holds less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from headrace.language import ast, traversal
from headrace.logical.encode.joins import is_join, join_call
from headrace.logical.encode.writes import first_write, is_chain
from headrace.logical.grouping import (
    OF_NUMBERS,
    Grouping,
    elements_of,
    grouping_of,
    slots_of,
    slots_of_numbers,
)
from headrace.logical.named_sources import begins_with_rows, is_closed, lifted
from headrace.logical.names.inlining import simplified
from headrace.logical.names.row_scope import checked
from headrace.logical.names.visibility import is_rows
from headrace.logical.normal_form import one_path
from headrace.logical.shape import ROW_LOCAL, gives_elements, stream_steps
from headrace.logical.totality import cannot_fail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.logical.encode.joins import JoinCall, JoinKind
    from headrace.logical.grouping import SlotKind

Reduction: TypeAlias = Literal[
    "lines", "collect", "last", "last_from_end", "count", "count_by", "sum", "avg", "min", "max",
    "group", "aggregate",
]  # fmt: skip
"""What becomes of the elements: each a line of output, an array, a number, an object with
how many there are of each, or an array of groups, each an array of its keys and one of its slots
(`headrace.logical.grouping`); of an `aggregate` there is one group, whether there are elements or not.

``last_from_end`` is ``last`` for rows that come from the last to the first.
"""

_NUMBERS: dict[str, Reduction] = {
    "sum": "sum",
    "avg": "avg",
    "min": "min",
    "max": "max",
}
_KEYED = frozenset(
    {"group_by", "index_by", "max_by", "min_by", "partition", "sort", "sort_by"}
)
_OF_ENTRIES = ("entries", "keys", "to_pairs", "values")
_OF_ONE_VALUE = frozenset({
    "approx_count_distinct", "approx_distinct", "count_by", "count_distinct", "mode", "nunique",
})  # fmt: skip


_MAIN = ast.Source("$")
"""The main source, where it stands beside named ones."""


@dataclass(frozen=True, slots=True)
class StreamStage:
    """What happens to each element; `program` is asked of it, as its document."""

    kind: Literal["each", "distinct", "take", "skip", "take_while", "drop_while"]
    program: ast.Node | None = None
    count: int = 0


@dataclass(frozen=True, slots=True)
class JoinStage:
    """Elements joined with those of another stream; the keys are asked of each as it is."""

    kind: JoinKind
    key: ast.Node
    right: StreamPlan
    right_key: ast.Node
    name: str | None


@dataclass(frozen=True, slots=True)
class ZipStage:
    """Each element with the one at the same place of another stream."""

    right: StreamPlan
    longest: bool


Stage: TypeAlias = StreamStage | JoinStage | ZipStage


@dataclass(frozen=True, slots=True)
class Prune:
    """What leaves the `keep` best of the elements collected so far.

    Asked of them, and then of what it left and all that came later, it gives what it
    would give of all at once.
    """

    program: ast.Node
    keep: int


@dataclass(frozen=True, slots=True)
class Order:
    """Elements by their keys, those of the same keys as they come, and what each becomes then.

    `key` is asked of each element, as its document, and gives an array of all keys; of these
    some are `falling`. `then` has stages that are about each element by itself.
    """

    key: ast.Node
    falling: tuple[bool, ...]
    then: tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Elements by the names of their groups, and what each group becomes by itself.

    `key` is asked of each element, as its document, and gives the name; `check` is asked of
    arrays of elements with one name, and fails if their keys are of two kinds. With `last`, a
    group is its last element. `each` is asked of an object that has one group and no other, None
    if that is all; what it ``gives`` is put together to one object, or to elements, of
    which `rest` is asked, None if they are the lines of output.
    """

    key: ast.Node
    check: ast.Node
    last: bool
    each: ast.Node | None
    gives: Literal["object", "elements"]
    rest: ast.Node | None


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """A query over all rows of `source`, or of the main one.

    `limit` is how many elements are needed. With `prune`, those that cannot be part of
    the answer are not held. `rest` is asked of what the reduction
    gives, None if that is the answer. `order` says the same as `rest`, if that is a sort by
    keys, `group` if it begins with groups. `slots` are those of the reductions to groups.
    `spread`: the answer is an array whose elements are lines of output. `reverse`: rows come from the last to the first.
    """

    stages: tuple[Stage, ...]
    reduction: Reduction
    source: str | None = None
    limit: int | None = None
    rest: ast.Node | None = None
    spread: bool = False
    reverse: bool = False
    prune: Prune | None = None
    order: Order | None = None
    group: Group | None = None
    slots: tuple[SlotKind, ...] = ()


@dataclass(frozen=True, slots=True)
class ValuePlan:
    """A query about nothing but answers of sources, the main one among them.

    `spread`: the answer is an array whose elements are lines of output.
    """

    tree: ast.Node
    spread: bool


def plan_stream(
    tree: ast.Node, *, whole: bool, query: str = ""
) -> StreamPlan | ValuePlan | None:
    """Plan a query over all rows; None if it is about each row by itself.

    `whole`: ``$`` is the array of all rows. Otherwise only a query with
    ``$.rows()`` is about the stream. `query` is its text, for errors.
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
        changed = replace(tree, base=_MAIN)
        if isinstance(tree.base, ast.Root) and is_closed(changed):
            return plan_source(changed)
    named = _main_by_name(tree, whole=whole)
    roots = sum(node == _MAIN for node in traversal.walk(named))
    # A source that is asked twice, once for the other question, is read twice.
    if roots <= 1 and (is_closed(named) or _is_about_rows(named)):
        return plan_source(named)
    if _is_asked_beforehand(named):
        return ValuePlan(named, spread=False)
    return StreamPlan((), "collect", rest=tree)


def _main_by_name(tree: ast.Node, *, whole: bool) -> ast.Node:
    """Return a query in which the main source is a source like others."""

    def by_name(node: ast.Node) -> ast.Node:
        match node:
            case ast.Path() if is_chain(node):
                # Of the document as a whole.
                return node
            case ast.Path(ast.Root() as root, steps) if begins_with_rows(steps):
                # In its steps, ``$`` is the row.
                return ast.Path(replace(_MAIN, span=root.span), steps, span=node.span)
            case ast.Root() if whole:
                return replace(_MAIN, span=node.span)
            case _:
                return traversal.rebuilt(node, by_name)

    return by_name(tree)


def _is_asked_beforehand(named: ast.Node) -> bool:
    """Whether nothing is left of a query once its questions to sources are answered.

    Those to the main source must not need each other: it is read once for all. Nor may one
    fail where ``try`` would go on.
    """
    rest, questions = lifted(named)
    to_main = [tree for tree in questions.values() if _source_of(tree) == _MAIN]
    # The main source is read once for all, when those to others have been answered.
    alone = all(
        sum(node == _MAIN for node in traversal.walk(tree)) == (tree in to_main)
        for tree in questions.values()
    )
    orders = {plan_source(tree).reverse for tree in to_main}
    return (
        alone
        and len(orders) == 1
        and not any(isinstance(node, ast.Root) for node in traversal.walk(rest))
        and not any(map(_may_go_on, traversal.walk(named)))
    )


def _may_go_on(node: ast.Node) -> bool:
    """Whether an expression goes on where a question to the main source fails.

    One behind ``else`` must not fail either where its ``try`` never needs it.
    """
    return isinstance(node, ast.Try) and any(
        part == _MAIN for part in traversal.walk(node)
    )


def _is_about_rows(named: ast.Node) -> bool:
    """Whether a query is one path over the rows: nothing stands around it."""
    return (
        isinstance(named, ast.Path)
        and named.base == _MAIN
        and begins_with_rows(named.steps)
    )


def _source_of(tree: ast.Node) -> ast.Node:
    return tree.base if isinstance(tree, ast.Path) else tree


def plan_source(tree: ast.Node) -> StreamPlan:
    """Plan a query that `is_closed`: about a source and nothing else."""
    match tree:
        case ast.Source(name):
            return StreamPlan((), "lines", source=None if tree == _MAIN else name)
        case ast.Path(ast.Source() as source, steps) if begins_with_rows(steps):
            reverse = len(steps) > 1 and _is_call(steps[1], "reverse")
            plan = _Planner(row_is_root=True).plan(steps[1 + reverse :])
            return replace(plan, source=plan_source(source).source, reverse=reverse)
        case ast.Path(ast.Source() as source, steps):
            plan = _plan_steps(steps)
            return replace(plan, source=plan_source(source).source)
        case _:
            raise AssertionError(tree)


def _plan_steps(steps: Sequence[ast.Step]) -> StreamPlan:
    """Plan steps over the array of all rows, of which the first may be a write."""
    planner = _Planner(row_is_root=False)
    if (found := first_write(steps)) is None:
        return planner.plan(steps)
    path, write = found
    behind = steps[len(path) + 1 :]
    changed = _changed_row(path, write)
    if changed is None or first_write(behind) is not None:
        rest = ast.Path(ast.Root(), tuple(steps))
        return StreamPlan((), "collect", rest=rest, spread=stream_steps(behind))
    return planner.plan_behind(StreamStage("each", changed), behind)


def _changed_row(path: Sequence[ast.Step], write: ast.Method) -> ast.Node | None:
    """Return the array of what becomes of a row, if a write changes each row by itself."""
    if any(map(_mentions_root, (*path, write))):
        return None
    test: ast.Node | None = None
    match path:
        case (ast.Each(test, None), *inner):
            pass
        case (ast.Descend(), *_):
            inner = list(path)
        case _:
            return None
    if write.name == "delete" and not inner:
        other = ast.Not(ast.Literal(value=True) if test is None else test)
        kept = ast.Method("filter", (ast.Arg(other),))
        return ast.Path(ast.ArrayLiteral((ast.Root(),)), (kept,))
    changed: ast.Node = ast.Path(ast.Root(), (*inner, write), span=write.span)
    if test is not None:
        changed = ast.Conditional(test, changed, ast.Root())
    return ast.ArrayLiteral((changed,))


def _is_call(step: ast.Step, name: str) -> bool:
    return isinstance(step, ast.Method) and step.name == name and not step.args


class _Planner:
    """Takes steps over the rows one by one.

    `row_is_root`: in the arguments of the steps ``$`` is the element. Otherwise they
    do not mention it.
    """

    def __init__(self, *, row_is_root: bool) -> None:
        self._row_is_root = row_is_root
        self._stages: list[Stage] = []
        self._local: list[ast.Step] = []

    def plan_behind(self, stage: Stage, steps: Sequence[ast.Step]) -> StreamPlan:
        """Plan all steps, over what a stage gives."""
        self._stages.append(stage)
        return self.plan(steps)

    def plan(self, steps: Sequence[ast.Step]) -> StreamPlan:
        """Plan all steps."""
        for position, step in enumerate(steps):
            # All that follows an Each is about each element.
            is_last = isinstance(step, ast.Each) and step.body is None
            if any(map(_mentions_root, steps[position:] if is_last else [step])):
                # Only at the beginning of a stage is ``$`` the element.
                self._flush()
            if is_last:
                self._local += steps[position:]
                return self._lines()
            if self._pass(step):
                continue
            return self._reduce(step, steps[position + 1 :])
        return self._lines()

    def _pass(self, step: ast.Step) -> bool:  # noqa: C901, a table of kinds
        """Make a step a stage, if it can be done element by element."""
        match step:
            case ast.InlineFilter() | ast.Each():
                self._local.append(step)
            case ast.Method() if step.name in ROW_LOCAL:
                self._local.append(step)
            case ast.Method(
                "take" | "skip" | "drop", (ast.Arg(ast.Literal(int(count))),)
            ):
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
                self._stage(StreamStage("distinct", _about_element(arg.value)))
            case ast.Method("take_while" | "takewhile", (arg,)):
                self._stage(StreamStage("take_while", _about_element(arg.value)))
            case ast.Method("drop_while" | "dropwhile", (arg,)):
                self._stage(StreamStage("drop_while", _about_element(arg.value)))
            case ast.Method() if is_join(step):
                call = join_call(step.name, step.args)
                if isinstance(call, str) or not is_closed(call.other):
                    return False
                self._stage(_join_stage(call))
            case ast.Method("zip_streams", (other, *options)) if is_closed(other.value):
                longest = _is_longest(options)
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
        """Make one stage of the steps that are about each element by itself."""
        if self._local:
            element = ast.ArrayLiteral((ast.Root(),))
            each = ast.Path(element, tuple(self._local))
            self._stages.append(StreamStage("each", each))
            self._local = []

    def _finish(self, reduction: Reduction) -> StreamPlan:
        self._flush()
        return StreamPlan(tuple(self._stages), reduction)

    def _lines(self) -> StreamPlan:
        return self._finish("lines")

    def _collect(self, rest: Sequence[ast.Step]) -> StreamPlan:
        plan = replace(self._finish("collect"), rest=self._rest(rest))
        return replace(plan, spread=stream_steps(rest))

    def _rest(self, steps: Sequence[ast.Step]) -> ast.Node:
        # Behind rows(), ``$`` in the arguments still is the element.
        rows = (ast.Method("rows"),) if self._row_is_root else ()
        return ast.Path(ast.Root(), (*rows, *steps))

    def _reduce(self, step: ast.Step, rest: Sequence[ast.Step]) -> StreamPlan:
        """Plan the first step that needs more than one element at a time."""
        if isinstance(step, ast.Index | ast.Slice) and (
            found := self._placed(step, rest)
        ):
            return found
        if isinstance(step, ast.Method):
            self._check_keys(step)
            arguments = tuple(arg.value for arg in step.args)
            plans = (
                self._bounded,
                self._counted,
                self._projected,
                self._grouped,
                self._of_numbers,
            )
            for plan in plans:
                if found := plan(step, arguments, rest):
                    return found
            return replace(
                self._collect([step, *rest]),
                prune=self._prune(step, arguments, rest),
                order=self._order(step, rest),
                group=_group(step, rest),
            )
        return self._collect([step, *rest])

    def _check_keys(self, step: ast.Method) -> None:
        """Let a row whose keys cannot be computed fail by itself, before all are held."""
        if step.name not in _KEYED:
            return
        keys = [arg.value for arg in step.args if not _compares(arg.value)]
        if len(keys) > 1 and step.name == "partition":
            # What is behind a condition that does not hold is not computed.
            keys = [ast.And(tuple(keys))]
        for key in keys:
            checked = _computable(key)
            if checked is not None:
                self._local.append(ast.Method("filter", (ast.Arg(checked),)))

    def _placed(
        self, step: ast.Index | ast.Slice, rest: Sequence[ast.Step]
    ) -> StreamPlan | None:
        """Plan elements by their places, counted from the front or from the end."""
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

    def _nth(self, index: int, rest: Sequence[ast.Step]) -> StreamPlan:
        self._stage(StreamStage("skip", count=index))
        return replace(self._collect([ast.Index(0), *rest]), limit=1)

    def _prune(
        self,
        step: ast.Method,
        arguments: tuple[ast.Node, ...],
        rest: Sequence[ast.Step],
    ) -> Prune | None:
        """Plan what needs only the best elements, in some order."""
        match step.name:
            case "sort" | "sort_by" if rest and not any(map(_compares, arguments)):
                keep = _count_taken(rest[0])
                if keep is None:
                    return None
                take = ast.Method("take", (ast.Arg(ast.Literal(keep)),))
                return Prune(self._rest([step, take]), keep)
            case "min_by" | "max_by":
                return Prune(ast.ArrayLiteral((self._rest([step]),)), 1)
            case _:
                return None

    def _order(self, step: ast.Method, rest: Sequence[ast.Step]) -> Order | None:
        """Plan a sort by keys, behind which all is about each element."""
        arguments = [arg.value for arg in step.args]
        if step.name not in ("sort", "sort_by") or any(map(_compares, arguments)):
            return None
        if not _are_about_each(rest):
            return None
        then = _Planner(row_is_root=self._row_is_root).plan(rest).stages
        keys = [_sort_key(argument) for argument in arguments]
        # An element is its own key if there are none.
        keys = keys or [(ast.Current(), False)]
        together = ast.ArrayLiteral(tuple(key for key, _ in keys))
        return Order(together, tuple(falls for _, falls in keys), then)

    def _bounded(
        self,
        step: ast.Method,
        arguments: tuple[ast.Node, ...],
        rest: Sequence[ast.Step],
    ) -> StreamPlan | None:
        """Plan what needs only the first, or the last, so many elements."""
        count = _literal_count(arguments)
        is_counted = count is not None
        match step.name:
            case "first" if is_counted:
                return replace(self._collect([step, *rest]), limit=count)
            case "last" if is_counted:
                plan = self._collect([step, *rest])
                return replace(plan, reduction="last", limit=count)
            case "nth" if is_counted and count is not None and arguments and count >= 0:
                return self._nth(count, rest)
            case "find" | "find_first" if arguments:
                self._local.append(replace(step, name="filter"))
                first = ast.Method("first", span=step.span)
                return replace(self._collect([first, *rest]), limit=1)
            case "find_one" if arguments:
                self._local.append(replace(step, name="filter"))
                # One more than there may be proves that there are too many.
                every = ast.Arg(ast.Literal(value=True))
                one = replace(step, args=(every,))
                return replace(self._collect([one, *rest]), limit=2)
            case "any" | "exists" if arguments:
                self._local.append(replace(step, name="filter"))
                return self._whether(ast.CompareOperator.GREATER, rest)
            case "all" if len(arguments) == 1:
                against = ast.Arg(_negated(arguments[0]))
                self._local.append(replace(step, name="filter", args=(against,)))
                return self._whether(ast.CompareOperator.EQUAL, rest)
            case _:
                return None

    def _projected(
        self,
        step: ast.Method,
        arguments: tuple[ast.Node, ...],
        rest: Sequence[ast.Step],
    ) -> StreamPlan | None:
        """Plan what is about one value of each element: only that is held."""
        if step.name not in _OF_ONE_VALUE or len(arguments) != 1:
            return None
        self._local.append(replace(step, name="map"))
        # Behind an object, ``$`` would be that.
        if step.name == "count_by" and not any(map(_mentions_root, rest)):
            further = ast.Path(ast.Root(), tuple(rest)) if rest else None
            spread = bool(rest) and stream_steps(rest)
            return replace(self._finish("count_by"), rest=further, spread=spread)
        whole = replace(step, args=(ast.Arg(ast.Current()),))
        return self._collect([whole, *rest])

    def _grouped(
        self,
        step: ast.Method,
        _arguments: tuple[ast.Node, ...],
        rest: Sequence[ast.Step],
    ) -> StreamPlan | None:
        """Plan groups that become rows, each held as its keys and its slots."""
        if step.name not in ("group", "aggregate") or any(map(_mentions_root, rest)):
            return None
        meant = grouping_of(step.name, step.args, step)
        cut = slots_of(meant) if isinstance(meant, Grouping) else None
        if not isinstance(meant, Grouping) or cut is None:
            return None
        slots, row = cut
        taken = ast.Arg(elements_of(meant, slots))
        self._local.append(ast.Method("map", (taken,), span=step.span))
        reduction: Reduction = "group" if step.name == "group" else "aggregate"
        rows: tuple[ast.Step, ...] = (ast.Method("map", (ast.Arg(row),)),)
        if reduction == "aggregate":
            rows = (*rows, ast.Index(0))
        return replace(
            self._finish(reduction),
            rest=ast.Path(ast.Root(), (*rows, *rest), span=step.span),
            spread=stream_steps([step, *rest]),
            slots=tuple(slot.kind for slot in slots),
        )

    def _of_numbers(
        self,
        step: ast.Method,
        _arguments: tuple[ast.Node, ...],
        rest: Sequence[ast.Step],
    ) -> StreamPlan | None:
        """Plan what needs all numbers at once, and nothing else."""
        if step.name not in OF_NUMBERS or any(map(_mentions_root, rest)):
            return None
        cut = slots_of_numbers(step)
        if cut is None:
            return None
        slot, asked = cut
        taken = ast.Arg(elements_of(Grouping((), ast.ObjectLiteral(())), [slot]))
        self._local.append(ast.Method("map", (taken,), span=step.span))
        of_group = (ast.Index(0), ast.Index(1), ast.Index(0))
        return replace(
            self._finish("aggregate"),
            rest=ast.Path(ast.Root(), (*of_group, asked, *rest), span=step.span),
            spread=bool(rest) and stream_steps(rest),
            slots=(slot.kind,),
        )

    def _counted(
        self,
        step: ast.Method,
        arguments: tuple[ast.Node, ...],
        rest: Sequence[ast.Step],
    ) -> StreamPlan | None:
        """Plan what makes one number of all elements."""
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

    def _whether(
        self, operator: ast.CompareOperator, rest: Sequence[ast.Step]
    ) -> StreamPlan:
        """Plan whether elements are left, more than none or just none, asked of at most one."""
        length = ast.Path(ast.Root(), (ast.Method("len"),))
        test: ast.Node = ast.Compare(operator, length, ast.Literal(0))
        if rest:
            test = ast.Path(test, tuple(rest))
        return replace(self._finish("collect"), limit=1, rest=test)


def _computable(key: ast.Node) -> ast.Node | None:
    """Return what is true of an element, and fails where its key does; None if none can."""
    if isinstance(key, ast.Lambda):
        body = _computable(key.body)
        return None if body is None else replace(key, body=body)
    value = key.operand if isinstance(key, ast.Negate) else key
    if cannot_fail(value):
        return None
    return ast.IsKind(ast.ArrayLiteral((value,)), ast.Kind.ARRAY, span=key.span)


def _group(step: ast.Method, rest: Sequence[ast.Step]) -> Group | None:
    """Plan groups, of which each becomes something by itself."""
    if step.name not in ("group_by", "index_by") or len(step.args) != 1:
        return None
    if any(map(_mentions_root, rest)):
        return None
    behind = 0
    while behind < len(rest) and _is_about_values(rest[behind]):
        behind += 1
    gives: Literal["object", "elements"] = "object"
    if behind < len(rest):
        if not any(_is_call(rest[behind], name) for name in _OF_ENTRIES):
            return None
        gives, behind = "elements", _end_of_each(rest, behind + 1)
    each = ast.Path(ast.Root(), tuple(rest[:behind])) if behind else None
    left: ast.Node | None = None
    if rest[behind:]:
        left = ast.Path(ast.Root(), tuple(rest[behind:]))
    elif gives == "elements" and not stream_steps(rest):
        left = ast.Root()
    # As the builtin itself makes names of keys.
    name = (ast.Method("group_by", (ast.Arg(ast.Current()),)), ast.Method("keys"))
    key = ast.ArrayLiteral((_about_element(step.args[0].value),))
    path = ast.Path(key, (*name, ast.Index(0)))
    check = ast.Path(ast.Root(), (ast.Method("rows"), step))
    return Group(path, check, step.name == "index_by", each, gives, left)


def _is_about_values(step: ast.Step) -> bool:
    """Whether a step makes an object of an object, each value by itself."""
    return isinstance(step, ast.Method) and step.name == "transform_values"


def _end_of_each(steps: Sequence[ast.Step], start: int) -> int:
    """Return where the steps end, from `start` on, that are about each element by itself."""
    if _are_about_each(steps[start:]):
        return len(steps)
    while _are_about_each(steps[start : start + 1]) and not (
        isinstance(steps[start], ast.Each)
    ):
        start += 1
    return start


def _negated(argument: ast.Node) -> ast.Node:
    if isinstance(argument, ast.Lambda):
        return replace(argument, body=ast.Not(argument.body))
    return ast.Not(argument)


def _literal_count(arguments: tuple[ast.Node, ...]) -> int | None:
    """Return how many elements were asked for; one if nothing was said."""
    match arguments:
        case ():
            return 1
        case (ast.Literal(value=int(count)),):
            return count
        case _:
            return None


def _count_taken(step: ast.Step) -> int | None:
    """Return how many elements a step takes from the front, if that is all it does."""
    if not isinstance(step, ast.Method) or step.name not in ("take", "first"):
        return None
    if step.name == "take" and not step.args:
        return None
    count = _literal_count(tuple(arg.value for arg in step.args))
    return count if count is not None and count >= 0 else None


def _compares(argument: ast.Node) -> bool:
    """Whether an argument of a sort compares two elements, and may contradict itself."""
    return isinstance(argument, ast.Lambda) and len(argument.params) > 1


def _are_about_each(steps: Sequence[ast.Step]) -> bool:
    """Whether steps are all about each element by itself."""
    for step in steps:
        match step:
            case ast.Each(body=None):
                return True
            case ast.InlineFilter() | ast.Each():
                pass
            case ast.Method(name) if name in ROW_LOCAL:
                pass
            case _:
                return False
    return True


def _sort_key(argument: ast.Node) -> tuple[ast.Node, bool]:
    """Return the key that an argument of a sort is, and whether large ones come first."""
    body = argument.body if isinstance(argument, ast.Lambda) else argument
    descending = isinstance(body, ast.Negate)
    if isinstance(body, ast.Negate):
        body = body.operand
    if isinstance(argument, ast.Lambda):
        body = replace(argument, body=body)
    return _about_element(body), descending


def _about_element(argument: ast.Node) -> ast.Node:
    """Return an argument as a query about the element."""
    if not isinstance(argument, ast.Lambda) or len(argument.params) != 1:
        return argument
    (param,) = argument.params
    return ast.Let((ast.Binding(param, ast.Root()),), argument.body)


def _join_stage(call: JoinCall) -> JoinStage:
    key, right_key = _about_element(call.on), _about_element(call.right_on)
    return JoinStage(call.kind, key, plan_source(call.other), right_key, call.name)


def _is_longest(options: Sequence[ast.Arg]) -> bool | None:
    """Return what ``longest:`` says; None if that is not known beforehand."""
    match options:
        case []:
            return False
        case [ast.Arg(ast.Literal(bool(longest)), "longest")]:
            return longest
        case _:
            return None


def _mentions_root(step: ast.Step) -> bool:
    return any(isinstance(node, ast.Root) for node in traversal.walk(step))
