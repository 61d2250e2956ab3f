"""The model of a pipeline: sources, stages and an output, as plain data.

The same model is written in Python, or in a file that `headrace.pipeline.toml` reads. `KINDS` and
the tables beside it define the fields; reading, checking, the template and the manual are made
from them. Nothing is opened here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from headrace.errors import UsageError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from headrace.pipeline.report.report import Report, Tell

K = TypeVar("K")

Size: TypeAlias = int | str
FieldKind: TypeAlias = Literal["text", "texts", "table", "size", "number", "choice", "switch"]  # fmt: skip


class Field(NamedTuple):
    """A field of a table of the file: its name, type and meaning.

    `default` is its default value, as text; a field without one is required. `word` is its name
    in Python if `name` is a keyword there.
    """

    name: str
    kind: FieldKind
    doc: str
    default: str | None = None
    choices: tuple[str, ...] = ()
    example: str = ""
    word: str = ""

    @property
    def attribute(self) -> str:
        """Its name in Python."""
        return self.word or self.name


class Kind(NamedTuple, Generic[K]):
    """A kind of stage, or of index."""

    name: str
    make: Callable[..., K]
    doc: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """The source of rows: files, globs, directories, sets or URLs, in order."""

    paths: str | Sequence[str]
    max_line: Size = "64MiB"
    partition_bytes: Size = "64MiB"
    batch_bytes: Size = "64GiB"
    wait_for_newline: bool = False


@dataclass(frozen=True, slots=True)
class Validate:
    """Rejects rows that are not JSON, or break a rule."""

    required: str | Sequence[str] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    rules: str | Sequence[str] = ()
    max_bytes: Size | None = None


@dataclass(frozen=True, slots=True)
class Transform:
    """Replaces each row by the answer of a query; a row without an answer is filtered."""

    query: str


@dataclass(frozen=True, slots=True)
class Join:
    """Joins rows with those of a named source."""

    with_: str
    on: str
    how: str = "left_join"
    as_: str | None = None
    shuffle: bool = False


@dataclass(frozen=True, slots=True)
class Dedupe:
    """Keeps one of the rows with equal keys."""

    key: str | Sequence[str]
    keep: Literal["first", "last"] = "first"


@dataclass(frozen=True, slots=True)
class Sort:
    """Sorts all rows; the sort is stable."""

    by: str | Sequence[str]
    descending: bool = False


Stage: TypeAlias = Validate | Transform | Join | Dedupe | Sort
Mover: TypeAlias = Join | Dedupe | Sort


@dataclass(frozen=True, slots=True)
class Divide:
    """Rejects rows whose value cannot be a partition; needed by `Output.partition_by`."""

    partition_by: str


@dataclass(frozen=True, slots=True)
class Output:
    """The output: a set of shards."""

    codec: str = "zstd"
    level: int | None = None
    block_bytes: Size = "256KiB"
    max_bytes: Size | None = "256MiB"
    max_records: int | None = None
    max_logical_bytes: Size | None = None
    partition_by: str | None = None


@dataclass(frozen=True, slots=True)
class KeyIndex:
    """An index of a field, or of several together, for each part of the output."""

    key: str | Sequence[str]
    unique: bool = False
    compact: bool = False


@dataclass(frozen=True, slots=True)
class SetIndex:
    """One index of a field, or of several together, for all parts of the output."""

    key: str | Sequence[str]
    unique: bool = False


@dataclass(frozen=True, slots=True)
class GraphIndex:
    """An index of edges for each part of the output."""

    from_: str
    to: str
    pred: str | None = None
    reverse: bool = False


Index: TypeAlias = KeyIndex | SetIndex | GraphIndex


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline; all its files are in `directory`.

    `names` are other sources, which stages name as ``@name``. `memory` limits the right sides of
    joins in each task. Relative paths start at `base`.
    """

    name: str
    directory: str
    source: Source
    stages: Sequence[Stage] = ()
    names: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    output: Output = Output()
    memory: Size = "1GiB"
    base: str = "."
    indexes: Sequence[Index] = ()

    def __post_init__(self) -> None:
        from headrace.pipeline.validation import check

        check(self)

    @staticmethod
    def from_toml(path: str | os.PathLike[str]) -> Pipeline:
        """Read a pipeline from a file; its relative paths start where the file is."""
        from headrace.pipeline.toml import read

        return read(path)

    def run(
        self,
        master: str | None = None,
        *,
        spark: SparkSession | None = None,
        fresh: bool = False,
        tell: Tell | None = None,
        lineage: str | os.PathLike[str] | None = None,
    ) -> Report:
        """Bring the output up to date, and return a report.

        It runs on the session `spark`, or on one that is started at `master` [default:
        ``local[*,4]``]. Finished work is not repeated, unless everything is to be made `fresh`.
        OpenLineage events are appended to the file `lineage`.
        """
        from headrace.pipeline.run.runner import run

        return run(
            self, master=master, spark=spark, fresh=fresh, tell=tell, lineage=lineage
        )

    def explain(self) -> str:
        """Explain its passes, and the work that is left; Spark is not started."""
        from headrace.pipeline.plan.explain import explained

        return explained(self)


TYPES = ("string", "number", "integer", "boolean", "array", "object", "date", "timestamp")  # fmt: skip
"""The types of `Validate.types`."""

