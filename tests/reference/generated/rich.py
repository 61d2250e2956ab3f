"""Rows with a value in every field, for queries without an answer on generated rows."""

from __future__ import annotations

RICH = [
    b'{"id": 1, "x": 2.50, "y": -3, "s": "ab c", "ok": true, "n": null, "t": [3, 1.0, 2, 2],'
    b' "us": [{"id": 1, "g": "a", "v": 5}, {"id": 2, "g": "b", "v": 1.5}, {"id": 3, "g": "a", "v": 2}],'
    b' "o": {"a": 7, "b": {"c": "B"}, "k": "b"}, "z": [[1, [2]], {"a": null}]}',
    b'{"id": 2, "x": -0.0, "y": 0, "s": "42", "ok": false, "n": null, "t": ["b", "a", null, true, 1, [0]],'
    b' "us": [{"id": 9007199254740993, "g": "b", "v": -1}, {"g": null, "v": "x"}, 5, null, {"id": 2, "v": 2.0}],'
    b' "o": {"k": "x=1", "b": 5, "a": 1e21}, "z": {"v": 0, "g": {}, "\xc3\xa9": "\xf0\x9f\x98\x80"}}',
    b'{"us": [{"v": 1, "id": 1.0, "g": 1}, {"v": 2, "id": 1, "g": "1"}], "t": [], "o": {}, "s": "", "id": 3,'
    b' "x": 12345678901234567890, "y": 9223372036854775807, "ok": "no", "z": "a1", "id": 4}',
]
