"""Lowering: stages become steps of the engine over rows, and keys of rows."""

import json
from collections.abc import Iterator, Mapping, Sequence

from headrace.engines.rows import row_steps
from headrace.engines.rows.row_steps import (
    Check,
    Condition,
    QueryStep,
    Step,
    row_by_row,
)
from headrace.errors import UsageError
from headrace.language.unparse import unparse
from headrace.logical.resolution import read_query
from headrace.logical.stream_plan import JoinStage, StreamPlan
from headrace.logical.stream_planner import plan_stream
from headrace.physical import query_plan
from headrace.physical.query_plan import JoinPlan, row_program
from headrace.pipeline.spec import (
    TYPES,
    Dedupe,
    Divide,
    Join,
    Mover,
    Sort,
    Stage,
    Transform,
    Validate,
    texts,
)
from headrace.store.files.source import Source
from headrace.store.files.units import parse_size

_DATE = r"^\d{4}-\d{2}-\d{2}$"
_TIMESTAMP = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?$"

_TESTS = {
    "string": '{0}.type() == "string"',
    "number": '{0}.type() == "number"',
    "integer": '({0}.type() == "number" and {0} == {0}.floor())',
    "boolean": '{0}.type() == "bool"',
    "array": '{0}.type() == "array"',
    "object": '{0}.type() == "object"',
    "date": f'({{0}}.type() == "string" and {{0}}.re_match({json.dumps(_DATE)}))',
    "timestamp": f'({{0}}.type() == "string" and {{0}}.re_match({json.dumps(_TIMESTAMP)}))',
}
assert tuple(_TESTS) == TYPES


def step_of(
    stage: Stage | Divide, name: str, named: Mapping[str, Sequence[Source]]
) -> Step:
    """Lower a row-local stage to a step of the engine."""
    match stage:
        case Validate():
            limit = None if stage.max_bytes is None else parse_size(stage.max_bytes)
            return Check(name, tuple(_conditions(stage)), limit)
        case Transform(query=query):
            return _query_step(name, query, named)
        case Join():
            return _query_step(name, join_query(stage), named)
        case Divide(partition_by=path):
            return row_steps.Divide(name, path)
        case _:
            raise AssertionError(f"{name} needs more than the row")


def join_query(stage: Join) -> str:
    """Return the query of a join stage.

    >>> join_query(Join("users", "user == id", as_="who"))
    '$.rows().left_join(@users, on: user == id, as: "who")'
    """
    under = "" if stage.as_ is None else f", as: {json.dumps(stage.as_)}"
    return f"$.rows().{stage.how}(@{stage.with_}, on: {stage.on}{under})"


def join_plan(stage: Join) -> JoinPlan:
    """Lower a join stage to a `JoinPlan`."""
    main = row_by_row(join_query(stage)).main
    if isinstance(main, query_plan.StreamPlan) and len(main.stages) == 1:
        (plan,) = main.stages
        if isinstance(plan, JoinPlan):
            return plan
    raise UsageError(f"on is {stage.on!r}; must be a key, or `left == right`")


def key_query(keys: str | Sequence[str]) -> str:
    """Return the row query of a key.

    >>> key_query("id"), key_query(["day", "id"])
    ('id', '[day, id]')
    """
    several = texts(keys)
    if not several:
        raise UsageError("a key is missing")
    return several[0] if len(several) == 1 else f"[{', '.join(several)}]"


def mover_keys(stage: Mover) -> tuple[str, ...]:
    """Return the row queries of the keys by which rows are moved.

    >>> mover_keys(Join("users", "user.id == id", shuffle=True))
    ('user.id',)
    """
    match stage:
        case Dedupe(key=key):
            return texts(key)
        case Sort(by=by):
            return texts(by)
        case Join():
            plan = plan_stream(read_query(join_query(stage)), whole=False)
            assert isinstance(plan, StreamPlan)
            (joined,) = plan.stages
            assert isinstance(joined, JoinStage)
            return (unparse(joined.key),)


def _query_step(
    name: str, query: str, named: Mapping[str, Sequence[Source]]
) -> QueryStep:
    used = [other for other, _offset in row_by_row(query).names]
    if missing := [other for other in used if other not in named]:
        known = ", ".join(named) or "none"
        raise UsageError(f"@{missing[0]} is not one of [names]; there is {known}")
    return QueryStep(name, query, tuple((other, tuple(named[other])) for other in used))


def _conditions(stage: Validate) -> Iterator[Condition]:
    for path in texts(stage.required):
        yield Condition(f"{_at(path)} != null", f"`{path}` is missing")
    for path, wanted in stage.types.items():
        if wanted not in _TESTS:
            raise UsageError(
                f"types.{path} is {wanted!r}; must be one of {', '.join(_TESTS)}"
            )
        place = _at(path)
        test = _TESTS[wanted].replace("{0}", place)
        found, reason = place, f"`{path}` is {{}}, not a {wanted}"
        if wanted not in ("date", "timestamp"):
            found = f"{place}.type()"
            reason = f"`{path}` is of type {{}}, not {wanted}"
        yield Condition(f"{place} == null or {test}", reason, found)
    for rule in texts(stage.rules):
        row_program(rule)  # raises unless it is a row query
        yield Condition(rule, f"it breaks the rule {rule}")


def _at(path: str) -> str:
    """Return the query for a path with dots.

    >>> _at("user.name")
    '$["user"]["name"]'
    """
    fields = path.split(".")
    if not all(fields) or fields[0] == "$":
        raise UsageError(f"{path!r} is no path; write a field, or user.name")
    return "$" + "".join(f"[{json.dumps(each)}]" for each in fields)
