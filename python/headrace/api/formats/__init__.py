"""The formats of answers: a table, which the command line, `QueryResult` and the manual read.

A format is a function from lines of JSON, many at a time, to the bytes of a file. It
holds a bounded part of them, so a file of any size can be made; where it must know
its columns, it takes them from the query or from the first answers.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast

from headrace.errors import UsageError
from headrace.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow

FormatName: TypeAlias = Literal[
    "ndjson", "json", "raw", "table", "csv", "tsv", "parquet"
]


@record
class Layout:
    """How answers are laid out.

    `columns`: those that the query names, if it does. `width`: that of the terminal, if the
    output is one. `schema`: the types of columns, if they are given. `note` is called with facts
    that a reader of the output must know.
    """

    note: Callable[[str], object]
    columns: tuple[str, ...] | None = None
    width: int | None = None
    schema: pyarrow.Schema | None = None


Write: TypeAlias = "Callable[[Iterator[bytes], Layout], Iterable[bytes]]"
"""Turns answers, whole lines of JSON, into the bytes of a file."""


class Format(NamedTuple):
    """One format: the function ``name`` of the module ``headrace.api.formats.<module>``.

    Lines of JSON have no module: they are the answers as they are.

    `live`: answers leave as they come. Otherwise the first ones are held to find the
    columns, unless the query names them. `binary`: nothing for a terminal, and
    compressed already. `typed`: columns have types, which may be given.
    """

    name: FormatName
    module: str
    doc: str
    suffixes: tuple[str, ...] = ()
    live: bool = True
    binary: bool = False
    typed: bool = False


FORMATS: tuple[Format, ...] = (
    Format("ndjson", "", "one answer on a line", (".jsonl", ".ndjson")),
    Format("json", "json_text", "one array of all answers", (".json",)),
    Format("raw", "json_text", "strings without quotes, all else as JSON"),
    Format(
        "table", "table", "aligned columns for people; long values are cut", live=False
    ),
    Format(
        "csv",
        "delimited",
        "comma-separated values with a header (RFC 4180); nested values as JSON",
        (".csv",),
        live=False,
    ),
    Format(
        "tsv",
        "delimited",
        r"tab-separated values with a header; \t, \n, \r, \\ stand for what they name",
        (".tsv",),
        live=False,
    ),
    Format(
        "parquet",
        "parquet",
        "typed columns (needs pyarrow); values of several types as JSON text",
        (".parquet",),
        live=False,
        binary=True,
        typed=True,
    ),
)

CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2", ".xz": "xz"}
"""The codec of each ending of a file name."""


class Target(NamedTuple):
    """What a file is written as."""

    format: Format
    codec: str


def named(name: str) -> Format:
    """Return the format called `name`."""
    for each in FORMATS:
        if each.name == name:
            return each
    names = ", ".join(each.name for each in FORMATS)
    raise UsageError(f"there is no format {name!r}; there are {names}")


def target(path: str | os.PathLike[str], name: str | None = None) -> Target:
    """Choose format and compression by the end of a file name.

    >>> target("out.csv.gz").format.name, target("out.csv.gz").codec
    ('csv', 'gzip')
    """
    text = os.fspath(path).lower()
    ending = next((each for each in CODECS if text.endswith(each)), "")
    codec = CODECS.get(ending, "none")
    stem = text.removesuffix(ending)
    if name is None:
        chosen = next((each for each in FORMATS if stem.endswith(each.suffixes)), None)
    else:
        chosen = named(name)
    if chosen is None:
        known = ", ".join(suffix for each in FORMATS for suffix in each.suffixes)
        raise UsageError(
            f"{os.fspath(path)}: which format? name one (--format), or let the file "
            f"end in {known}, also with {', '.join(CODECS)}"
        )
    if chosen.binary and codec != "none":
        raise UsageError(
            f"{os.fspath(path)}: {chosen.name} is compressed inside; leave out {ending}"
        )
    return Target(chosen, codec)


def load(chosen: Format) -> Write:
    """Import the function of a format."""
    if chosen.name == "ndjson":
        return lambda answers, _layout: answers
    module = import_module(f"headrace.api.formats.{chosen.module}")
    return cast("Write", getattr(module, chosen.name))
