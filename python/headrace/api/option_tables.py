"""Lists of options for docs/python.md, made from the families in `headrace.api.options`.

A document has the list of a family between ``<!-- options: FAMILY -->`` and ``<!-- end -->``.
`python -m headrace.api.option_tables docs/python.md` writes the lists again.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap

from headrace.api import options

WIDTH = 118
_LIST = re.compile(r"(<!-- options: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def families() -> dict[str, dict[str, str]]:
    """Return the options of each family with their meanings, those of its bases first.

    >>> families()["GraphCompactOptions"]["memory"]
    'how much memory to use; changes no byte [default: 256MiB]'
    """
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(options)).body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = {}
            for base in node.bases:
                found[node.name] |= found.get(ast.unparse(base), {})
            found[node.name] |= _meanings(node)
    return found


def _meanings(family: ast.ClassDef) -> dict[str, str]:
    """Return the names in a class with the texts that follow them."""
    name, found = "", {}
    for node in family.body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name)):
                pass
            case ast.Expr(value=ast.Constant(value=str(text))) if name:
                found[name] = " ".join(text.split())
    return {name: text for name, text in found.items() if not name.startswith("_")}


def listed(family: str) -> str:
    """Return the list of a family as Markdown."""
    lines = [
        f"- `{name}`: {meaning.replace('``', '`')}"
        for name, meaning in families()[family].items()
    ]
    return "".join(
        f"{textwrap.fill(line, WIDTH, subsequent_indent='  ', break_on_hyphens=False)}\n"
        for line in lines
    )


def with_lists(document: str) -> str:
    """Return a document with its lists of options as they are now."""
    return _LIST.sub(
        lambda found: f"{found[1]}\n{listed(found[2])}\n{found[3]}", document
    )


if __name__ == "__main__":
    import sys
    from pathlib import Path

    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(with_lists(path.read_text()))
