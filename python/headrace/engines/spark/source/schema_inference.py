"""Schema inference: find the columns of files by reading every row.

This runs on the driver, in threads. The columns of fragments are merged, and the result does
not depend on where the files are cut.
"""

import os
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import cast

from headrace.engines.spark.source.line_batches import wanted_rows
from headrace.engines.spark.source.meta_columns import COLUMNS
from headrace.engines.spark.source.options import ReadOptions
from headrace.engines.spark.source.partitions import plan
from headrace.errors import UsageError
from headrace.kernel.arrow.columns import Inference, Mixed, Shape
from headrace.kernel.programs import Output, RowQuery
from headrace.kernel.rows import RowBatch
from headrace.kernel.rows import rows_of as rows_of_text
from headrace.kernel.values import MAX_DEPTH
from headrace.physical.fragment import Fragment
from headrace.physical.query_plan import row_program


def found_columns(options: ReadOptions) -> list[tuple[str, Shape]]:
    """Return the columns of a read without a given schema."""
    own = {**{name: _own(name) for name in COLUMNS}, options.corrupt: "string"}
    columns: dict[str, Shape]
    if options.variant is not None:
        columns = {options.variant: "variant"}
    else:
        columns = _inferred(options, own)
    if options.columns is None:
        return list(columns.items())
    return _chosen(columns, own, options.columns)


def _inferred(options: ReadOptions, own: dict[str, Shape]) -> dict[str, Shape]:
    found = Inference()
    fragments = [part for parts in plan(options, number_rows=False) for part in parts]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for part in pool.map(partial(_look, options), fragments):
            found.merge(part)
    fields, mixed = found.fields()
    _warn(mixed, [name for name, _shape in fields if name in own])
    columns = {name: shape for name, shape in fields if name not in own}
    if found.faulty and options.mode == "PERMISSIVE" and options.bad_records is None:
        columns[options.corrupt] = "string"
    return columns


def _own(name: str) -> Shape:
    default, *_others = COLUMNS[name]
    return {"integer": 8} if default == "bigint" else default


def _chosen(
    columns: dict[str, Shape], own: dict[str, Shape], names: tuple[str, ...]
) -> list[tuple[str, Shape]]:
    known = columns | own
    if unknown := [name for name in names if name not in known]:
        raise UsageError(
            f"option columns: no row has {', '.join(unknown)}; "
            f"there are {', '.join(columns) or 'none'}, and {', '.join(own)}"
        )
    return [(name, known[name]) for name in names]


def _warn(mixed: list[Mixed], shadowed: list[str]) -> None:
    if mixed:
        places = "; ".join(f"{place.path} ({place.kinds})" for place in mixed)
        warnings.warn(
            f"values of several kinds are in {places}: such columns are VARIANT, or "
            "strings where VARIANT would lose digits; .schema(...) sets other types",
            stacklevel=2,
        )
    if shadowed:
        warnings.warn(
            f"rows have fields called {', '.join(shadowed)}, which are names of headrace's "
            "own columns: the fields are left out; option query can rename them",
            stacklevel=2,
        )


def _look(options: ReadOptions, fragment: Fragment) -> Inference:
    found = Inference()
    queries = [
        RowQuery(
            row_program(query),
            output=output,
            nulls=False,
            limit=None,
            max_depth=MAX_DEPTH,
        )
        for query, output in _queries(options)
    ]
    for batch in wanted_rows(fragment, options):
        for answers in _answers(queries, batch):
            found.add(answers)
    return found


def _queries(options: ReadOptions) -> Iterator[tuple[str, Output]]:
    if options.where is not None:
        yield options.where, "match"
    if options.query is not None:
        yield options.query, "answer"


def _answers(queries: list[RowQuery], batch: RowBatch) -> Iterator[RowBatch]:
    """Run the queries over a batch, each over the answers of the one before."""
    if not queries:
        yield batch
        return
    first, *others = queries
    start = 0
    while start < len(batch):
        answers = first.answer(batch, start)
        start = answers.end
        for lines in rows_of_text(answers.lines):
            yield from _answers(others, lines)


# Shapes of the core as types of Spark


def spark_type(shape: Shape) -> object:
    """Return the Spark type of a shape, as in the JSON of a Spark schema."""
    match shape:
        case str():
            return shape
        case {"integer": 8}:
            return "long"
        case {"decimal": [precision, scale]}:
            return f"decimal({precision},{scale})"
        case {"struct": fields}:
            return spark_struct(cast("list[tuple[str, Shape]]", fields))
        case {"array": element}:
            return {
                "type": "array",
                "elementType": spark_type(cast("Shape", element)),
                "containsNull": True,
            }
        case {"map": value}:
            return {
                "type": "map",
                "keyType": "string",
                "valueType": spark_type(cast("Shape", value)),
                "valueContainsNull": True,
            }
    raise AssertionError(f"inference never returns the shape {shape}")


def spark_struct(fields: Iterable[tuple[str, Shape]]) -> dict[str, object]:
    """Return the Spark struct of these fields, as in the JSON of a Spark schema."""
    return {
        "type": "struct",
        "fields": [
            {"name": name, "type": spark_type(shape), "nullable": True, "metadata": {}}
            for name, shape in fields
        ],
    }
