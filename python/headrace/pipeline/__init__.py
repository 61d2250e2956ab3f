"""Pipelines: jobs that make a set of shards of whatever lies in some files, with Spark."""

from __future__ import annotations

from headrace.pipeline.spec import (
    Dedupe,
    GraphIndex,
    Join,
    KeyIndex,
    Output,
    Pipeline,
    SetIndex,
    Sort,
    Source,
    Transform,
    Validate,
)

__all__ = [
    "Dedupe",
    "GraphIndex",
    "Join",
    "KeyIndex",
    "Output",
    "Pipeline",
    "SetIndex",
    "Sort",
    "Source",
    "Transform",
    "Validate",
]
