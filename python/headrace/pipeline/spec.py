"""The model of a pipeline: sources, stages and an output, as plain data.

The same model is written in Python, or in a file that `headrace.pipeline.toml` reads. A class has
what the file says of its fields; reading, checking, the template and the manual are made from it.
Nothing is opened here.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from headrace.errors import UsageError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from headrace.pipeline.report.report import Report, Tell

K = TypeVar("K")

Size: TypeAlias = int | str
FieldKind: TypeAlias = Literal["text", "texts", "table", "size", "number", "choice", "switch"]  # fmt: skip


class Field(NamedTuple):
    """A field of a table of the file: its type and meaning, and its name in Python.

    `default` is its default value, as text; a field without one is required. `none` is the text of
    an empty default.
    """

    kind: FieldKind
    doc: str
    example: str = ""
    none: str = "none"
    choices: tuple[str, ...] = ()
    attribute: str = ""
    default: str | None = None

    @property
    def name(self) -> str:
        """Its name in the file, which may be a keyword in Python."""
        return self.attribute.rstrip("_")


class Kind(NamedTuple, Generic[K]):
    """A kind of stage, or of index."""

    name: str
    make: type[K]
    doc: str

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields of its table."""
        return fields_of(self.make)


def fields_of(table: type) -> tuple[Field, ...]:
    """Return the fields of a table of the file, as its class describes them."""
    found = []
    for each in fields(table):
        described: Field = each.metadata["of"]._replace(attribute=each.name)
        if (
            each.default is not each.default_factory
        ):  # both are missing if it is required
            empty = each.default in (MISSING, None, ())
            text = described.none if empty else str(each.default)
            is_switch = described.kind == "switch"
            described = described._replace(default=text.lower() if is_switch else text)
        found.append(described)
    return tuple(found)


TYPES = ("string", "number", "integer", "boolean", "array", "object", "date", "timestamp")  # fmt: skip
"""The types of `Validate.types`."""

HOW = ("join", "left_join", "lookup", "diff", "intersect")
"""The values of `Join.how`: the joins of the query language."""

# fmt: off


@dataclass(frozen=True, slots=True)
class Source:
    """The source of rows: files, globs, directories, sets or URLs, in order."""

    paths: str | Sequence[str] = field(metadata={"of": Field("texts", "files, globs, directories, sets of shards, URLs", '["raw/*.jsonl*"]')})
    max_line: Size = field(default="64MiB", metadata={"of": Field("size", "a longer line is rejected without being read")})
    partition_bytes: Size = field(default="64MiB", metadata={"of": Field("size", "bytes of files that one task reads")})
    batch_bytes: Size = field(default="64GiB", metadata={"of": Field("size", "bytes of files in one commit, after which an interrupted run continues")})
    wait_for_newline: bool = field(default=False, metadata={"of": Field("switch", "leave a last line without newline in a plain file to the next run, for files that grow")})


@dataclass(frozen=True, slots=True)
class Validate:
    """Rejects rows that are not JSON, or break a rule."""

    required: str | Sequence[str] = field(default=(), metadata={"of": Field("texts", "paths that must exist and not be null", '["id", "user.name"]')})
    types: Mapping[str, str] = field(default_factory=dict, metadata={"of": Field("table", f"types of paths, checked unless the value is missing or null: {', '.join(TYPES)}", '{ id = "integer" }')})
    rules: str | Sequence[str] = field(default=(), metadata={"of": Field("texts", "queries that must be true for each row", '["ms >= 0"]')})
    max_bytes: Size | None = field(default=None, metadata={"of": Field("size", "a longer row is rejected", '"1MiB"', "no limit")})


@dataclass(frozen=True, slots=True)
class Transform:
    """Replaces each row by the answer of a query; a row without an answer is filtered."""

    query: str = field(metadata={"of": Field("text", "the query", "'{id, ms, day: at[:10]}'")})


@dataclass(frozen=True, slots=True)
class Join:
    """Joins rows with those of a named source."""

    with_: str = field(metadata={"of": Field("text", "the name of the other source", '"users"')})
    on: str = field(metadata={"of": Field("text", "the key, or `left == right` if the sides have different names", '"user == id"')})
    how: str = field(default="left_join", metadata={"of": Field("choice", "kind of join", choices=HOW)})
    as_: str | None = field(default=None, metadata={"of": Field("text", "put the other row in this field instead of merging its fields", '"user"', "merged")})
    shuffle: bool = field(default=False, metadata={"of": Field("switch", "join by a shuffle, if the other side is too large for each task")})


