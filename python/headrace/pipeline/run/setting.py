"""What all jobs of a run have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.pipeline.run.inputs import Inputs
    from headrace.pipeline.run.session import Session
    from headrace.pipeline.spec import Pipeline
    from headrace.pipeline.state.layout import Place


class Setting(NamedTuple):
    """A pipeline, where it is, what it runs on, and the files of its named sources."""

    pipeline: Pipeline
    place: Place
    session: Session
    named: Mapping[str, Inputs]