HOW = ("join", "left_join", "lookup", "diff", "intersect")
"""The values of `Join.how`: the joins of the query language."""

SOURCE_FIELDS = (
    Field("paths", "texts", "files, globs, directories, sets of shards, URLs", example='["raw/*.jsonl*"]'),
    Field("max_line", "size", "a longer line is rejected without being read", "64MiB"),
    Field("partition_bytes", "size", "bytes of files that one task reads", "64MiB"),
    Field("batch_bytes", "size", "bytes of files in one commit, after which an interrupted run continues", "64GiB"),
    Field("wait_for_newline", "switch", "leave a last line without newline in a plain file to the next run, for files that grow", "false"),
)  # fmt: skip

OUTPUT_FIELDS = (
    Field("codec", "choice", "codec of shards", "zstd", ("zstd", "gzip", "none")),
    Field("level", "number", "level of the codec", "the codec's own", example="9"),
    Field("block_bytes", "size", "bytes of lines in one compressed block", "256KiB"),
    Field("max_bytes", "size", "limit on the size of a shard on disk", "256MiB"),
    Field("max_records", "number", "limit on the rows of a shard", "no limit", example="1_000_000"),
    Field("max_logical_bytes", "size", "limit on the size of a shard after decompression", "no limit", example='"1GiB"'),
    Field("partition_by", "text", "a directory for each value at this path", "one directory", example='"day"'),
)  # fmt: skip

KINDS: tuple[Kind[Stage], ...] = (
    Kind(
        "validate",
        Validate,
        "rejects rows that are not JSON or break a rule, and writes them to the quarantine",
        (
            Field("required", "texts", "paths that must exist and not be null", "none", example='["id", "user.name"]'),
            Field("types", "table", f"types of paths, checked unless the value is missing or null: {', '.join(TYPES)}", "none", example='{ id = "integer" }'),
            Field("rules", "texts", "queries that must be true for each row", "none", example='["ms >= 0"]'),
            Field("max_bytes", "size", "a longer row is rejected", "no limit", example='"1MiB"'),
        ),
    ),
    Kind(
        "transform",
        Transform,
        "replaces each row by the answer of a query; null answers are left out",
        (Field("query", "text", "the query", example="'{id, ms, day: at[:10]}'"),),
    ),
    Kind(
        "join",
        Join,
        "joins each row with the rows of a named source that have an equal key",
        (
            Field("with", "text", "the name of the other source", example='"users"', word="with_"),
            Field("on", "text", "the key, or `left == right` if the sides have different names", example='"user == id"'),
            Field("how", "choice", "kind of join", "left_join", HOW),
            Field("as", "text", "put the other row in this field instead of merging its fields", "merged", example='"user"', word="as_"),
            Field("shuffle", "switch", "join by a shuffle, if the other side is too large for each task", "false"),
        ),
    ),
    Kind(
        "dedupe",
        Dedupe,
        "keeps one of the rows with equal keys",
        (
            Field("key", "texts", "key: a row query, or several", example='"id"'),
            Field("keep", "choice", "row to keep", "first", ("first", "last")),
        ),
    ),
    Kind(
        "sort",
        Sort,
        "sorts all rows; the sort is stable",
        (
            Field("by", "texts", "sort keys: a row query, or several", example='["day", "id"]'),
            Field("descending", "switch", "sort in descending order", "false"),
        ),
    ),
)  # fmt: skip


INDEX_KINDS: tuple[Kind[Index], ...] = (
    Kind(
        "key",
        KeyIndex,
        "key index of each part",
        (
            Field("key", "texts", "the field of the key, or several", example='"id"'),
            Field("unique", "switch", "a duplicate key in one part ends the run", "false"),
            Field("compact", "switch", "version 2 of the format: about six bytes a row", "false"),
        ),
    ),
    Kind(
        "set",
        SetIndex,
        "key index of all parts together",
        (
            Field("key", "texts", "the field of the key, or several", example='"id"'),
            Field("unique", "switch", "a duplicate key ends the run", "false"),
        ),
    ),
    Kind(
        "graph",
        GraphIndex,
        "graph index of each part; only one such index",
        (
            Field("from", "text", "field of the source node", example='"from"', word="from_"),
            Field("to", "text", "field of the target node", example='"to"'),
            Field("pred", "text", "field of the predicate", "no predicate", example='"pred"'),
            Field("reverse", "switch", "also index incoming edges", "false"),
        ),
    ),
)  # fmt: skip
"""Indexes of the output; `headrace.pipeline.state.indexes` lowers them to builds of the engine."""


def kind_of(stage: Stage) -> Kind[Stage]:
    """Return the kind of a stage."""
    for kind in KINDS:
        if kind.make is type(stage):
            return kind
    raise UsageError(f"{stage!r} is no stage; there are {', '.join(each.name for each in KINDS)}")  # fmt: skip


def mover(stage: Stage | Divide) -> Mover | None:
    """Return a stage if it moves rows."""
    if isinstance(stage, (Dedupe, Sort)) or (isinstance(stage, Join) and stage.shuffle):
        return stage
    return None


def texts(value: str | Sequence[str]) -> tuple[str, ...]:
    """Return one text or several as a tuple.

    >>> texts("a"), texts(["a", "b"])
    (('a',), ('a', 'b'))
    """
    return (value,) if isinstance(value, str) else tuple(value)