@dataclass(frozen=True, slots=True)
class Dedupe:
    """Keeps one of the rows with equal keys."""

    key: str | Sequence[str] = field(metadata={"of": Field("texts", "key: a row query, or several", '"id"')})
    keep: Literal["first", "last"] = field(default="first", metadata={"of": Field("choice", "row to keep", choices=("first", "last"))})


@dataclass(frozen=True, slots=True)
class Sort:
    """Sorts all rows; the sort is stable."""

    by: str | Sequence[str] = field(metadata={"of": Field("texts", "sort keys: a row query, or several", '["day", "id"]')})
    descending: bool = field(default=False, metadata={"of": Field("switch", "sort in descending order")})


Stage: TypeAlias = Validate | Transform | Join | Dedupe | Sort
Mover: TypeAlias = Join | Dedupe | Sort


@dataclass(frozen=True, slots=True)
class Divide:
    """Rejects rows whose value cannot be a partition; needed by `Output.partition_by`."""

    partition_by: str


@dataclass(frozen=True, slots=True)
class Output:
    """The output: a set of shards."""

    codec: str = field(default="zstd", metadata={"of": Field("choice", "codec of shards", choices=("zstd", "gzip", "none"))})
    level: int | None = field(default=None, metadata={"of": Field("number", "level of the codec", "9", "the codec's own")})
    block_bytes: Size = field(default="256KiB", metadata={"of": Field("size", "bytes of lines in one compressed block")})
    max_bytes: Size | None = field(default="256MiB", metadata={"of": Field("size", "limit on the size of a shard on disk")})
    max_records: int | None = field(default=None, metadata={"of": Field("number", "limit on the rows of a shard", "1_000_000", "no limit")})
    max_logical_bytes: Size | None = field(default=None, metadata={"of": Field("size", "limit on the size of a shard after decompression", '"1GiB"', "no limit")})
    partition_by: str | None = field(default=None, metadata={"of": Field("text", "a directory for each value at this path", '"day"', "one directory")})


@dataclass(frozen=True, slots=True)
class KeyIndex:
    """An index of a field, or of several together, for each part of the output."""

    key: str | Sequence[str] = field(metadata={"of": Field("texts", "the field of the key, or several", '"id"')})
    unique: bool = field(default=False, metadata={"of": Field("switch", "a duplicate key in one part ends the run")})
    compact: bool = field(default=False, metadata={"of": Field("switch", "version 2 of the format: about six bytes a row")})


@dataclass(frozen=True, slots=True)
class SetIndex:
    """One index of a field, or of several together, for all parts of the output."""

    key: str | Sequence[str] = field(metadata={"of": Field("texts", "the field of the key, or several", '"id"')})
    unique: bool = field(default=False, metadata={"of": Field("switch", "a duplicate key ends the run")})


@dataclass(frozen=True, slots=True)
class GraphIndex:
    """An index of edges for each part of the output."""

    from_: str = field(metadata={"of": Field("text", "field of the source node", '"from"')})
    to: str = field(metadata={"of": Field("text", "field of the target node", '"to"')})
    pred: str | None = field(default=None, metadata={"of": Field("text", "field of the predicate", '"pred"', "no predicate")})
    reverse: bool = field(default=False, metadata={"of": Field("switch", "also index incoming edges")})


# fmt: on

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


KINDS: tuple[Kind[Stage], ...] = (
    Kind("validate", Validate, "rejects rows that are not JSON or break a rule, and writes them to the quarantine"),
    Kind("transform", Transform, "replaces each row by the answer of a query; null answers are left out"),
    Kind("join", Join, "joins each row with the rows of a named source that have an equal key"),
    Kind("dedupe", Dedupe, "keeps one of the rows with equal keys"),
    Kind("sort", Sort, "sorts all rows; the sort is stable"),
)  # fmt: skip

INDEX_KINDS: tuple[Kind[Index], ...] = (
    Kind("key", KeyIndex, "key index of each part"),
    Kind("set", SetIndex, "key index of all parts together"),
    Kind("graph", GraphIndex, "graph index of each part; only one such index"),
)
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
