"""Options of the public functions: one `TypedDict` for each family.

A function that takes such options declares ``**options: Unpack[...]``, so that each name, type
and meaning is written here and nowhere else; docs/python.md shows these tables. Python does not
check the names of such a call: `refuse_unknown` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from headrace.api.graph.access import Strategy
    from headrace.errors import KeyIndexError
    from headrace.kernel.graph import Direction
    from headrace.kernel.key_index import Skipped
    from headrace.store.files.units import Moment

    Path: TypeAlias = str | os.PathLike[str]
    Size: TypeAlias = int | str
    Fields: TypeAlias = str | Sequence[str]
    Engine: TypeAlias = Literal["local", "spark"]
    Emit: TypeAlias = Literal["nodes", "edges", "tree"]


def refuse_unknown(options: Mapping[str, object], family: type) -> None:
    """Raise a `TypeError` for a name that is not an option of a family, as Python does."""
    known: dict[str, object] = family.__annotations__
    for name in options:
        if name not in known:
            raise TypeError(f"unexpected keyword argument {name!r}")


class EngineOptions(TypedDict, total=False):
    """Options of functions that can run on Spark."""

    engine: Engine
    """``"local"`` or ``"spark"``: threads of this process or tasks of Spark [default: local]"""
    master: str | None
    """URL of the Spark master [default: local[*,4], all cores of this machine]"""
    partition_bytes: Size | None
    """how much of the files one task reads [default: 64MiB]"""


class IndexPlace(TypedDict, total=False):
    """Where the index of a file is."""

    index: Path | None
    """file of the index [default: beside the source]"""
    index_dir: Path | None
    """directory of indexes [default: that of the source]"""


class IndexCheckOptions(IndexPlace, total=False):
    """Options of `KeyIndex.check` and `GraphIndex.check`."""

    deep: bool
    """compare every row of the source with the index"""
    progress: Callable[[int, int], None]
    """called with bytes and rows done"""


class IndexScanOptions(IndexPlace, total=False):
    """Options of functions that read rows for an index."""

    memory: Size
    """how much memory to use, also in each task of Spark; changes no byte [default: 256MiB]"""
    threads: int | None
    """how many threads read; changes no byte [default: one for each core]"""
    strict: bool
    """a line that is bad or too long is an error; otherwise it is skipped and counted"""
    progress: Callable[[int, int], None]
    """called with bytes and rows done"""
    skipped: Callable[[Sequence[Skipped]], None] | None
    """called with the lines that are not in the index, some at a time"""


class IndexUpdateOptions(IndexScanOptions, total=False):
    """Options of `GraphIndex.update`."""

    full: bool
    """build the index again with the settings that it has"""


class KeyIndexUpdateOptions(IndexUpdateOptions, EngineOptions, total=False):
    """Options of `KeyIndex.update`; the engine is for sets of shards."""


class IndexBuildOptions(IndexScanOptions, EngineOptions, total=False):
    """Options of building an index of any kind."""

    index_version: Literal[1, 2] | None
    """version of the index file [default: 1, or 2 where version 1 has no room]"""
    force: bool
    """replace an index of other fields"""
    max_line: Size
    """skip lines that are longer [default: 64MiB]"""
    max_depth: int
    """skip lines that are nested deeper [default: 256]"""


class KeyIndexBuildOptions(IndexBuildOptions, total=False):
    """Options of `KeyIndex.build` and `Dataset.index`."""

    mode: Literal["multi", "unique"]
    """``"unique"``: two rows with one key are an error [default: multi]"""


class GraphIndexBuildOptions(IndexBuildOptions, total=False):
    """Options of `GraphIndex.build`."""

    incoming: bool
    """index incoming edges too"""


class GraphCompactOptions(IndexPlace, total=False):
    """Options of `GraphIndex.compact`."""

    memory: Size
    """how much memory to use; changes no byte [default: 256MiB]"""


class KeyIndexOptions(IndexPlace, total=False):
    """Options of `KeyIndex.open`."""

    require_index: bool
    """an index that cannot be used is an error; otherwise the source is scanned"""
    auto_rebuild: bool
    """build an index that is missing, damaged or does not fit, then use it"""
    max_line: Size | None
    """skip lines that are longer [default: as the index does, else 64MiB]"""
    max_depth: int | None
    """skip lines that are nested deeper [default: as the index does, else 256]"""
    report: Callable[[KeyIndexError], object] | None
    """called with an index that cannot be used [default: a `HeadraceWarning`]"""


class GraphOptions(TypedDict, total=False):
    """Options of `GraphIndex.open` and `Dataset.graph`."""

    from_field: str | None
    """field of the node that an edge comes from [default: as in the index, else ``from``]"""
    pred_field: str | None
    """field of the predicate [default: as in the index, else ``pred``]"""
    to_field: str | None
    """field of the node that an edge goes to [default: as in the index, else ``to``]"""
    index: Path | Literal[False] | None
    """file of the index, or False to use none [default: beside the source]"""
    index_dir: Path | None
    """directory of indexes [default: that of the source]"""
    require_index: bool
    """an index that cannot be used is an error; otherwise the edges are scanned"""
    memory: Size
    """how much memory a scan may use [default: 256MiB]"""
    threads: int | None
    """how many threads scan [default: one for each core]"""
    report: Callable[[KeyIndexError, Strategy | None], None] | None
    """called with an index that cannot be used, and the access used instead [default: a
    `HeadraceWarning`]"""


class ExpandOptions(TypedDict, total=False):
    """Options of `Graph.expand`."""

    pred: str | int | Iterable[str | int] | None
    """follow only edges with one of these predicates [default: all]"""
    direction: Direction
    """``"out"``: along edges; ``"in"``: against them; or ``"both"`` [default: out]"""
    emit: Emit
    """``"edges"``: yield the edges that were followed too; ``"tree"``: only the first edge to
    each node [default: nodes]"""
    limit: int | None
    """yield at most this many nodes [default: all]"""
    most_edges: int | None
    """follow at most this many edges of one node [default: all]"""


class ReplayOptions(TypedDict, total=False):
    """Options of `Log.replay`."""

    speed: float | Literal["max"]
    """how many times faster than the recorded times [default: max]"""
    since: Moment | None
    """only records with this time or a later one"""
    until: Moment | None
    """only records with an earlier time"""
    from_line: int | Mapping[str, int]
    """first line of each partition, or of those in a mapping by name [default: 1]"""
    raw: bool
    """records are the bytes of their lines"""
    threads: int
    """how many threads read ahead [default: 2]"""
    clock: Callable[[], float]
    """seconds of a clock that never goes back [default: `time.monotonic`]"""
