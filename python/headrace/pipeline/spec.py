"""What a pipeline is: sources, stages and an output, as plain data.

The same model is written in Python and, by `headrace.pipeline.toml`, in a file. `KINDS`
and the tables beside it say which fields there are; reading, checking, the template and
the manual are made from them. Nothing is opened here.
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
    """A field of a table of the file: its name, what it holds, what it means.

    `default` is what holds where it is left out, for people; a field without one must
    be given. `attribute` is its name in Python, where the other is a word of the language.
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
    """Where rows come from: files, globs, directories, sets or URLs, in order."""

    paths: str | Sequence[str]
    max_line: Size = "64MiB"
    partition_bytes: Size = "64MiB"
    batch_bytes: Size = "64GiB"
    wait_for_newline: bool = False


@dataclass(frozen=True, slots=True)
class Validate:
    """Rejects rows that are not JSON, or not as they must be."""

    required: str | Sequence[str] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    rules: str | Sequence[str] = ()
    max_bytes: Size | None = None


@dataclass(frozen=True, slots=True)
class Transform:
    """Gives the answers of a query about each row; a row that has none is filtered."""

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
    """Of rows with equal keys, leaves one."""

    key: str | Sequence[str]
    keep: Literal["first", "last"] = "first"


@dataclass(frozen=True, slots=True)
class Sort:
    """Puts all rows in order; equal ones stay as they were."""

    by: str | Sequence[str]
    descending: bool = False


Stage: TypeAlias = Validate | Transform | Join | Dedupe | Sort
Mover: TypeAlias = Join | Dedupe | Sort


@dataclass(frozen=True, slots=True)
class Divide:
    """Rejects rows whose value no partition can be named after; `Output` asks for it."""

    partition_by: str


