"""Options of a Spark read, as plain data.

Spark passes options as text, with names in lower case. They are parsed when
``load()`` is called, so that a misspelt name fails there and not in a task.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError, UsageError
from headrace.store.files.source import is_url
from headrace.store.files.units import format_size, parse_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headrace.kernel.key_index import Key
    from headrace.kernel.rows import Decoding

_FILE_URL = re.compile(r"^file:(//(localhost)?(?=/))?")


@dataclass(frozen=True, slots=True)
class Option:
    """An option of the format; `default` and `most` are sizes in bytes."""

    name: str
    doc: str
    default: int | None = None
    most: int | None = None


OPTIONS = (
    Option("path", "a file, directory, glob or URL; `load(path)` sets it"),
    Option("paths", "several of them as a JSON list; `load([...])` sets it"),
    Option("pathGlobFilter", "read only the files whose name matches this glob"),
    Option(
        "maxPartitionBytes",
        "bytes of files that one task reads",
        default=64 << 20,
        most=1 << 62,
    ),
    # Arrow counts the bytes of a binary column in 31 bits; the two limits
    # together stay below that.
    Option(
        "maxLineBytes",
        "a longer line is delivered with `_raw` null",
        default=64 << 20,
        most=1 << 30,
    ),
    Option(
        "maxBatchBytes",
        "bytes of lines in one Arrow batch",
        default=4 << 20,
        most=1 << 29,
    ),
    Option(
        "maxRatio",
        "refuse a compressed file that decodes to more than this many times its size, "
        "from 256 MiB on",
        default=10_000,
        most=1 << 62,
    ),
    Option(
        "maxDecodedBytes",
        "refuse a compressed file that decodes to more bytes; files are not split then",
    ),
    Option(
        "blocks", "`false`: read compressed files in order, even if they have blocks"
    ),
    Option("inferSchema", "`true`: find the columns by reading all files once"),
    Option("columns", "only these of the inferred columns: `id, name`"),
    Option("singleVariantColumn", "the name of one VARIANT column for the whole row"),
    Option("where", "a query; only rows for which it is true are read"),
    Option("query", "a query; the columns are the fields of its answer for each row"),
    Option(
        "keys",
        "a JSON list of keys; only rows with one of them are read, through a key index "
        "where there is one",
    ),
    Option(
        "keysFile", "a file with the keys, one text on each line, instead of `keys`"
    ),
    Option("keyField", "the field of the keys, or several: `bank, account`"),
    Option("indexDir", "the directory of the indexes [default: beside their files]"),
    Option(
        "mode",
        "`PERMISSIVE`, `DROPMALFORMED` or `FAILFAST`: what to do with faulty rows",
    ),
    Option(
        "columnNameOfCorruptRecord",
        "the column for the line of a faulty row, if the schema names it",
    ),
    Option("badRecordsPath", "a directory for faulty rows"),
    Option(
        "timeZone",
        "the zone of timestamps without an offset: `Europe/Berlin`, `+02:00` "
        "[default: the zone of the session when the format was registered]",
    ),
)

MODES = ("PERMISSIVE", "DROPMALFORMED", "FAILFAST")

_INSIDE = {
    "inferschema",
    "columns",
    "singlevariantcolumn",
    "where",
    "query",
    "mode",
    "columnnameofcorruptrecord",
    "badrecordspath",
}


@dataclass(frozen=True, slots=True)
class KeysWanted:
    """The keys of the wanted rows, and the fields that contain them."""

    fields: tuple[str, ...]
    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options of one read; its schema is separate."""

    paths: tuple[str, ...]
    name_glob: str | None
    partition_bytes: int
    max_line: int
    batch_bytes: int
    max_ratio: int = 10_000
    max_decoded: int | None = None
    blocks: bool = True
    mode: str = "PERMISSIVE"
    corrupt: str = "_corrupt_record"
    bad_records: str | None = None
    where: str | None = None
    query: str | None = None
    infer: bool = False
    columns: tuple[str, ...] | None = None
    variant: str | None = None
    keys: KeysWanted | None = None
    index_dir: str | None = None
    time_zone: str | None = None
    looks_inside: bool = False
    """Whether an option needs the lines to be parsed."""

    @property
    def decoding(self) -> Decoding:
        """The limits for decoding compressed files, with one thread in each task."""
        # Spark imports this module to discover the format; the compiled core loads later.
        from headrace.kernel.rows import END, Decoding

        most = END if self.max_decoded is None else self.max_decoded
        return Decoding(1, self.max_ratio, most)


