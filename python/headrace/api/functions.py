"""Builtins of the query language: their table, and the manual that is made from it."""

from __future__ import annotations

from headrace.kernel.values import Builtin, Example, builtins

ROWS = Builtin(
    name="rows",
    aliases=(),
    group="All rows",
    parameters=(),
    required=0,
    doc="All rows, where `$.rows()` begins a chain: the query is about all of them, and in its stages "
    "`$`, `@` and names are the row. Of one document: its elements, or it as the only row. Inside a stage it is "
    "refused; there `$.rows().max(v) -> m | $.rows().filter(v == m)` names the answer first.",
    examples=(
        Example(
            "$.rows().filter(v > 1).map(id)",
            '[{"id": 1, "v": 2}, {"id": 2, "v": 1}]',
            "[1]",
        ),
        Example(
            "$.rows().max(v) -> m | $.rows().find(v == m).id",
            '[{"id": 1, "v": 2}, {"id": 2, "v": 3}]',
            "2",
        ),
    ),
)
"""`$.rows()` begins a query about all rows; it is in the compiler, not in the core's table."""

_INTRODUCTION = """\
# Functions

<!-- Made by `python -m headrace.api.functions`; change the table, not this file. -->

Every builtin of the query language. `xs.f(a)` and `f(xs, a)` are the same. An argument
that is marked *for each* is evaluated for each element, which is its `@`; a name in it
is a field of the element. Each example is a query, its document where it needs one, and
its answer.
"""


def functions() -> list[Builtin]:
    """Return every builtin of the query language, in the order of the manual.

    >>> [each.name for each in functions()][:3]
    ['rows', 'filter', 'map']
    """
    return [ROWS, *dict.fromkeys(builtins().values())]


def explained(name: str) -> str | None:
    """Return the manual entry of a name, also with ``on:``; None if there is no such builtin.

    >>> print((explained("rows") or "").splitlines()[0], explained("nope"))
    rows() None
    """
    table = {**builtins(), ROWS.name: ROWS}
    if name not in table:
        return None
    meanings = [table[name]]
    if (joining := table.get(f"{name} on")) is not None:
        meanings.append(joining)
    return "\n".join(map(described, meanings))


def signature(builtin: Builtin) -> str:
    """Return how a builtin is called.

    >>> signature(builtins()["map"])
    'map(expression for each)'
    """
    parts = []
    for position, parameter in enumerate(builtin.parameters):
        part = parameter.name
        if parameter.kind == "each":
            part += " for each"
        if parameter.repeated:
            part += ", …"
        parts.append(part if position < builtin.required else f"[{part}]")
    return f"{builtin.name}({', '.join(parts)})"


def described(builtin: Builtin) -> str:
    """Return the manual entry of a builtin as text."""
    lines = [signature(builtin)]
    if builtin.aliases:
        lines.append(f"  also called {', '.join(builtin.aliases)}")
    lines += ["", f"  {builtin.doc}", ""]
    for example in builtin.examples:
        document = "" if example.document == "null" else f"    of {example.document}"
        lines.append(f"  {example.query}{document}")
        lines.append(f"    → {example.answer}")
    return "\n".join(lines) + "\n"


def manual() -> str:
    """Return docs/functions.md."""
    sections = [_INTRODUCTION]
    group = ""
    for builtin in functions():
        if builtin.group != group:
            group = builtin.group
            sections.append(f"## {group}\n")
        sections.append(_entry(builtin))
    return "\n".join(sections)


def _entry(builtin: Builtin) -> str:
    aliases = "".join(f", `{alias}`" for alias in builtin.aliases)
    lines = [
        f"### `{builtin.name}`{aliases}\n",
        f"`{signature(builtin)}`\n",
        f"{builtin.doc}\n",
    ]
    for example in builtin.examples:
        document = "" if example.document == "null" else f" of `{example.document}`"
        lines.append(f"- `{example.query}`{document} → `{example.answer}`")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    import sys

    sys.stdout.write(manual())
