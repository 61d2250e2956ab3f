"""Passes: a pipeline is cut into passes, each of which makes one set of shards from another.

Consecutive row-local stages form one pass, so that a row is read and written once for all of them;
a stage that moves rows is one pass. The first pass reads the sources, the last one makes the
output. Rows are always validated first, at least that they are JSON.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple

from headrace.engines.rows.row_steps import row_by_row
from headrace.pipeline.plan.lowering import join_query, mover_keys
from headrace.pipeline.spec import (
    Dedupe,
    Divide,
    Join,
    Sort,
    Transform,
    Validate,
    kind_of,
    mover,
)
from headrace.store.files.units import parse_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from headrace.pipeline.spec import Mover, Pipeline, Stage
    from headrace.pipeline.state.ledger import Input

_PATH = re.compile(r"[$@A-Za-z_][A-Za-z0-9_.$]*")

VERSION = 1
"""The version of the meaning of passes; rows of another version are made again."""


class NamedStage(NamedTuple):
    """A stage, and its name in counts and reports."""

    name: str
    stage: Stage | Divide


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass; `number` counts from 1."""

    number: int
    stages: tuple[NamedStage, ...]
    last: bool

    @property
    def title(self) -> str:
        """The names of its stages."""
        return ", ".join(each.name for each in self.stages)

    @property
    def mover(self) -> Mover | None:
        """The stage that moves rows, if there is one."""
        return mover(self.stages[0].stage)

    @property
    def appends(self) -> bool:
        """Whether rows of new inputs are appended to the present ones."""
        match self.mover:
            case Sort() | Dedupe(keep="last"):
                return False
            case _:
                return True


def passes(pipeline: Pipeline) -> list[Pass]:
    """Cut a pipeline into passes."""
    groups: list[list[NamedStage]] = [[]]
    moves: list[list[NamedStage]] = []
    for each in (*_named(_stages(pipeline)), *_partition_check(pipeline)):
        moving = mover(each.stage)
        by_itself = [each] if moving is None else _key_checks(each.name, moving)
        # Dedupe and sort do not change rows; a join does, so that they have other keys.
        changed = any(isinstance(stage, Join) for ((_name, stage),) in moves)
        checks = moving is not None or isinstance(each.stage, Divide)
        if moves and by_itself and (changed or not checks):
            groups += [*moves, []]
            moves = []
        groups[-1] += by_itself
        if moving is not None:
            moves.append([each])
    groups += moves
    return [
        Pass(number, tuple(group), last=number == len(groups))
        for number, group in enumerate(groups, 1)
    ]


def _partition_check(pipeline: Pipeline) -> list[NamedStage]:
    """Return the stage that rejects rows without a partition of the output."""
    path = pipeline.output.partition_by
    return [] if path is None else [NamedStage("partition", Divide(path))]


def _key_checks(name: str, moving: Mover) -> list[NamedStage]:
    """Return the stage that rejects rows without a key, before any row is moved.

    A path always gives a key, at least null.
    """
    keys = mover_keys(moving)
    can_fail = [key for key in keys if not _PATH.fullmatch(key)]
    if not can_fail:
        return []
    # An array is never null: every row keeps the rule, but it fails if the key fails.
    rule = f"[{', '.join(can_fail)}] != null"
    return [NamedStage(f"{name} key", Validate(rules=[rule]))]


def _stages(pipeline: Pipeline) -> list[Stage]:
    stages = list(pipeline.stages)
    validated = stages and isinstance(stages[0], Validate)
    return stages if validated else [Validate(), *stages]


def _named(stages: Iterable[Stage]) -> list[NamedStage]:
    """Name stages by their kinds, and several of one kind also by number."""
    seen: dict[str, int] = {}
    named = []
    for stage in stages:
        kind = kind_of(stage).name
        number = seen[kind] = seen.get(kind, 0) + 1
        named.append(NamedStage(kind if number == 1 else f"{kind} {number}", stage))
    return named


def used_names(stages: Iterable[NamedStage]) -> list[str]:
    """List the named sources that stages read, without duplicates."""
    queries = [
        stage.query if isinstance(stage, Transform) else join_query(stage)
        for _name, stage in stages
        if isinstance(stage, (Transform, Join))
    ]
    found = (name for query in queries for name, _at in row_by_row(query).names)
    return list(dict.fromkeys(found))


def fingerprint(
    pipeline: Pipeline, upto: Pass, named: Mapping[str, Sequence[Input]]
) -> str:
    """Return a hash that changes if the pass would make other rows of the same inputs.

    It covers everything that rows depend on except the inputs: the stages of this pass and of the
    passes before it, and the sources of joins.
    """
    stages = [
        each
        for one in passes(pipeline)
        if one.number <= upto.number
        for each in one.stages
    ]
    facts = {
        "version": VERSION,
        "name": pipeline.name,
        "max_line": parse_size(pipeline.source.max_line),
        "stages": [[type(each.stage).__name__, asdict(each.stage)] for each in stages],
        "named": {
            name: [tuple(each) for each in named[name]] for name in used_names(stages)
        },
        "output": asdict(pipeline.output) if upto.last else None,
    }
    text = json.dumps(facts, sort_keys=True, ensure_ascii=False, default=list)
    return hashlib.sha256(text.encode()).hexdigest()
