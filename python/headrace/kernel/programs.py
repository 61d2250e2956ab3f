"""Compiled queries, run by the core.

All classes but `Frame` are the core's own, as they are in ``_native.pyi``. `Stage` is
a stage of one run, `JoinTable` a side of a join by its keys; `Sources` are values that programs have
by number, and `Cancel` is a flag that ends queries in other threads.

`Counts` are rows of a query; rows = emitted + filtered + skipped + blank + outside. Over the stream
of all rows, `emitted` are those that the answer is made of. `outside` are lines of logs that were
skipped because of their times.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from headrace._native import (
    Answers,
    Cancel,
    Counts,
    GroupParts,
    JoinTable,
    MergedGroups,
    Program,
    Refused,
    RowQuery,
    SiftedRow,
    Sources,
    Stage,
    StreamQuery,
    Texts,
    available_threads,
)
from headrace.record import record

__all__ = [
    "Answers",
    "Cancel",
    "Counts",
    "Frame",
    "GroupParts",
    "JoinTable",
    "MergedGroups",
    "Output",
    "Program",
    "Refused",
    "RowQuery",
    "SiftedRow",
    "Sources",
    "Stage",
    "StreamQuery",
    "Texts",
    "available_threads",
]

Output: TypeAlias = Literal["answer", "elements", "match"]
"""The answer, its elements, or the row itself if the answer is truthy."""


@record
class Frame:
    """Lines of a key, a separator and JSON; `null_payload`: what JSON of null means."""

    separator: str
    null_payload: Literal["skip", "keep", "error"] = "skip"


PruneCode: TypeAlias = tuple[bytes, tuple[bool, ...], int]
"""The code of a program that gives the keys of an element, which of them fall, and how many of the
best elements are held."""

SlotCode: TypeAlias = tuple[str, int, tuple[bool, ...], str]
"""The kind of a slot, how many elements it holds, which of its keys fall, and the function of its
numbers."""
