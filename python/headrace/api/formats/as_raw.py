"""Strings without quotes, all else as JSON, one answer on a line.

A string with a line break in it takes several lines: what reads the output sees its text,
as with ``jq -r``. Where each answer must stay on its line, take ``tsv``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from headrace.kernel.values import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.api.formats import Layout


def write(answers: Iterator[bytes], _layout: Layout) -> Iterator[bytes]:
    r"""Take the quotes off answers that are strings.

    >>> list(write(iter([b'"a"\n1\n', b'"b\\n\\u00e9"\n{"c": "d"}\n']), None))
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
