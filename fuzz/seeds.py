"""Inputs to begin with, a folder for each target, from what the project has already.

``python fuzz/seeds.py FOLDER``
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.kernel.values import builtins
from headrace.language.parser import parse
from headrace.logical.encode.compiler import compile_query

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOP = Path(__file__).parents[1]


def examples() -> list[tuple[str, str]]:
    """Return the queries of the manual and of every function, with their documents."""
    text = (TOP / "docs/language.md").read_text()
    manual_examples = re.findall(r"^- `(.+?)` on `(.+?)` gives", text, re.MULTILINE)
    examples = [
        (example.query, example.document)
        for builtin in builtins().values()
        for example in builtin.examples
    ]
    return manual_examples + examples


def programs() -> Iterator[bytes]:
    """Yield the programs of the queries that can be compiled."""
    for query, _document in examples():
        try:
            yield compile_query(query, parse(query))
        except HeadraceError:
            continue


def seeds() -> dict[str, Iterable[bytes]]:
    """Return the inputs of each target."""
    documents = sorted({document.encode() for _query, document in examples()})
    rows = b"\xef\xbb\xbf" + b"\r\n".join(documents[:20]) + b"\n\n"
    return {
        "json": documents,
        # The longest line, the size of a read; what a null means, the separator.
        "rows": [bytes([size, 3]) + rows for size in (0, 20, 255)],
        "frame": [bytes([null, 1]) + b"|k|1\nk|null\nk|\nk\n\n" for null in range(3)],
        "columns": [
            b'{"a":%b,"b":[%b],"c":{"k":%b}}\n' % (3 * (d,)) for d in documents
        ],
        "program": programs(),
        "blocks": [path.read_bytes() for path in (TOP / "fuzz/found/blocks").iterdir()],
        "checkpoint": [
            path.read_bytes() for path in (TOP / "tests/formats/data").glob("*.ckpt")
        ],
        "key_index": [
            path.read_bytes() for path in (TOP / "fuzz/found/key_index").iterdir()
        ],
        "graph_index": [
            path.read_bytes() for path in (TOP / "fuzz/found/graph_index").iterdir()
        ],
        "join": [
            bytes([how]) + b'{"k":1,"b":0}\n{"k":%b,"a":%b}\n' % (document, document)
            for document in documents
            for how in (0, 3, 63)
        ],
        "log": [path.read_bytes() for path in (TOP / "fuzz/found/log").iterdir()],
        "variant": [
            path.read_bytes() for path in (TOP / "fuzz/found/variant").iterdir()
        ],
    }


def write(folder: Path) -> None:
    """Write the inputs of every target, each named after its content."""
    for target, inputs in seeds().items():
        place = folder / target
        place.mkdir(parents=True, exist_ok=True)
        for content in inputs:
            name = hashlib.sha256(content).hexdigest()[:16]
            (place / name).write_bytes(content)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
