"""Rendering of an expansion as text: NDJSON, a tree, or a picture.

Pictures are programs for Graphviz (*dot*) and Mermaid. Nodes have numbers there, and their names
are in quotes, so any name will do. Only a tree is drawn when the expansion has ended; the other
forms are written step by step.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from headrace.api.formats.printable import printable
from headrace.kernel.graph import Followed, Reached

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headrace.api.options import Emit


def as_ndjson(
    steps: Iterable[Reached | Followed],
    *,
    edges: bool,
    named: bool,
    seed: str | None = None,
) -> Iterator[str]:
    """Yield a line for each node, and with `edges` for each edge.

    `named`: edges say something. With a `seed`, lines name it.
    """
    behind = {} if seed is None else {"seed": seed}
    for step in steps:
        fields: dict[str, object]
        match step:
            case Reached(node, level, via):
                fields = {"type": "node"} if edges else {}
                fields |= {"id": node, "level": level}
                if named and via is not None and not edges:
                    fields["via"] = via
            case Followed(from_, pred, to):
                fields = {"type": "edge", "from": from_}
                if named:
                    fields["pred"] = pred
                fields["to"] = to
        text = json.dumps(fields | behind, ensure_ascii=False, separators=(",", ":"))
        yield f"{text}\n"


def as_tree(steps: Iterable[Reached | Followed]) -> Iterator[str]:
    """Draw a tree of the first edge to each node.

    An arrow to the left is an edge that was followed backwards.
    """
    roots, below = [], dict[str, list[tuple[str, str]]]()
    led: Followed | None = None
    for step in steps:
        if isinstance(step, Followed):
            led = step if step.leads else led
        elif led is None or step.level == 0:
            roots.append(step.node)
        else:
            back = led.from_ == step.node
            parent, arrow = (led.to, "←") if back else (led.from_, "→")
            label = " ".join(filter(None, (printable(led.pred), arrow)))
            below.setdefault(parent, []).append((label, step.node))
    for root in roots:
        yield f"{printable(root)}\n"
        yield from _branches(root, below)


def _branches(root: str, below: dict[str, list[tuple[str, str]]]) -> Iterator[str]:
    # Not by calling itself: a graph may be deeper than Python.
    open_ = [("", iter(below.get(root, ())), len(below.get(root, ())))]
    while open_:
        indent, branches, left = open_.pop()
        found = next(branches, None)
        if found is None:
            continue
        label, node = found
        last = left == 1
        open_.append((indent, branches, left - 1))
        yield f"{indent}{'└─' if last else '├─'} {label} {printable(node)}\n"
        deeper = below.get(node, ())
        open_.append((indent + ("   " if last else "│  "), iter(deeper), len(deeper)))


class _Numbers(dict[str, str]):
    """Short names of nodes, numbered as they are first used."""

    def __missing__(self, node: str) -> str:
        self[node] = name = f"n{len(self)}"
        return name


def as_dot(steps: Iterable[Reached | Followed]) -> Iterator[str]:
    """Write a program for Graphviz."""
    names = _Numbers()
    yield "digraph {\n"
    for step in steps:
        match step:
            case Reached(node):
                yield f"  {names[node]} [label={_dot_text(node)}];\n"
            case Followed(from_, pred, to):
                label = f" [label={_dot_text(pred)}]" if pred else ""
                yield f"  {names[from_]} -> {names[to]}{label};\n"
    yield "}\n"


_ENTITY = re.compile(r"&(?=#?\w+;)")


def _dot_text(text: str) -> str:
    r"""Return a text in quotes that Graphviz shows as it is.

    >>> _dot_text('a\\ "b" &lt;\n')
    '"a\\\\ \\"b\\" &amp;lt;\\\\n"'
    """
    quoted = printable(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_ENTITY.sub("&amp;", quoted)}"'


def as_mermaid(steps: Iterable[Reached | Followed]) -> Iterator[str]:
    """Write a program for Mermaid."""
    names = _Numbers()
    yield "graph LR\n"
    for step in steps:
        match step:
            case Reached(node):
                yield f'  {names[node]}["{_mermaid_text(node)}"]\n'
            case Followed(from_, pred, to):
                label = f'|"{_mermaid_text(pred)}"|' if pred else ""
                yield f"  {names[from_]} -->{label} {names[to]}\n"


_PLAIN = re.compile(r"[^\w ,.:/()+=-]", re.ASCII)


def _mermaid_text(text: str) -> str:
    """Return a text that Mermaid shows as it is between quotes.

    >>> _mermaid_text('a "b" <i>'), _mermaid_text("")
    ('a #34;b#34; #60;i#62;', '#32;')
    """
    # Between quotes there must be something.
    shown = printable(text) or "\0"
    return _PLAIN.sub(lambda found: _entity(found[0]), shown)


def _entity(letter: str) -> str:
    if letter == "\0":
        return "#32;"
    return letter if ord(letter) > 127 else f"#{ord(letter)};"


class Drawing(NamedTuple):
    """A form other than lines of JSON; `emit` is the option of the expansion that it needs.

    `apart`: the nodes that are reached from each seed can be drawn apart.
    """

    write: Callable[[Iterable[Reached | Followed]], Iterator[str]]
    emit: Emit
    apart: bool


DRAWINGS = {
    "tree": Drawing(as_tree, "tree", apart=True),
    "dot": Drawing(as_dot, "edges", apart=False),
    "mermaid": Drawing(as_mermaid, "edges", apart=False),
}
