"""A small file with the difficult lines at the boundary of a split."""

from tests.reference.slow_rows import slow_rows

LONG = b'{"long": "' + b"x" * 90 + b'"}'
MAX_LINE = 60

NASTY = b"".join(
    [
        b'\xef\xbb\xbf{"bom": 1}\r\n',
        b"\n",
        b"\r\n",
        '{"multibyte": "é漢🎉"}\n'.encode(),
        b"\n\n",
        b"lone \r return\r\r\n",
        LONG + b"\n",
        b" \t\n",
        b"\x00not json\n",
        b"\r\n",
        b'{"no": "final newline"}',
    ]
)


def expected(data, path=None, max_line=MAX_LINE):
    """Return the rows of a read with the default schema, as plain tuples."""
    return [
        (str(path), offset, row, content if len(content) <= max_line else None)
        for row, (offset, content) in enumerate(slow_rows(data))
    ]