def read_options(given: Mapping[str, str]) -> ReadOptions:
    """Parse Spark's options; refuse a name that is not in `OPTIONS`.

    >>> read_options({"path": "a.jsonl", "maxpartitionbytes": "1MiB"}).partition_bytes
    1048576
    """
    table = {option.name.lower(): option for option in OPTIONS}
    values = {name.lower(): value for name, value in given.items()}
    if unknown := sorted(set(values) - set(table)):
        raise UsageError(
            f"format headrace has no option {', '.join(unknown)}; "
            f"there are {', '.join(option.name for option in OPTIONS)}"
        )
    sizes = {
        name: _size(option, values.get(name))
        for name, option in table.items()
        if option.default is not None
    }
    mode = one_of("mode", values.get("mode", "PERMISSIVE").upper(), MODES)
    if mode == "FAILFAST" and "badrecordspath" in values:
        raise UsageError(
            "mode FAILFAST stops at a faulty row: leave badRecordsPath out"
        )
    bad_records = values.get("badrecordspath")
    if bad_records is not None and is_url(local_path(bad_records)):
        raise UsageError(
            f"option badRecordsPath is {bad_records}; it is a directory of a file system"
        )
    columns, decoded = values.get("columns"), values.get("maxdecodedbytes")
    return ReadOptions(
        paths=_paths(values),
        name_glob=values.get("pathglobfilter"),
        partition_bytes=sizes["maxpartitionbytes"],
        max_line=sizes["maxlinebytes"],
        batch_bytes=sizes["maxbatchbytes"],
        max_ratio=sizes["maxratio"],
        max_decoded=None
        if decoded is None
        else size_option("maxDecodedBytes", decoded),
        blocks=switch("blocks", values.get("blocks", "true")),
        mode=mode,
        corrupt=values.get("columnnameofcorruptrecord", "_corrupt_record"),
        bad_records=bad_records,
        where=_query("where", values.get("where")),
        query=_query("query", values.get("query")),
        infer=switch("inferSchema", values.get("inferschema", "false")),
        columns=None if columns is None else _names("columns", columns),
        variant=values.get("singlevariantcolumn"),
        keys=_keys(values),
        index_dir=values.get("indexdir"),
        time_zone=values.get("timezone"),
        looks_inside=not _INSIDE.isdisjoint(values),
    )


def _keys(values: Mapping[str, str]) -> KeysWanted | None:
    """Return the wanted keys; None to read all rows."""
    listed, path, field = (
        values.get(name) for name in ("keys", "keysfile", "keyfield")
    )
    if listed is None and path is None:
        if field is not None:
            raise UsageError("option keyField needs keys: add option keys or keysFile")
        return None
    if listed is not None and path is not None:
        raise UsageError("options keys and keysFile are alternatives: give one of them")
    if field is None:
        raise UsageError("option keys needs the field of the keys: add option keyField")
    fields = _names("keyField", field)
    if not all(fields):
        raise UsageError(f"option keyField is {field!r}; it names a field, or several")
    if path is not None:
        return KeysWanted(fields, tuple(_lines_of(path)))
    return KeysWanted(fields, tuple(_listed_keys(listed or "", fields)))


def _lines_of(path: str) -> Iterator[str]:
    try:
        text = Path(local_path(path)).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"option keysFile: {path}: {error}") from error
    return filter(None, text.split("\n"))


def _listed_keys(text: str, fields: tuple[str, ...]) -> Iterator[Key]:
    from headrace.kernel.key_index import request

    for key in _json_values("keys", text):
        try:
            request(key, fields)
        except UsageError as error:
            raise UsageError(f"option keys: {error}") from error
        yield key


def one_of(name: str, value: str, values: tuple[str, ...]) -> str:
    """Return a value of an option; refuse any other than these."""
    if value not in values:
        raise UsageError(f"option {name} is {value}; it must be {' or '.join(values)}")
    return value


def switch(name: str, value: str) -> bool:
    """Return the value of an option that is true or false."""
    return one_of(name, value.lower(), ("true", "false")) == "true"


def _names(option: str, text: str) -> tuple[str, ...]:
    """Parse names separated by commas, or a JSON list of names."""
    if text.lstrip().startswith("["):
        return _json_list(option, text)
    return tuple(name.strip() for name in text.split(","))


def _query(name: str, text: str | None) -> str | None:
    """Return the text of a row query; refuse any other query."""
    if text is not None:
        from headrace.physical.query_plan import row_program

        try:
            row_program(text)
        except HeadraceError as error:
            raise UsageError(f"option {name}: {error}") from error
    return text


def local_path(path: str) -> str:
    """Return the path of a ``file:`` URL, and any other text unchanged.

    >>> local_path("file:///data"), local_path("s3://data")
    ('/data', 's3://data')
    """
    return _FILE_URL.sub("", path)


def _paths(values: Mapping[str, str]) -> tuple[str, ...]:
    paths = [values["path"]] if "path" in values else []
    if "paths" in values:
        paths += _json_list("paths", values["paths"])
    if not paths:
        raise UsageError("format headrace needs a path: .load(path)")
    return tuple(paths)


def _json_list(name: str, text: str) -> tuple[str, ...]:
    return tuple(str(one) for one in _json_values(name, text))


def _json_values(name: str, text: str) -> list[Any]:
    # Spark imports this module to discover the format; the compiled core loads later.
    from headrace.kernel.values import InvalidJsonError, parse

    try:
        several = parse(text.encode())
    except InvalidJsonError as error:
        raise UsageError(f"option {name} is not a JSON list: {error}") from error
    if not isinstance(several, list):
        raise UsageError(f"option {name} is not a JSON list: {text}")
    return several


def size_option(name: str, text: str) -> int:
    """Return the size that an option is set to."""
    try:
        return parse_size(text)
    except UsageError as error:
        raise UsageError(f"option {name}: {error}") from error


def _size(option: Option, text: str | None) -> int:
    assert option.default is not None
    assert option.most is not None
    if text is None:
        return option.default
    size = size_option(option.name, text)
    if not 1 <= size <= option.most:
        raise UsageError(
            f"option {option.name} is {text}; "
            f"it must be from 1 to {format_size(option.most)}"
        )
    return size