@dataclass(frozen=True, slots=True)
class Output:
    """The set of shards that is made."""

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
    """A pipeline; all that it makes is below `directory`.

    `names` are other sources, which stages have as ``@name``. `memory` is what the right
    sides of joins may hold in each task. Relative paths start at `base`.
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
        """Bring the output up to date, and say what was done.

        On a session that is given, or one that is started at `master` (``local[*,4]``
        unless told). What was done before is not done again, unless all of it is to be
        made `fresh`. Events of OpenLineage are appended to the file `lineage`.
        """
        from headrace.pipeline.run.runner import run

        return run(
            self, master=master, spark=spark, fresh=fresh, tell=tell, lineage=lineage
        )

    def explain(self) -> str:
        """Say how it would run, and what is left to do; nothing is started."""
        from headrace.pipeline.plan.explain import explained

        return explained(self)


TYPES = ("string", "number", "integer", "boolean", "array", "object", "date", "timestamp")  # fmt: skip
"""What `Validate.types` can ask for."""

HOW = ("join", "left_join", "lookup", "diff", "intersect")
"""What `Join.how` can be: the joins of the query language."""

SOURCE_FIELDS = (
    Field("paths", "texts", "files, globs, directories, sets of shards, URLs", example='["raw/*.jsonl*"]'),
    Field("max_line", "size", "a longer line is rejected without being read", "64MiB"),
    Field("partition_bytes", "size", "how many bytes of files one task reads", "64MiB"),
    Field("batch_bytes", "size", "how many bytes of files are committed together: where an interrupted run goes on", "64GiB"),
    Field("wait_for_newline", "switch", "of plain files, leave a last line without newline to the next run: for files that are still written to", "false"),
)  # fmt: skip

OUTPUT_FIELDS = (
    Field("codec", "choice", "how shards are compressed", "zstd", ("zstd", "gzip", "none")),
    Field("level", "number", "how hard the codec tries", "the codec's own", example="9"),
    Field("block_bytes", "size", "how many bytes of lines are compressed together", "256KiB"),
    Field("max_bytes", "size", "no shard is larger on disk", "256MiB"),
    Field("max_records", "number", "no shard has more rows", "no limit", example="1_000_000"),
    Field("max_logical_bytes", "size", "no shard is larger after decompression", "no limit", example='"1GiB"'),
    Field("partition_by", "text", "a directory for each value at this path", "one directory", example='"day"'),
)  # fmt: skip

KINDS: tuple[Kind[Stage], ...] = (
    Kind(
        "validate",
        Validate,
        "rejects rows that are not JSON, or not as they must be; they go to the quarantine",
        (
            Field("required", "texts", "paths that must be there and not null", "none", example='["id", "user.name"]'),
            Field("types", "table", f"paths and what must be there, if anything is: {', '.join(TYPES)}", "none", example='{ id = "integer" }'),
            Field("rules", "texts", "queries that must be true of each row", "none", example='["ms >= 0"]'),
            Field("max_bytes", "size", "a longer row is rejected", "no limit", example='"1MiB"'),
        ),
    ),
    Kind(
        "transform",
        Transform,
        "gives the answers of a query about each row; null answers are left out",
        (Field("query", "text", "the query", example="'{id, ms, day: at[:10]}'"),),
    ),
    Kind(
        "join",
        Join,
        "joins each row with rows of a named source that have an equal key",
        (
            Field("with", "text", "the name of the other source", example='"users"', word="with_"),
            Field("on", "text", "the key, or `left == right` where the sides name it differently", example='"user == id"'),
            Field("how", "choice", "which rows come out", "left_join", HOW),
            Field("as", "text", "put the other row in this field instead of laying its fields over", "laid over", example='"user"', word="as_"),
            Field("shuffle", "switch", "the other side is too large for each task to hold: rows meet by key instead", "false"),
        ),
    ),
    Kind(
        "dedupe",
        Dedupe,
        "of rows with equal keys, leaves one",
        (
            Field("key", "texts", "what makes rows equal: a query about the row, or several", example='"id"'),
            Field("keep", "choice", "which one is left", "first", ("first", "last")),
        ),
    ),
    Kind(
        "sort",
        Sort,
        "puts all rows in order; equal ones stay as they were",
        (
            Field("by", "texts", "what they are ordered by: a query about the row, or several", example='["day", "id"]'),
            Field("descending", "switch", "from the highest to the lowest", "false"),
        ),
    ),
)  # fmt: skip


INDEX_KINDS: tuple[Kind[Index], ...] = (
    Kind(
        "key",
        KeyIndex,
        "leads from the values of a field to the rows that have them, in each part",
        (
            Field("key", "texts", "the field, or several together", example='"id"'),
            Field("unique", "switch", "two rows of one part with the same key end the run", "false"),
            Field("compact", "switch", "version 2 of the format: about six bytes a row", "false"),
        ),
    ),
    Kind(
        "set",
        SetIndex,
        "leads from the values of a field to the rows that have them, in all parts together",
        (
            Field("key", "texts", "the field, or several together", example='"id"'),
            Field("unique", "switch", "two rows with the same key end the run", "false"),
        ),
    ),
    Kind(
        "graph",
        GraphIndex,
        "leads from nodes to the edges between them, in each part; there is one such index",
        (
            Field("from", "text", "the field of the node that an edge comes from", example='"from"', word="from_"),
            Field("to", "text", "the field of the node that an edge goes to", example='"to"'),
            Field("pred", "text", "the field of what an edge says", "edges say nothing", example='"pred"'),
            Field("reverse", "switch", "index the edges that go to a node too", "false"),
        ),
    ),
)  # fmt: skip
"""Indexes of the output; what one is to an engine is said in `headrace.pipeline.state.indexes`."""


def kind_of(stage: Stage) -> Kind[Stage]:
    """Return the kind of a stage."""
    for kind in KINDS:
        if kind.make is type(stage):
            return kind
    raise UsageError(f"{stage!r} is no stage; there are {', '.join(each.name for each in KINDS)}")  # fmt: skip


def mover(stage: Stage | Divide) -> Mover | None:
    """Return a stage that needs other rows than the one it is about; None for others."""
    if isinstance(stage, (Dedupe, Sort)) or (isinstance(stage, Join) and stage.shuffle):
        return stage
    return None


def texts(value: str | Sequence[str]) -> tuple[str, ...]:
    """Return one text or several as several.

    >>> texts("a"), texts(["a", "b"])
    (('a',), ('a', 'b'))
    """
    return (value,) if isinstance(value, str) else tuple(value)
