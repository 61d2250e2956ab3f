"""A small file with every kind of faulty row."""

ROWS = [
    b'{"id":1,"name":"a\\tb","at":"2024-02-29T12:00:00+02:00","tags":["x",null]}',
    b"",
    b'{"id":2,"name":{"k":[1, 2]},"deep":{"n":1.5,"m":{"a":1,"b":2,"a":3}}}',
    b'{"id":3} and more',
    b'{"id":"four","name":"kept","tags":[]}',
    b" \t",
    b"[5]",
    b'{"id":6,"id":7,"name":null,"unknown":[{"a":{}}]}',
    b'{"id":8,"name":"M\xfcnchen"}',
    b'{"id":9,"long":"' + b"x" * 200 + b'"}',
    b'{"id":10}',
]
DATA = b"\xef\xbb\xbf" + b"\r\n".join(ROWS) + b"\n"
MAX_LINE = 150
FIELDS = (
    "id long, name string, at timestamp, tags array<string>, "
    "deep struct<n: double, m: map<string, int>>"
)
PLACES = "_file string, _offset long, _line long, _row long, _error string, _raw binary"


def places(path):
    """List (file, offset, line, row) of every line that is not blank."""
    offset, found = 0, []
    for row, line in enumerate(DATA.splitlines(keepends=True)):
        if line.strip():
            found.append((str(path), offset, row + 1, row))
        offset += len(line)
    return found


ERRORS = [
    None,
    None,
    "trailing characters after the value",
    'id is "four", which does not fit bigint',
    "the row is an array, not an object",
    None,
    "invalid UTF-8",
    "218 bytes long, over the limit that maxLineBytes sets",
    None,
]
