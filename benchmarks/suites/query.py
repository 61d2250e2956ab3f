"""Queries on one thread: a field, whole rows, a count and a sum.

Every candidate gets the names of the columns and writes the answer as lines to a file, so that
the bytes can be compared. DuckDB runs twice where it can also pass rows on as text: the faster
one is the reference. The queries run again over a file that is small enough for jq.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from benchmarks.candidate import (
    AtMostTimes,
    Benchmark,
    Candidate,
    Question,
    Ref,
    probe,
    program,
)
from benchmarks.generate import DATA, Extent, data_file
from benchmarks.probe import Meter, Outcome, value_digest
from benchmarks.suite import Settings, Suite

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars

    from benchmarks.candidate import Target

Task: TypeAlias = Literal["project", "rare", "half", "count", "sum"]
Care: TypeAlias = Literal["exactly", "loosely"]
"""How answers are compared: byte by byte, or so that 5 and 5.0 are the same."""
Form: TypeAlias = Literal["columns", "text"]
"""The types with which DuckDB reads rows."""
Type: TypeAlias = "str | list[Type] | Mapping[str, Type]"
"""int, float, bool, str, a list of one type, or the fields of a record."""

LABELS: dict[Task, str] = {
    "project": "one field",
    "rare": "1 % of the rows",
    "half": "50 % of the rows",
    "count": "count of 50 %",
    "sum": "sum of a field",
}
# jq takes 20 times as long as the others.
JQ_SHARE = 20
JQ_RATIO = 0.1


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of rows; of 1 % the `field` is at least `rare`, of 50 % at least `half`.

    `slow_polars`: whole rows would take Polars a minute, so it runs on the
    smaller file.
    """

    columns: Mapping[str, Type]
    field: str
    rare: float
    half: float
    slow_polars: bool = False


SHAPES = {
    "narrow": Shape(
        {
            "id": "int",
            "ts": "int",
            "level": "str",
            "latency": "float",
            "user": "str",
            "msg": "str",
        },
        "latency",
        99.05,
        50,
    ),
    "wide": Shape(
        {
            "id": "int",
            **{
                f"col_{column:02}": ("int", "float", "bool", "str", "str")[column % 5]
                for column in range(1, 50)
            },
        },
        "col_05",
        990_000_000,
        500_000_000,
    ),
    "nested": Shape(
        {
            "id": "int",
            "user": {
                "name": "str",
                "quote": "str",
                "address": {
                    "city": "str",
                    "country": "str",
                    "geo": {"lat": "float", "lon": "float"},
                },
                "tags": ["str"],
            },
            "items": [
                {
                    "sku": "str",
                    "price": "float",
                    "options": {"size": "str", "stock": [{"shelf": "str"}]},
                }
            ],
            "trace": {"steps": [{"at": "str", "ok": "bool"}], "note": "str"},
        },
        "user.address.geo.lat",
        89.1,
        45,
        slow_polars=True,
    ),
}


def bound(shape: Shape, task: Task) -> float:
    """Return the limit that the field must reach."""
    return shape.rare if task == "rare" else shape.half


def number_text(text: str | float) -> str:
    """Round so that sums of doubles agree in any order."""
    return f"{float(text):.6g}"


def answer(lines: bytes, task: Task, care: Care) -> str:
    """Make an answer of lines of output."""
    if task in ("count", "sum"):
        return number_text(lines.decode())
    if care == "loosely":
        values = (json.loads(line, parse_int=float) for line in lines.splitlines())
        return value_digest(values)
    return hashlib.sha256(lines).hexdigest()[:16]


def output() -> tempfile._TemporaryFileWrapper[bytes]:
    """Make a file for an answer; it goes away with the probe."""
    DATA.mkdir(parents=True, exist_ok=True)
    return tempfile.NamedTemporaryFile(dir=DATA, suffix=".out", buffering=0)


def headrace_query(shape: Shape, task: Task) -> tuple[str, bool]:
    """Return the query, and whether it is a stream query."""
    match task:
        case "project":
            return "$.id", False
        case "rare" | "half":
            return f"$.filter({shape.field} >= {bound(shape, task)})", True
        case "count":
            return f"$.filter({shape.field} >= {bound(shape, task)}).count()", True
        case "sum":
            return f"$.sum({shape.field})", True


