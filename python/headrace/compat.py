"""Function names of headrace's first designs; each calls the method that replaced it.

New code uses the methods: `headrace.KeyIndex`, `headrace.GraphIndex`, `Dataset.query`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from headrace.api.index.graph import GraphIndex
from headrace.api.index.key import KeyIndex

if TYPE_CHECKING:
    import os

    from headrace.api.graph.graph import Graph
    from headrace.api.options import (
        Fields,
        GraphIndexBuildOptions,
        GraphOptions,
        KeyIndexBuildOptions,
        KeyIndexOptions,
    )
    from headrace.engines.index.kinds import Built
    from headrace.kernel.graph import GraphWritten
    from headrace.kernel.key_index import Written
    from headrace.store.index.target import Indexed


def build_lookup_index(
    source: Indexed, key_field: Fields, **options: Unpack[KeyIndexBuildOptions]
) -> Built[Written]:
    """Call `KeyIndex.build`."""
    return KeyIndex.build(source, key_field, **options)


def open_lookup_index(
    source: Indexed, key_field: Fields | None = None, **options: Unpack[KeyIndexOptions]
) -> KeyIndex:
    """Call `KeyIndex.open`."""
    return KeyIndex.open(source, key_field, **options)


def build_graph_index(
    source: str | os.PathLike[str],
    from_field: str,
    pred_field: str | None,
    to_field: str,
    **options: Unpack[GraphIndexBuildOptions],
) -> Built[GraphWritten]:
    """Call `GraphIndex.build`."""
    return GraphIndex.build(source, from_field, pred_field, to_field, **options)


def open_graph_index(
    source: str | os.PathLike[str], **options: Unpack[GraphOptions]
) -> Graph:
    """Call `GraphIndex.open`."""
    return GraphIndex.open(source, **options)
