"""The manual of the builtins, made from their table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.kernel.builtins import builtins

if TYPE_CHECKING:
    from headrace.kernel.builtins import Builtin

_INTRODUCTION = """\
# Functions

<!-- Made by `python -m headrace.api.functions`; change the table, not this file. -->

Every builtin of the query language. `xs.f(a)` and `f(xs, a)` are the same. An argument
that is marked *for each* is evaluated for each element, which is its `@`; a name in it
is a field of the element. Each example is a query, the document it is asked of where
it needs one, and its answer.
"""


def all_functions() -> list[Builtin]:
    """Return every builtin once, in the order of the table."""
    return list(dict.fromkeys(builtins().values()))


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
    """Return what a builtin does, with its examples, as text."""
    lines = [signature(builtin)]
    if builtin.aliases:
        lines.append(f"  also called {', '.join(builtin.aliases)}")
    lines += ["", f"  {builtin.doc}", ""]
    for example in builtin.examples:
        asked = "" if example.document == "null" else f"    of {example.document}"
        lines.append(f"  {example.query}{asked}")
        lines.append(f"    → {example.answer}")
    return "\n".join(lines) + "\n"


def manual() -> str:
    """Return docs/functions.md."""
    sections = [_INTRODUCTION]
    group = ""
    for builtin in all_functions():
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
        asked = "" if example.document == "null" else f" of `{example.document}`"
        lines.append(f"- `{example.query}`{asked} → `{example.answer}`")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    import sys

    sys.stdout.write(manual())
