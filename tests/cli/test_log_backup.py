"""``headrace log backup``, ``verify`` and ``restore``."""

import json

LINES = b"".join(b'{"n":%d}\n' % n for n in range(90))


def test_there_and_back(piped, tmp_path):
    piped("log", "append", "log", "--rotate-rows", 40, stdin=LINES)
    made = piped("log", "backup", "log", "kept", "--json")
    assert made.code == 0, made.err
    assert json.loads(made.out)["last_line"] == 90
    assert (
        json.loads(piped("log", "backup", "log", "kept", "--json").out)["copied"] == 0
    )
    verified = piped("log", "verify", "kept")
    assert verified.code == 0
    assert verified.rows[-2:] == [
        b"00000000000000000080.jsonl\t10 lines\t90 bytes\tok",
        b"00000000000000000080.jsonl.idx\t\t816 bytes\tok",
    ]
    back = piped("log", "restore", "kept", "back", "--json")
    assert json.loads(back.out) == {"first_line": 1, "last_line": 90}
    piped("log", "append", "back", "-q", stdin=b"91\n")
    assert piped("log", "cat", "back").out == LINES + b"91\n"


def test_lines_that_the_log_lost_stay_in_the_backup(piped, tmp_path):
    piped("log", "append", "log", "--rotate-rows", 40, stdin=LINES)
    piped("log", "backup", "log", "kept")
    data = tmp_path / "log/00000000000000000040.jsonl"
    data.write_bytes(data.read_bytes()[:-20])
    piped("log", "recover", "log", "--repair")
    refused = piped("log", "backup", "log", "kept")
    assert (refused.code, refused.out) == (1, b"")
    assert "kept: log does not have lines 78 to 80 of it" in refused.err
    assert "headrace log restore" in refused.err
    piped("log", "restore", "kept", "back")
    assert piped("log", "cat", "back").out == LINES
    accepted = piped("log", "backup", "log", "kept", "--accept-loss", "--json")
    assert (accepted.code, json.loads(accepted.out)["generation"]) == (0, 2)


def test_a_backup_cannot_be_written(piped, tmp_path):
    piped("log", "append", "log", stdin=LINES)
    piped("log", "backup", "log", "kept")
    refused = piped("log", "append", "kept", "--ack", stdin=LINES)
    assert (refused.code, refused.out) == (2, b"")
    assert "kept: is the backup of a log" in refused.err
    refused = piped("log", "backup", "log", "log/kept")
    assert refused.code == 2
    assert "log/kept: is within the log log" in refused.err
    assert not (tmp_path / "log/kept").exists()


def test_damage_is_reported(piped, tmp_path):
    piped("log", "append", "log", stdin=LINES)
    piped("log", "backup", "log", "kept")
    stored = tmp_path / "kept/segments/00000000000000000000.jsonl"
    stored.write_bytes(stored.read_bytes().replace(b"17", b"71"))
    verified = piped("log", "verify", "kept")
    assert verified.code == 1
    segments = [row.split(b"\t") for row in verified.rows]
    assert [row[1] for row in segments] == [b"90 lines", b""]
    path = b"kept/segments/00000000000000000000.jsonl"
    assert segments[0][-1] == path + b": it is not what was copied"
    assert "kept: 1 file cannot be restored" in verified.err
    restored = piped("log", "restore", "kept", "back")
    assert restored.code == 1
    assert "it is not what was copied" in restored.err
    assert not (tmp_path / "back").exists()
    refused = piped("log", "restore", "kept", "log")
    assert refused.code == 2
    assert "log: is not empty" in refused.err
