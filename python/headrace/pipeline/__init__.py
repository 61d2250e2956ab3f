"""Pipelines: declared stages that turn input files into a set of shards, with Spark."""

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
