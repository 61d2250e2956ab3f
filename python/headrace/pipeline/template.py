"""Pipeline template: a TOML file with every field and its meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.pipeline.spec import INDEX_KINDS, KINDS, OUTPUT_FIELDS, SOURCE_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.pipeline.spec import Field

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
    lines = [_BEGIN.format(name=name), *_fields(SOURCE_FIELDS), _NAMES]
    for kind in KINDS:
        off = "" if kind.name == "validate" else "# "
        lines += [
            f"\n{off}[[stage]]  # {kind.doc}\n",
            f'{off}kind = "{kind.name}"\n',
            *_fields(kind.fields),
        ]
    lines += ["\n[output]  # the set of shards in result/\n", *_fields(OUTPUT_FIELDS)]
    lines.append("\n# Indexes of the shards.\n")
    for index in INDEX_KINDS:
        lines += [
            f"\n# [[index]]  # {index.doc}\n",
            f'# kind = "{index.name}"\n',
            *_fields(index.fields),
        ]
    return "".join(lines)


def _fields(fields: Iterable[Field]) -> Iterator[str]:
    for field in fields:
        off = "" if field.name in _WRITTEN else "# "
        allowed = f": {', '.join(field.choices)}" if field.choices else ""
        yield f"{off}{field.name} = {field.example or _spelled(field)}  # {field.doc}{allowed}\n"


def _spelled(field: Field) -> str:
    """Return the default of a field, as TOML."""
    return str(field.default) if field.kind == "switch" else f'"{field.default}"'
