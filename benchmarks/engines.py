"""Probes of Headrace, DuckDB and Polars: one query, its answer written to a file.

DuckDB and Polars run the same SQL over files with given columns. The file is the one that
`benchmarks.answers` reads; only the query and the writing are measured.
"""

from __future__ import annotations

import io
import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from benchmarks.columns import COLUMNS, duckdb_type, polars_type
from benchmarks.generate import Extent, data_file
from benchmarks.probe import Meter, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow

Form: TypeAlias = Literal["values", "rows", "parquet", "arrow"]
"""How an answer is written: a value on each line, a JSON object on each line, as a Parquet file, or
as an Arrow table in memory."""


def load_headrace() -> None:
    """Load the modules of a query before it is measured, as the other libraries do at import."""
    from headrace import query

    one_row = data_file("events", Extent(1, "rows"))
    for text in ("{id}", "$.rows().filter(id == 0).group(id, {n: count()}).sort(n)"):
        query(text, one_row).write(io.BytesIO())


def load_arrow(form: Form) -> None:
    """Load pyarrow, if the answer is a table, before it is measured."""
    if form in ("parquet", "arrow"):
        import_module("pyarrow.parquet")


def finished(meter: Meter, table: pyarrow.Table | None, written: str) -> Outcome:
    """Return what was measured; a table that was made in memory is then written."""
    if table is not None:
        import pyarrow.feather

        pyarrow.feather.write_feather(table, written, compression="uncompressed")
    return Outcome("", meter.figures)


def headrace_probe(
    tables: Mapping[str, str], query: str, form: Form, threads: int, written: str
) -> Outcome:
    """Run a query; the first file is `$`, and others have the names of their data sets."""
    import headrace

    load_headrace()
    load_arrow(form)
    main, *others = tables
    names = {name: tables[name] for name in others}
    table = None
    with Path(written).open("wb", buffering=0) as file, Meter() as meter:
        result = headrace.query(query, tables[main], names=names, threads=threads)
        if form == "arrow":
            table = result.to_arrow()
        else:
            result.write(file, format="parquet" if form == "parquet" else "ndjson")
    return finished(meter, table, written)


def headrace_join_probe(left: str, right: str, key: str, written: str) -> Outcome:
    """Join by `Dataset.join`, as the command ``headrace join`` does."""
    import headrace

    load_headrace()
    with Path(written).open("wb", buffering=0) as file, Meter() as meter:
        file.writelines(headrace.open(left).join(right, key).pieces())
    return Outcome("", meter.figures)


def duckdb_table(name: str, path: str, *, text: bool) -> str:
    """Write the call that reads a file: its columns, or each row as text."""
    if text:
        return f"read_ndjson_objects('{path}')"
    pairs = (f"{key}: '{duckdb_type(of)}'" for key, of in COLUMNS[name].items())
    return f"read_ndjson('{path}', columns={{{', '.join(pairs)}}})"


# One column, and nothing that changes its text.
PLAIN = "format csv, header false, quote '', escape '', delimiter '\x01'"


def duckdb_probe(
    tables: Mapping[str, str], sql: str, form: Form, threads: int, written: str
) -> Outcome:
    """Run SQL; a query of the column `json` reads each row as text."""
    import duckdb

    load_arrow(form)
    text = "json" in sql
    formats: dict[Form, str] = {
        "values": PLAIN,
        "rows": PLAIN if text else "format json",
        "parquet": "format parquet",
    }
    with duckdb.connect(config={"threads": threads}) as connection:
        for name, path in tables.items():
            source = duckdb_table(name, path, text=text)
            connection.execute(f"create view {name} as select * from {source}")
        table = None
        with Meter() as meter:
            if form == "arrow":
                table = connection.sql(sql).to_arrow_table()
            else:
                connection.execute(f"copy ({sql}) to '{written}' ({formats[form]})")
    return finished(meter, table, written)


def polars_probe(
    tables: Mapping[str, str], sql: str, form: Form, threads: int, written: str
) -> Outcome:
    """Run SQL by the streaming engine."""
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    import polars as pl

    load_arrow(form)
    schemas = {
        name: {key: polars_type(of) for key, of in COLUMNS[name].items()}
        for name in tables
    }
    table = None
    with Meter() as meter:
        frames = {
            name: pl.scan_ndjson(path, schema=schemas[name])
            for name, path in tables.items()
        }
        answer = pl.SQLContext(frames).execute(sql)
        match form:
            case "values":
                answer.sink_csv(written, include_header=False)
            case "rows":
                answer.sink_ndjson(written)
            case "parquet":
                answer.sink_parquet(written)
            case "arrow":
                table = answer.collect(engine="streaming").to_arrow()
    return finished(meter, table, written)
