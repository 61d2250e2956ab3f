"""Explain a pipeline: its passes, and the work that is left.

Files are listed and ledgers read; Spark is not started, and nothing is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.pipeline.plan.lowering import join_query, key_query
from headrace.pipeline.plan.passes import passes
from headrace.pipeline.run.inputs import (
    main_inputs,
    named_inputs,
    part_inputs,
    split,
    state_of,
)
from headrace.pipeline.spec import (
    Dedupe,
    Divide,
    Join,
    SetIndex,
    Sort,
    Transform,
    Validate,
    texts,
)
from headrace.pipeline.state.indexes import parts_in, title_of, without
from headrace.pipeline.state.layout import Layout
from headrace.store.files.units import format_size, parse_size
from headrace.store.shards.opened_set import open_set

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.pipeline.plan.passes import NamedStage, Pass
    from headrace.pipeline.run.inputs import Inputs
    from headrace.pipeline.spec import Index, Pipeline
    from headrace.store.files.source import Source


def explained(pipeline: Pipeline) -> str:
    """Return the passes of a pipeline, their stages, and the work that is left."""
    layout = Layout(pipeline)
    inputs = main_inputs(pipeline, layout)
    named = named_inputs(pipeline, layout)
    lines = [f"pipeline {pipeline.name}, in {layout.root}"]
    lines += _drawn(_sources(pipeline, inputs, named))
    known: Inputs | None = inputs
    for one in passes(pipeline):
        lines.append(_title(one))
        left = "its input is known when the previous pass is done"
        if known is not None:
            state = state_of(one, known, pipeline=pipeline, layout=layout, named=named)
            todo = state.todo
            left = todo.why
            if todo.inputs:
                chosen = set(todo.inputs)
                new = [each for each in state.inputs if each[0] in chosen]
                left = f"{left}: {_tasks(pipeline, new)}"
            known = None
            if not todo.inputs and not todo.replace:
                known = part_inputs(layout.names(one))
        lines += _drawn(
            [
                *(_stage(each) for each in one.stages),
                _target(one, pipeline, layout),
                left,
            ]
        )
    for index in pipeline.indexes:
        of_part = "" if isinstance(index, SetIndex) else ": for each part of the output"
        lines.append(f"index of {title_of(index)}{of_part}")
        left = "its input is known when the previous pass is done"
        if known is not None:
            left = _left(index, [source for _input, source in known], layout)
        lines += _drawn([left])
    return "\n".join(lines)


def _left(index: Index, parts: list[Source], layout: Layout) -> str:
    """Return the number of parts to index, as text."""
    if isinstance(index, SetIndex):
        known = parts_in(index, open_set(layout.output()))
        if known is None:
            return "there is none"
        count, why = len(parts) - known, "are not in it"
    else:
        count, why = len(without(index, parts)), "have none"
    return f"{count:,} of {len(parts):,} parts {why}" if count else "up to date"


def _drawn(several: list[str]) -> list[str]:
    *others, last = several
    return [*(f"├─ {each}" for each in others), f"└─ {last}"]


def _sources(pipeline: Pipeline, inputs: Inputs, named: dict[str, Inputs]) -> list[str]:
    def listed(paths: tuple[str, ...], files: Inputs) -> str:
        size = format_size(sum(each.size for each, _source in files))
        count = f"{len(files):,} file{'s' if len(files) != 1 else ''}"
        return f"{', '.join(paths)}: {count}, {size}"

    return [
        f"reads {listed(texts(pipeline.source.paths), inputs)}",
        *(
            f"@{name} is {listed(texts(pipeline.names[name]), files)}"
            for name, files in named.items()
        ),
    ]


def _title(one: Pass) -> str:
    how = "each row by itself, in tasks"
    if one.mover is not None:
        how = "rows move, in a shuffle"
    return f"pass {one.number}: {how}"


def _stage(each: NamedStage) -> str:
    name, stage = each
    match stage:
        case Validate():
            return f"{name}: {', '.join(_validated(stage))}"
        case Transform(query=query):
            return f"{name}: {query}"
        case Join():
            held = "" if stage.shuffle else f"; every task holds @{stage.with_}"
            return f"{name}: {join_query(stage)}{held}"
        case Dedupe():
            return f"{name}: the {stage.keep} row of each {key_query(stage.key)}"
        case Sort():
            order = "falling" if stage.descending else "rising"
            return f"{name}: by {key_query(stage.by)}, {order}"
        case Divide(partition_by=path):
            return f"{name}: {path} can name a directory"


def _validated(stage: Validate) -> Iterator[str]:
    yield "rows are JSON"
    if stage.required:
        yield f"have {', '.join(texts(stage.required))}"
    for path, wanted in stage.types.items():
        yield f"{path} is {wanted}"
    yield from texts(stage.rules)
    if stage.max_bytes is not None:
        yield f"at most {format_size(parse_size(stage.max_bytes))}"


def _target(one: Pass, pipeline: Pipeline, layout: Layout) -> str:
    where = layout.names(one).directory.relative_to(layout.root)
    if not one.last:
        return f"writes {where}"
    output = pipeline.output
    limit = ""
    if output.max_bytes is not None:
        limit = f" of at most {format_size(parse_size(output.max_bytes))}"
    by = "" if output.partition_by is None else f", by {output.partition_by}"
    return f"writes {where}: {output.codec} shards{limit}{by}"


def _tasks(pipeline: Pipeline, inputs: Inputs) -> str:
    count = len(split(inputs, parse_size(pipeline.source.partition_bytes)))
    total = format_size(sum(each.length for each, _source in inputs))
    return f"{total} in {count:,} task{'s' if count != 1 else ''}"
