"""TOML reader for pipelines, and a template, by the tables of `headrace.pipeline.spec`.

Errors name the table and the field; an unknown field is an error, because it is probably
misspelt.
"""

import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from headrace.errors import SourceNotFoundError, UnreadableError, UsageError
from headrace.pipeline.spec import (
    INDEX_KINDS,
    KINDS,
    Field,
    FieldKind,
    Kind,
    Output,
    Pipeline,
    Source,
    fields_of,
)
from headrace.store.files.units import parse_size
from headrace.suggestion import did_you_mean

K = TypeVar("K")
T = TypeVar("T")

_TOP = ("name", "directory", "memory", "source", "names", "stage", "output", "index")


def read(path: str | os.PathLike[str]) -> Pipeline:
    """Read a pipeline; errors begin with the name of the file."""
    where = os.fspath(path)
    try:
        text = Path(path).read_bytes().decode()
        table = tomllib.loads(text)
    except FileNotFoundError:
        raise SourceNotFoundError(where) from None
    except OSError as error:
        raise UnreadableError(where, error.strerror or str(error)) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{where}: it is not TOML: {error}") from None
    try:
        return pipeline_of(table, base=str(Path(path).absolute().parent))
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error


def pipeline_of(table: Mapping[str, Any], *, base: str = ".") -> Pipeline:
    """Return the pipeline in the tables of a file."""
    _refuse_unknown("", table, _TOP)
    for needed in ("name", "directory", "source"):
        if needed not in table:
            raise UsageError(f"`{needed}` is missing")
    return Pipeline(
        name=_text("name", table["name"]),
        directory=_text("directory", table["directory"]),
        source=Source(**_fields("source", table["source"], fields_of(Source))),
        stages=[
            _of_kind("stage", number, stage, KINDS)
            for number, stage in enumerate(_several("stage", table.get("stage", [])), 1)
        ],
        names={
            name: _texts(f"names.{name}", paths)
            for name, paths in _table("names", table.get("names", {})).items()
        },
        output=Output(**_fields("output", table.get("output", {}), fields_of(Output))),
        indexes=[
            _of_kind("index", number, index, INDEX_KINDS)
            for number, index in enumerate(_several("index", table.get("index", [])), 1)
        ],
        memory=_size("memory", table.get("memory", "1GiB")),
        base=base,
    )


def _several(what: str, value: object) -> list[object]:
    if isinstance(value, dict):
        raise UsageError(f"{what} must be an array of tables; write [[{what}]]")
    return _checked(what, value, list, "a list")


def _of_kind(what: str, number: int, value: object, known: Sequence[Kind[K]]) -> K:
    """Return the stage or index in a table."""
    where = f"{what} {number}"
    table = dict(_table(where, value))
    kinds = {kind.name: kind for kind in known}
    name = table.pop("kind", None)
    if name not in kinds:
        reason = "has no `kind`" if name is None else f"kind {name!r} is not known"
        raise UsageError(f"{where}: {reason}; there are {', '.join(kinds)}")
    kind = kinds[name]
    return kind.make(**_fields(f"{where} ({name})", table, kind.fields))


def _fields(where: str, value: object, known: Sequence[Field]) -> dict[str, Any]:
    table = _table(where, value)
    _refuse_unknown(f"{where}: ", table, [each.name for each in known])
    for field in known:
        if field.default is None and field.name not in table:
            raise UsageError(f"{where}: `{field.name}` is missing: {field.doc}")
    made = {}
    for field in known:
        if field.name in table:
            given = _READ[field.kind](f"{where}: {field.name}", table[field.name])
            if field.choices and given not in field.choices:
                raise UsageError(
                    f"{where}: {field.name} is {given!r}; "
                    f"must be one of {', '.join(field.choices)}"
                    f"{did_you_mean(given, field.choices)}"
                )
            made[field.attribute] = given
    return made


def _refuse_unknown(where: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
    if unknown := [name for name in table if name not in known]:
        hint = did_you_mean(unknown[0], known)
        raise UsageError(
            f"{where}there is no `{unknown[0]}`; there are {', '.join(known)}{hint}"
        )


def _checked(where: str, value: object, kind: type[T], what: str) -> T:
    """Return a value of a type; raise if it is of another one, also of a subtype."""
    if type(value) is not kind:
        raise UsageError(f"{where} is {value!r}; must be {what}")
    return value


def _text(where: str, value: object) -> str:
    return _checked(where, value, str, "a text")


def _texts(where: str, value: object) -> str | list[str]:
    if isinstance(value, str):
        return value
    return [_text(where, each) for each in _checked(where, value, list, "a list")]


def _table(where: str, value: object) -> dict[str, Any]:
    return _checked(where, value, dict, "a table")


def _text_table(where: str, value: object) -> dict[str, str]:
    table = _table(where, value)
    for name, each in table.items():
        if isinstance(each, dict):
            path = ".".join([name, *list(each)[:1]])
            raise UsageError(
                f'{where}.{name} is a table; write a path in quotes: "{path}"'
            )
    return {name: _text(f"{where}.{name}", each) for name, each in table.items()}


def _size(where: str, value: object) -> int | str:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise UsageError(f"{where} is {value!r}; must be a size such as '64MiB'")
    try:
        parse_size(value)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None
    return value


_READ: dict[FieldKind, Callable[[str, object], object]] = {
    "text": _text,
    "texts": _texts,
    "choice": _text,
    "table": _text_table,
    "size": _size,
    "number": partial(_checked, kind=int, what="an integer"),
    "switch": partial(_checked, kind=bool, what="true or false"),
}


# The template

_BEGIN = """\
# A headrace pipeline. See what it will do, then run it; run it again for new files:
#   headrace pipeline explain {name}.toml
#   headrace pipeline run {name}.toml
# Paths are relative to this file. A line that begins with # shows an optional field, most with
# its default.

name = "{name}"

# The directory of all files that the pipeline writes: result/, quarantine/, reports/.
directory = "{name}-out"

# Limit on the memory of the right sides of joins in each task.
# memory = "1GiB"

[source]
"""

_NAMES = """
# Other sources, which stages name as @users.
[names]
# users = "users.jsonl"

# Stages, in the order of execution.
"""

_WRITTEN = ("paths",)


def template(name: str) -> str:
    """Return a template that runs unchanged, if its source has files."""
    lines = [_BEGIN.format(name=name), *_field_lines(fields_of(Source)), _NAMES]
    for kind in KINDS:
        off = "" if kind.name == "validate" else "# "
        lines += [
            f"\n{off}[[stage]]  # {kind.doc}\n",
            f'{off}kind = "{kind.name}"\n',
            *_field_lines(kind.fields),
        ]
    lines += [
        "\n[output]  # the set of shards in result/\n",
        *_field_lines(fields_of(Output)),
    ]
    lines.append("\n# Indexes of the shards.\n")
    for index in INDEX_KINDS:
        lines += [
            f"\n# [[index]]  # {index.doc}\n",
            f'# kind = "{index.name}"\n',
            *_field_lines(index.fields),
        ]
    return "".join(lines)


def _field_lines(fields: Iterable[Field]) -> Iterator[str]:
    for field in fields:
        off = "" if field.name in _WRITTEN else "# "
        allowed = f": {', '.join(field.choices)}" if field.choices else ""
        yield f"{off}{field.name} = {field.example or _spelled(field)}  # {field.doc}{allowed}\n"


def _spelled(field: Field) -> str:
    """Return the default of a field, as TOML."""
    return str(field.default) if field.kind == "switch" else f'"{field.default}"'