def load_headrace() -> None:
    """Load what is loaded when first used, as the others load it when imported."""
    from headrace import query

    query("$", io.BytesIO(b"{}"), stream=True).write(io.BytesIO())


def headrace_probe(path: str, name: str, task: Task, care: Care) -> Outcome:
    """Write the answer to a file; everything is read and checked in this thread."""
    import headrace

    load_headrace()
    query, stream = headrace_query(SHAPES[name], task)
    with output() as file:
        with Meter() as meter:
            headrace.query(query, path, stream=stream, threads=1).write(file)
        lines = Path(file.name).read_bytes()
    return Outcome(answer(lines, task, care), meter.figures)


def duckdb_type(kind: Type) -> str:
    """Write a type as DuckDB does."""
    match kind:
        case str():
            names = {"int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN"}
            return names.get(kind, "VARCHAR")
        case list():
            return f"{duckdb_type(kind[0])}[]"
        case _:
            fields = (f'"{key}" {duckdb_type(of)}' for key, of in kind.items())
            return f"STRUCT({', '.join(fields)})"


def duckdb_source(path: str, shape: Shape, form: Form) -> tuple[str, str, str]:
    """Write the table, its field, and how rows are written as they came."""
    if form == "columns":
        pairs = (f"{key}: '{duckdb_type(of)}'" for key, of in shape.columns.items())
        table = f"read_ndjson('{path}', columns={{{', '.join(pairs)}}})"
        return table, '"' + shape.field.replace(".", '"."') + '"', "format json"
    field = f"(json->>'$.{shape.field}')::DOUBLE"
    plain = "format csv, header false, quote '', escape '', delimiter '\x01'"
    return f"read_ndjson_objects('{path}')", field, plain


def duckdb_statement(
    path: str, shape: Shape, task: Task, written: str, form: Form
) -> str:
    """Write the query in SQL."""
    table, field, rows = duckdb_source(path, shape, form)
    condition = f"{field} >= {bound(shape, task)}"
    match task:
        case "project":
            chosen = "json->>'$.id'" if form == "text" else "id"
            select, format_ = (
                f"select {chosen} from {table}",
                "format csv, header false",
            )
        case "rare" | "half":
            chosen = "json" if form == "text" else "*"
            select, format_ = f"select {chosen} from {table} where {condition}", rows
        case "count":
            return f"select count(*) from {table} where {condition}"
        case "sum":
            return f"select sum({field}) from {table}"
    return f"copy ({select}) to '{written}' ({format_})"


def duckdb_probe(path: str, name: str, task: Task, form: Form) -> Outcome:
    """One thread, given columns; or each row as text."""
    import duckdb

    with output() as file:
        statement = duckdb_statement(path, SHAPES[name], task, file.name, form)
        with duckdb.connect(config={"threads": 1}) as connection, Meter() as meter:
            found = connection.execute(statement).fetchone()
        lines = Path(file.name).read_bytes()
    if task in ("count", "sum") and found is not None:
        lines = str(found[0]).encode()
    return Outcome(answer(lines, task, "exactly"), meter.figures)


def polars_type(kind: Type) -> polars.DataType:
    """Write a type as Polars does."""
    import polars as pl

    match kind:
        case str():
            names = {"int": pl.Int64(), "float": pl.Float64(), "bool": pl.Boolean()}
            return names.get(kind, pl.String())
        case list():
            return pl.List(polars_type(kind[0]))
        case _:
            return pl.Struct({key: polars_type(of) for key, of in kind.items()})


def polars_frame(frame: polars.LazyFrame, shape: Shape, task: Task) -> polars.LazyFrame:
    """Write the query as Polars does."""
    import polars as pl

    first, *steps = shape.field.split(".")
    field = pl.col(first)
    for step in steps:
        field = field.struct.field(step)
    condition = field >= bound(shape, task)
    match task:
        case "project":
            return frame.select("id")
        case "rare" | "half":
            return frame.filter(condition)
        case "count":
            return frame.filter(condition).select(pl.len())
        case "sum":
            return frame.select(field.sum())


