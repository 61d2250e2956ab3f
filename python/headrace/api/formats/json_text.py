r"""Formats that keep the text of answers: one array of all, and strings without quotes.

A string without quotes that has a line break takes several lines: what reads the output sees
its text, as with ``jq -r``. Where each answer must stay on its line, take ``tsv``.
"""

from collections.abc import Iterator
from typing import cast

from headrace.api.formats import Layout
from headrace.kernel.values import parse


def json(answers: Iterator[bytes], _layout: Layout) -> Iterator[bytes]:
    r"""Put brackets around the answers and commas between them.

    >>> b"".join(json(iter([b"1\n2\n", b"3\n"]), None)), b"".join(json(iter([]), None))
    (b'[\n1,\n2,\n3\n]\n', b'[]\n')
    """
    before = b"[\n"
    for lines in answers:
        # Inside an answer there is no newline: it was a line.
        yield before + lines[:-1].replace(b"\n", b",\n")
        before = b",\n"
    yield b"[]\n" if before == b"[\n" else b"\n]\n"


def raw(answers: Iterator[bytes], _layout: Layout) -> Iterator[bytes]:
    r"""Take the quotes off answers that are strings.

    >>> list(raw(iter([b'"a"\n1\n', b'"b\\n\\u00e9"\n{"c": "d"}\n']), None))
    [b'a\n1\n', b'b\n\xc3\xa9\n{"c": "d"}\n']
    """
    for lines in answers:
        yield b"".join(map(_unquoted, lines.splitlines(keepends=True)))


def _unquoted(line: bytes) -> bytes:
    if not line.startswith(b'"'):
        return line
    if b"\\" not in line:
        return line.rstrip()[1:-1] + b"\n"
    return cast("str", parse(line)).encode() + b"\n"
