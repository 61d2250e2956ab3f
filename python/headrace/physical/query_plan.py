"""A query as it runs: programs for the core, and what becomes of their results."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from headrace.errors import UsageError
from headrace.kernel.programs import Program
from headrace.logical.compiler import compile_query
from headrace.logical.stream import plan_stream
from headrace.query import ast
from headrace.query.parser import parse

if TYPE_CHECKING:
    from headrace.kernel.programs import StageCode
    from headrace.logical.stream import Reduction, StreamStage


@dataclass(frozen=True, slots=True)
class RowPlan:
    """A query about each row by itself."""

    program: Program


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """A query about all rows.

    The rows go through the stages and are reduced; `rest` is asked of the result,
    and if there is `spread`, the answer is an array whose elements are lines.
    """

    stages: tuple[StageCode, ...]
    reduction: Reduction
    limit: int | None
    rest: Program | None
    spread: Program | None
    reverse: bool


QueryPlan: TypeAlias = RowPlan | StreamPlan


@lru_cache(maxsize=256)
def plan_query(
    query: str, *, stream: bool = False, distinct_by: str | None = None
) -> QueryPlan:
    """Plan a query; one that was asked before is not planned again.

    Neither the sources nor the rows are part of the question, so one plan serves
    them all. With `distinct_by`, only the first row of each key is asked.
    """
    tree = parse(query)
    plan = plan_stream(tree, whole=stream)
    if distinct_by is not None:
        if plan is not None:
            raise UsageError(
                "distinct_by is about each row; write .unique_by(key) here"
            )
        return _distinct(query, tree, distinct_by)
    if plan is None:
        return RowPlan(_program(query, tree))
    return StreamPlan(
        tuple(_stage(query, stage) for stage in plan.stages),
        plan.reduction,
        plan.limit,
        rest=None if plan.rest is None else _program(query, plan.rest),
        spread=_program(query, ast.Root()) if plan.spread else None,
        reverse=plan.reverse,
    )


def _distinct(query: str, tree: ast.Node, key: str) -> StreamPlan:
    stages = (
        ("distinct", compile_query(key, parse(key)), 0),
        ("each", compile_query(query, ast.ArrayLiteral((tree,))), 0),
    )
    return StreamPlan(stages, "lines", None, None, None, reverse=False)


def _program(query: str, tree: ast.Node) -> Program:
    return Program(query, compile_query(query, tree))


def _stage(query: str, stage: StreamStage) -> StageCode:
    code = None
    if stage.program is not None:
        code = compile_query(query, stage.program)
    return stage.kind, code, stage.count
