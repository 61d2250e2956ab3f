"""Options of the public functions: one `TypedDict` for each family.

A function that takes such options declares ``**options: Unpack[...]``, so that each name, type
and meaning is written here and nowhere else; docs/python.md shows these tables. Python does not
check the names of such a call: `refuse_unknown` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from headrace.errors import UsageError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from headrace.api.dataset import Dataset
    from headrace.api.graph.access import Strategy
    from headrace.engines.query.options import BadRow, OnError
    from headrace.engines.spark.query.run import RunTasks
    from headrace.engines.spark.session.master import Place
    from headrace.errors import KeyIndexError
    from headrace.kernel.graph import Direction
    from headrace.kernel.key_index import Skipped
    from headrace.store.files.source import SourceSpec
    from headrace.store.files.units import Moment
    from headrace.store.shards.write.record_writer import OnError as OnBadRecord

    Path: TypeAlias = str | os.PathLike[str]
    Size: TypeAlias = int | str
    Fields: TypeAlias = str | Sequence[str]
    Engine: TypeAlias = Literal["local", "spark"]
    Errors: TypeAlias = Path | Callable[[BadRow], object]
    Emit: TypeAlias = Literal["nodes", "edges", "tree"]
    Name: TypeAlias = str | int
    Names: TypeAlias = Name | Iterable[Name]
    """Names of nodes or predicates of a graph; 7 is the name ``"7"``."""


def refuse_unknown(options: Mapping[str, object], family: type) -> None:
    """Raise a `TypeError` for a name that is not an option of a family, as Python does."""
    known: dict[str, object] = family.__annotations__
    for name in options:
        if name not in known:
            from headrace.suggestion import did_you_mean

            hint = did_you_mean(name, known)
            raise TypeError(f"unexpected keyword argument {name!r}{hint}")


class EngineOptions(TypedDict, total=False):
    """Options of functions that can run on Spark."""

    engine: Engine
    """``"local"`` or ``"spark"``: threads of this process or tasks of Spark [default: local]"""
    master: str | None
    """URL of the Spark master [default: local[*,4], all cores of this machine]"""
    spark: SparkSession | None
    """session that runs the tasks [default: that of this process, else a new one at `master`]"""
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

    pred: Names | None
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


class OpenOptions(TypedDict, total=False):
    """Options of `open`."""

    max_line: Size
    """longer lines are not read; each is an error where it is used [default: 64MiB]"""
    max_depth: int
    """deeper values are bad lines; up to 1000 [default: 256]"""
    index: bool
    """False: keep no row index, and use no key index in queries and joins [default: True]"""
    index_dir: Path | None
    """directory of row indexes and key indexes [default: that of the file]"""
    max_ratio: int
    """compressed data that decodes to more times its size is refused, from 256 MiB on
    [default: 10000]"""
    max_decoded: Size | None
    """compressed data that decodes to more bytes is refused [default: no limit]"""
    blocks: bool
    """False: read compressed files in order even if they have blocks; the rows are the same
    [default: True]"""
    since: Moment | None
    """only lines of logs with this time or a later one"""
    until: Moment | None
    """only lines of logs with an earlier time"""


class QueryOptions(EngineOptions, total=False):
    """Options of `Dataset.query`."""

    stream: bool | None
    """True: ``$`` is the array of all rows; False: each row [default: True with `names`]"""
    names: Mapping[str, SourceSpec | Dataset[Any]] | None
    """other sources by name; ``@name`` in the query is the array of their rows"""
    size_hints: Mapping[str, int] | None
    """numbers of rows of named sources, where the sizes of the files mislead"""
    args: Mapping[str, object] | None
    """values of ``$name`` in the query; each must be used"""
    where: str | None
    """another query: only rows for which it is truthy"""
    allow_env: bool
    """whether ``env("NAME")`` reads the environment [default: False]"""
    matches: bool
    """return the rows whose answer is truthy, as they are"""
    nulls: Literal["drop", "emit"]
    """what to do with an answer that is null [default: drop]"""
    on_error: OnError
    """what to do with a bad row: ``"abort"``, ``"skip"`` or ``"collect"`` [default: abort]"""
    errors: Errors | None
    """with ``"collect"``, a path or a function that bad rows go to one by one"""
    limit: int | None
    """return at most this many answers [default: all]"""
    reverse: bool
    """read from the last row to the first"""
    distinct_by: str | None
    """a query: only the first row of each key"""
    frame: str | None
    """lines are a key, this separator and JSON"""
    null_payload: Literal["skip", "keep", "error"]
    """what to do with a framed row whose JSON is null [default: skip]"""
    shape: Literal["lines", "array"] | None
    """an answer about all rows is a line for each element, or one array [default: as the query
    says]"""
    strict_types: bool
    """a value of a kind that an operation is not for is an error; null stays null"""
    max_depth: int | None
    """deeper rows are bad [default: as of the data set]"""
    memory: Size
    """how much a query may hold [default: 1GiB]"""
    threads: int | None
    """how many threads read; the answers are the same [default: one for each core]"""
    lanes: bool
    """False: record fields that the query does not read too; answers are the same
    [default: True]"""
    index: bool
    """False: use no key index; answers are the same [default: as of the data set]"""
    _run_tasks: RunTasks | None
    """runs tasks in place of Spark; for tests"""
    _share_bytes: int | None
    """the bytes that a thread reads at a time; for tests"""


class JoinOptions(TypedDict, total=False):
    """Options of `Dataset.join`."""

    left_on: Fields | None
    """key field of left rows, where it has another name than on the right"""
    right_on: Fields | None
    """key field of right rows"""
    how: Literal["inner", "left"]
    """left rows without a match: ``"inner"`` leaves them out, ``"left"`` returns them as they
    are [default: inner]"""
    target: str | None
    """one row for each left row, with the array of all matches in this field"""
    pick: Sequence[str] | None
    """fields of right rows to add [default: all but the key]"""
    prefix: str
    """text before the names of right fields"""
    indicator: str | None
    """add a field that is ``"both"`` or ``"left_only"``"""
    index: bool | Path | None
    """True, or the file of a key index: use it even if it is slower; False: use none
    [default: where it is faster]"""
    require_index: bool
    """use a key index; one that is missing or cannot be used is an error"""
    text_keys: bool
    """keys are compared as text: 1 equals ``"1"``"""
    memory: Size
    """how much of the right side may be held [default: 1GiB]"""
    on_error: OnError
    """what to do with a bad row: ``"abort"``, ``"skip"`` or ``"collect"`` [default: abort]"""
    errors: Errors | None
    """with ``"collect"``, a path or a function that bad left rows go to one by one"""
    strict: bool
    """a bad row is an error, whatever `on_error` says"""
    report: Callable[[KeyIndexError], object] | None
    """called with an index that cannot be used [default: a `HeadraceWarning`]"""


class ShardOptions(TypedDict, total=False):
    """Options of `ShardWriter` and `Dataset.write_shards`."""

    name: str
    """name of the set; a directory can have several [default: rows]"""
    codec: str
    """``"zstd"``, ``"gzip"`` or ``"none"`` [default: zstd]"""
    level: int | None
    """level of the codec; the nearest one that it has"""
    options: Mapping[str, int] | None
    """options of the codec; unknown ones are ignored with a `HeadraceWarning`"""
    block_bytes: Size
    """rows that are compressed together; a row is read by decoding its block [default: 256KiB]"""
    max_bytes: Size | None
    """largest size of a file on disk; a record that is larger is a `JsonTooLargeError`"""
    max_records: int | None
    """most rows of a file"""
    max_logical_bytes: Size | None
    """largest size of a file before compression"""
    partition_by: str | None
    """path of a field such as ``"user.country"``; each value has a directory, as in Hive"""
    validate: bool
    """check that lines are JSON [default: True]"""
    max_depth: int
    """deeper values are bad records [default: 256]"""
    on_error: OnBadRecord
    """a bad record is an error (``"abort"``), is left out (``"skip"``), or goes to a function
    [default: abort]"""
    threads: int
    """how many threads compress; changes no byte [default: 1]"""
    run: Mapping[str, object] | None
    """facts to store in the metadata"""
    allow_empty: bool
    """a set without rows may replace one with rows"""
    grace: float
    """seconds that replaced files stay for their readers [default: 600]"""


def refuse_other(name: str, value: object, choices: Sequence[object]) -> None:
    """Raise if the value of an option is none of its choices.

    >>> refuse_other("how", "iner", ("inner", "left"))
    Traceback (most recent call last):
    headrace.errors.UsageError: how is one of 'inner', 'left', not 'iner'; did you mean 'inner'?
    """
    if value not in choices:
        from headrace.suggestion import did_you_mean

        known = ", ".join(repr(choice) for choice in choices)
        hint = did_you_mean(value, choices)
        raise UsageError(f"{name} is one of {known}, not {value!r}{hint}")


def place_of_tasks(options: EngineOptions) -> Place | None:
    """Return the session or the master that options name; raise if they name both."""
    master, spark = options.get("master"), options.get("spark")
    if spark is None:
        return master
    if master is not None:
        raise UsageError("spark is a session, which has its master; leave out master")
    return spark


def refuse_for_local(**options: object) -> None:
    """Raise for options that only Spark has."""
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"{name} is for engine='spark' (--engine spark)")
