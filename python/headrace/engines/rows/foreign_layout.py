"""Foreign layouts: advice for a file that is not one JSON value a line.

Only the first line of a file is checked, after it was refused.
"""

from __future__ import annotations

_JSON_STARTS = b'{["-0123456789'


def cure(path: str, content: bytes | None, reason: str) -> str:
    """Return advice for a first line that is not JSON, empty if no layout is recognised.

    >>> cure("a.json", b"{", "unexpected end of the line inside an object")
    'a line is one value; `headrace convert a.json` makes lines of JSON in another layout'
    >>> cure("a.csv", b"id,name", "expected a value")
    'it looks like CSV; convert it to JSON lines, with DuckDB, pandas or `mlr --icsv --ojsonl`'
    """
    if content is None:
        return f"`headrace convert {path}` makes lines of one large array"
    convert = (
        f"a line is one value; `headrace convert {path}` makes lines of JSON in another "
        "layout"
    )
    if b"\0" in content:
        return "it is no text; name a file of JSON lines"
    text = content.strip()
    if text.startswith((b"{", b"[")):
        goes_on = reason.startswith("unexpected end of the line")
        return convert if goes_on or reason == _BEHIND else ""
    separated = any(sign in text for sign in (b",", b";", b"\t"))
    if separated and (text[:1] not in _JSON_STARTS or reason == _BEHIND):
        return (
            "it looks like CSV; convert it to JSON lines, with DuckDB, pandas or "
            "`mlr --icsv --ojsonl`"
        )
    return ""


_BEHIND = "trailing characters after the value"
"""The reason of a line with more than one value."""
