"""A row over ``--max-line`` is a bad row in every command."""

from pathlib import Path

import pytest

LONG = b'{"id": 2, "x": "aaaaaaaaaaaaaaaaaaaaaaaaa"}'
BROKEN = b'{"id": 2, "x": '

COMMANDS = [
    ["query", "id"],
    ["query", "--strict", "id"],
    ["query", "--on-error", "skip", "id"],
    ["query", "--on-error", "collect", "id"],
    ["query", "--reverse", "--on-error", "skip", "id"],
    ["query", "--stream", "$.sum(id)"],
    ["query", "--stream", "--on-error", "skip", "$.sum(id)"],
    ["join", "--on", "id", "other.jsonl"],
    ["join", "--on", "id", "--on-error", "skip", "other.jsonl"],
    ["index", "build", "--force", "--on", "id"],
    ["index", "build", "--force", "--on", "id", "--strict"],
    ["count"],
    ["count", "--strict"],
    ["head", "--strict"],
    ["tail", "--strict"],
    ["shard", "write", "--out", "set"],
]


def outcome(headrace, line, command):
    Path("rows.jsonl").write_bytes(b'{"id": 1}\n' + line + b'\n{"id": 3}\n')
    done = headrace(*command, "--max-line", "20", "rows.jsonl")
    printed = [each for each in done.out.splitlines() if each != line]
    return done.code, printed


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_long_row_is_a_bad_row(headrace, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.jsonl").write_bytes(b'{"id": 3}\n')
    assert outcome(headrace, LONG, command) == outcome(headrace, BROKEN, command)


@pytest.mark.parametrize("command", [["head"], ["tail"]], ids=" ".join)
def test_a_long_row_that_cannot_be_printed_is_reported(headrace, tmp_path, command):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(LONG + b'\n{"id": 3}\n')
    done = headrace(*command, "--max-line", "20", path)
    assert done.out == b'{"id": 3}\n'
    assert "43 bytes long, over the limit of 20" in done.err
