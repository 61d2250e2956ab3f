"""``headrace log stats`` and ``log append --metrics``."""

import json

from tests.reference.exposition import parsed

LINES = b"".join(b'{"t":%d}\n' % (1700000000000 + n) for n in range(90))


def test_for_people_and_for_programs(process, tmp_path):
    options = ("--rotate-rows", 40, "--time", "$.t", "-q")
    process("log", "append", "log", *options, stdin=LINES)
    text = process("log", "stats", "log").out.decode()
    assert "1 to 90 (90 lines)" in text
    assert "2023-11-14T22:13:20.000Z to 2023-11-14T22:13:20.089Z" in text
    assert "in 3 segments" in text
    stats = json.loads(process("log", "stats", "log", "--json").out)
    assert (stats["lines"], stats["segments"]) == (90, 3)
    manifest = json.loads((tmp_path / "log/manifest.json").read_text())
    assert stats["salt"] == manifest["salt"]
    scraped = parsed(process("log", "stats", "log", "--prometheus").out.decode())
    assert scraped["storage_lines"] == {("", (("directory", "log"),)): 90}
    assert process("log", "stats", "nowhere").code == 2


def test_how_far_consumers_are(process, tmp_path):
    process("log", "append", "log", "-q", stdin=LINES)
    for name, lines in (("billing", 88), ("audit", 90), ("broken", 5)):
        process("log", "cat", "log", "--consumer", name, "-n", lines)
    (tmp_path / "log" / "consumers" / "broken.json").write_bytes(b"{}")
    said = (
        "audit 0 lines behind, at line 90, billing 2 lines behind, at line 88, "
        "broken with a checkpoint that cannot be read"
    )
    assert said in process("log", "stats", "log").out.decode()
    stats = json.loads(process("log", "stats", "log", "--json").out)
    assert stats["consumers"] == [
        {"consumer": "audit", "line": 90, "lag_lines": 0},
        {"consumer": "billing", "line": 88, "lag_lines": 2},
        {"consumer": "broken", "line": None, "lag_lines": None},
    ]
    scraped = process("log", "stats", "log", "--prometheus").out.decode()
    assert parsed(scraped)["storage_consumer_lag_lines"] == {
        ("", (("consumer", name), ("directory", "log"))): lag
        for name, lag in (("audit", 0), ("billing", 2))
    }


def test_metrics_of_a_writer(process, tmp_path):
    process("log", "append", "log", "--metrics", "log.prom", stdin=LINES)
    metrics = parsed((tmp_path / "log.prom").read_text())
    assert metrics["storage_records_total"] == {("", (("directory", "log"),)): 90}
    assert metrics["storage_last_line"] == {("", (("directory", "log"),)): 90}


def test_while_it_writes(start, tmp_path):
    child = start("log", "append", "log", "--metrics", "log.prom", "--ack")
    child.stdin.write(b"1\n")
    assert child.stdout.readline() == b"ACK 1\n"
    assert "storage_last_line" in parsed((tmp_path / "log.prom").read_text())
    child.stdin.close()
    assert child.wait(20) == 0


def test_where_no_file_can_be_written(process, tmp_path):
    (tmp_path / "taken").mkdir()
    refused = process("log", "append", "log", "--metrics", "taken", stdin=LINES)
    assert refused.code == 2
    assert "taken: is a directory" in refused.err
    assert process("log", "cat", "log").out == b""
