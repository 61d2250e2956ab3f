"""What a Spark read was asked for, as plain data.

Spark hands options over as text, their names in lower case. They are read when
``load()`` is called, so that a misspelt name fails there and not in a task.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.errors import UsageError
from headrace.store.sizes import format_size, parse_size

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Option:
    """An option of the source; `default` and `most` are sizes in bytes."""

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
        "how many bytes of files one task reads",
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
        "how many bytes of lines one Arrow batch holds",
        default=4 << 20,
        most=1 << 29,
    ),
)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """One read, apart from its schema."""

    paths: tuple[str, ...]
    name_glob: str | None
    partition_bytes: int
    max_line: int
    batch_bytes: int


def read_options(given: Mapping[str, str]) -> ReadOptions:
    """Translate Spark's options; a name that is not in `OPTIONS` is refused.

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
    return ReadOptions(
        paths=_paths(values),
        name_glob=values.get("pathglobfilter"),
        partition_bytes=sizes["maxpartitionbytes"],
        max_line=sizes["maxlinebytes"],
        batch_bytes=sizes["maxbatchbytes"],
    )


def _paths(values: Mapping[str, str]) -> tuple[str, ...]:
    paths = [values["path"]] if "path" in values else []
    if "paths" in values:
        # The compiled core stays out of what Spark imports to discover us.
        from headrace.kernel.values import parse

        several = parse(values["paths"].encode())
        if not isinstance(several, list):
            raise UsageError(f"option paths is not a JSON list: {values['paths']}")
        paths += [str(path) for path in several]
    if not paths:
        raise UsageError("format headrace needs a path: .load(path)")
    return tuple(paths)


def _size(option: Option, text: str | None) -> int:
    assert option.default is not None
    assert option.most is not None
    if text is None:
        return option.default
    try:
        size = parse_size(text)
    except UsageError as error:
        raise UsageError(f"option {option.name}: {error}") from error
    if not 1 <= size <= option.most:
        raise UsageError(
            f"option {option.name} is {text}; "
            f"it must be from 1 to {format_size(option.most)}"
        )
    return size
