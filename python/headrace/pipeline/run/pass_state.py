"""The state of a pass: the jobs that it has done, and the inputs left to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.pipeline.plan.passes import fingerprint
from headrace.pipeline.run.inputs import continued
from headrace.pipeline.state.ledger import left_to_do

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.pipeline.plan.passes import Pass
    from headrace.pipeline.run.inputs import Inputs
    from headrace.pipeline.spec import Pipeline
    from headrace.pipeline.state.layout import Layout
    from headrace.pipeline.state.ledger import Ledger, Todo


class PassState(NamedTuple):
    """The state of a pass: its ledger, and the inputs left to read.

    `inputs` are all present inputs; the old and the new bytes of a file that has grown are two.
    """

    before: Ledger | None
    fingerprint: str
    inputs: Inputs
    todo: Todo


def state_of(
    one: Pass,
    inputs: Inputs,
    *,
    pipeline: Pipeline,
    layout: Layout,
    named: Mapping[str, Inputs],
    fresh: bool = False,
) -> PassState:
    """Compare the ledger of a pass with its inputs; `fresh`: as if it had none."""
    found = layout.current(one, pipeline)
    before = None if found is None else found[1]
    of_names = {name: [each for each, _ in files] for name, files in named.items()}
    now = fingerprint(pipeline, one, of_names)
    if before is not None and before.fingerprint == now and not fresh:
        inputs = continued(inputs, before)
    todo = left_to_do(
        before,
        now,
        [each for each, _source in inputs],
        appends=one.appends,
        gone=None if found is None else layout.gone(one, *found),
        fresh=fresh,
    )
    return PassState(before, now, inputs, todo)
