"""Answers that a candidate left in a file, as a digest that can be compared.

Two answers are equal if their values are: `5.0` equals `5`, keys of objects have no order, and
decimals are compared to twelve digits: sums of the data sets have fewer, and what adding in
another order changes lies beyond. Equal bytes are decoded once, since most candidates write the same ones in every round.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from benchmarks.candidate import Candidate, from_probe, probe, program
from benchmarks.probe import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

Order: TypeAlias = Literal["kept", "any"]
"""Whether the order of the rows is part of the answer."""
Content: TypeAlias = Literal["lines", "parquet", "arrow"]

DIGITS = 12


def plain_number(text: str) -> float:
    """Read a decimal: whole numbers are integers, others are rounded.

    >>> [plain_number(text) for text in ("5.0", "0.30000000000000004")]
    [5, 0.3]
    """
    value = float(f"{float(text):.{DIGITS}g}")
    return int(value) if value.is_integer() else value


decode = json.JSONDecoder(parse_float=plain_number).decode
encode = json.JSONEncoder(sort_keys=True).encode


def canonical_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Rewrite values so that equal ones have the same bytes.

    >>> list(canonical_lines([b'{"b": 1.0, "a": null}', b"plain text"]))
    [b'{"a": null, "b": 1}', b'"plain text"']
    """
    for line in lines:
        text = line.decode()
        try:
            value: Any = decode(text)
        except ValueError:
            value = text.removesuffix("\n")
        yield encode(value).encode()


def canonical_table(path: Path, content: Content) -> bytes:
    """Rewrite the columns of a Parquet or Arrow file as CSV."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    read = {"parquet": pa.parquet.read_table, "arrow": pa.feather.read_table}[content]
    table = read(path)
    wide = {"int64": pa.int64(), "double": pa.float64()}
    kinds = [wide.get(str(field.type), pa.string()) for field in table.schema]
    fields = zip(table.column_names, kinds, strict=True)
    out = pa.BufferOutputStream()
    pa.csv.write_csv(table.cast(pa.schema(list(fields))), out)
    rewritten: bytes = out.getvalue().to_pybytes()
    return rewritten


def digest(pieces: Iterable[bytes]) -> str:
    """Return the SHA-256 of lines, and how many there are."""
    state, count = hashlib.sha256(), 0
    for piece in pieces:
        state.update(piece + b"\n")
        count += 1
    return f"{count} {state.hexdigest()[:16]}"


def bytes_of(path: Path) -> str:
    """Return the digest of a file as it is."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def decoded(_bytes: str, path: Path, order: Order, content: Content) -> str:
    """Return the answer of a file with these bytes."""
    if content != "lines":
        return digest([canonical_table(path, content)])
    with path.open("rb") as file:
        lines = canonical_lines(file)
        return digest(lines if order == "kept" else sorted(lines))


def answer(path: Path, order: Order = "kept", content: Content = "lines") -> str:
    """Return the answer in a file, and remove it, so that no later run passes for this one."""
    if not path.exists():
        raise ValueError(f"nothing was written to {path.name}")
    found = decoded(bytes_of(path), path, order, content)
    path.unlink()
    return found


def written_probe(
    name: str,
    function: Callable[..., Outcome],
    *arguments: object,
    written: Path,
    modules: tuple[str, ...],
    order: Order = "kept",
    content: Content = "lines",
) -> Candidate:
    """Make a candidate of a function that writes its answer to the file of its last argument."""

    def outcome(stdout: bytes) -> Outcome:
        figures = from_probe(stdout).figures
        return Outcome(answer(written, order, content), figures)

    made = probe(name, function, *arguments, written, modules=modules)
    return Candidate(made.name, made.argv, outcome, made.modules)


def written_program(
    name: str, *argv: str | int | Path, written: Path, order: Order = "kept"
) -> Candidate:
    """Make a candidate of a program that prints its answer."""

    def outcome(_stdout: bytes) -> Outcome:
        return Outcome(answer(written, order))

    return program(name, *argv, outcome=outcome, written=written)