def polars_probe(path: str, name: str, task: Task, care: Care) -> Outcome:
    """One thread, given columns, streamed output."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    import polars as pl

    shape = SHAPES[name]
    schema = {key: polars_type(of) for key, of in shape.columns.items()}
    with output() as file:
        with Meter() as meter:
            frame = polars_frame(pl.scan_ndjson(path, schema=schema), shape, task)
            if task == "project":
                frame.sink_csv(file.name, include_header=False)
            elif task in ("rare", "half"):
                frame.sink_ndjson(file.name)
            else:
                file.write(str(frame.collect().item()).encode())
        lines = Path(file.name).read_bytes()
    return Outcome(answer(lines, task, care), meter.figures)


def jq_candidate(path: Path, shape: Shape, task: Task) -> Candidate:
    """Write the query as jq does."""
    condition = f"select(.{shape.field} >= {bound(shape, task)})"
    filters = {
        "project": ("-c", ".id"),
        "rare": ("-c", condition),
        "half": ("-c", condition),
        "count": ("-n", f"reduce (inputs | {condition}) as $_ (0; . + 1)"),
        "sum": ("-n", f"reduce inputs as $row (0; . + $row.{shape.field})"),
    }

    def outcome(stdout: bytes) -> Outcome:
        return Outcome(answer(stdout, task, "loosely"))

    return program("jq", "jq", *filters[task], path, outcome=outcome)


def main_question(path: Path, name: str, task: Task) -> Question:
    """Query the large file."""
    candidates = [
        probe(
            "headrace",
            headrace_probe,
            path,
            name,
            task,
            "exactly",
            modules=("headrace",),
        ),
        probe("DuckDB", duckdb_probe, path, name, task, "columns", modules=("duckdb",)),
    ]
    if task not in ("count", "sum"):
        candidates.append(
            probe(
                "DuckDB, rows as text",
                duckdb_probe,
                path,
                name,
                task,
                "text",
                modules=("duckdb",),
            )
        )
    if not is_slow_polars(name, task):
        candidates.append(
            probe(
                "Polars", polars_probe, path, name, task, "exactly", modules=("polars",)
            )
        )
    size = path.stat().st_size
    return Question(f"{LABELS[task]}, {name} rows", tuple(candidates), size)


def is_slow_polars(name: str, task: Task) -> bool:
    """Whether Polars runs on the smaller file only."""
    return SHAPES[name].slow_polars and task in ("rare", "half")


def small_question(path: Path, name: str, task: Task) -> Question:
    """Query the smaller file."""
    candidates = [
        probe(
            "headrace",
            headrace_probe,
            path,
            name,
            task,
            "loosely",
            modules=("headrace",),
        ),
        jq_candidate(path, SHAPES[name], task),
    ]
    if is_slow_polars(name, task):
        candidates.append(
            probe(
                "Polars", polars_probe, path, name, task, "loosely", modules=("polars",)
            )
        )
    size = path.stat().st_size
    return Question(f"{LABELS[task]}, fewer {name} rows", tuple(candidates), size)


def targets(question: Question) -> list[Target]:
    """Take no more CPU time than any other, and a tenth of jq's."""
    ours = Ref(question.label, "headrace")
    return [
        AtMostTimes(
            ours,
            Ref(question.label, other.name),
            "cpu",
            JQ_RATIO if other.name == "jq" else 1,
        )
        for other in question.candidates[1:]
    ]


def build(settings: Settings) -> Benchmark:
    """Run all queries over every kind of rows."""
    questions = []
    for name in SHAPES:
        large = data_file(name, Extent(settings.size))
        small = data_file(name, Extent(settings.size // JQ_SHARE))
        for task in get_args(Task):
            questions.append(main_question(large, name, task))
            questions.append(small_question(small, name, task))
    return Benchmark(
        SUITE.name,
        SUITE.doc,
        tuple(questions),
        metric="cpu",
        targets=tuple(each for question in questions for each in targets(question)),
    )


SUITE = Suite("query", "Ask a file on one thread: CPU time.", build)
