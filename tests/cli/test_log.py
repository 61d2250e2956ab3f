"""``headrace log``: append, cat, seal, retain, recover, check, dump-index."""

import json
import os
import signal
import subprocess
import sys

import pytest

import headrace as package

FIRST = "00000000000000000000.jsonl"


def lines(count, start=0):
    return b"".join(b'{"n":%d}\n' % n for n in range(start, start + count))


def test_appended_lines_are_printed(piped):
    text = b'{"a": 1}\n[2,  3]\r\n\n"\xc3\xa9"\n' + lines(5)
    done = piped("log", "append", "log", stdin=text)
    assert (done.code, done.out) == (0, b"")
    assert "9 records, the last is line 9" in done.err
    assert piped("log", "cat", "log").out == text
    assert piped("log", "append", "log", "-q", stdin=b'"last"').code == 0
    assert piped("log", "cat", "log").out == text + b'"last"\n'


def test_acknowledgements_count_the_records_of_the_run(piped):
    assert piped("log", "append", "log", "--ack", stdin=lines(3)).out == b"ACK 3\n"
    outcome = piped("log", "append", "log", "--ack", stdin=lines(2500))
    assert outcome.out == b"ACK 1000\nACK 2000\nACK 2500\n"
    large = b'"%s"\n' % (b"x" * 600_000)
    outcome = piped("log", "append", "log", "--ack", stdin=large * 3)
    assert outcome.out == b"ACK 1\nACK 2\nACK 3\n"
    assert piped("log", "append", "log", "--ack", stdin=b"").out == b""


def test_records_before_a_full_disk_are_acknowledged(piped, tmp_path):
    long = b"".join(b'{"n":%d,"pad":"%s"}\n' % (n, b"x" * 200) for n in range(500))
    limit = 'ulimit -f 64; exec "$0" -m headrace log append log --ack --rotate-rows 500'
    (tmp_path / "given").write_bytes(lines(500) + long)
    with (tmp_path / "given").open("rb") as given:
        done = subprocess.run(
            ["bash", "-c", limit, sys.executable],
            stdin=given,
            capture_output=True,
            cwd=tmp_path,
            check=False,
        )
    assert done.returncode == 1
    assert b"records of the input are in the log" in done.stderr
    there = piped("log", "cat", "log").out
    assert there.startswith(lines(500))
    assert done.stdout.splitlines()[-1] == b"ACK %d" % there.count(b"\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_unread_lines_are_not_marked_as_consumed(piped, tmp_path, unbuffered):
    """Without a buffer, a write may be partial."""
    row = b'"%s"\n' % (b"x" * 97)
    piped("log", "append", "log", stdin=row * 9000)
    command = [sys.executable, "-m", "headrace", "log", "cat", "log", "--consumer", "c"]
    child = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    child.stdout.read(4096)
    child.stdout.close()
    assert child.wait() == 0
    consumers = piped("log", "consumers", "log", "--json").out
    done = json.loads(consumers)["line"] if consumers else 0
    # A pipe holds 64 KiB, so no more than that was taken beside the bytes that were read.
    assert done * len(row) <= 4096 + (64 << 10)


def test_each_record_is_acknowledged_as_it_comes(start):
    child = start("log", "append", "log", "--ack")
    for n in range(1, 4):
        child.stdin.write(b'{"n":1}\n')
        assert child.stdout.readline() == b"ACK %d\n" % n
    child.stdin.write(b'{"half":')
    child.stdin.write(b"1}\n")
    assert child.stdout.readline() == b"ACK 4\n"
    child.stdin.close()
    assert child.wait(20) == 0


@pytest.mark.parametrize("durability", ["always", "data", "interval", "os"])
def test_every_durability(piped, durability):
    options = ("--durability", durability, "--ack")
    assert piped("log", "append", "log", *options, stdin=lines(7)).out == b"ACK 7\n"
    assert piped("log", "cat", "log").out == lines(7)


def test_a_bad_line_ends_it(piped, tmp_path):
    outcome = piped(
        "log", "append", "log", "--ack", stdin=lines(1002) + b"{]\n" + lines(9)
    )
    assert outcome.code == 1
    assert outcome.out == b"ACK 1000\nACK 1002\n"
    assert "record 1003, byte 1: " in outcome.err
    assert "the 1002 records before it are in the log" in outcome.err
    assert piped("log", "cat", "log").out == lines(1002)


def test_a_line_that_never_ends(piped):
    text = b'1\n"' + b"x" * 3_000_000
    outcome = piped("log", "append", "log", "--ack", "--max-record", "1MiB", stdin=text)
    assert (outcome.code, outcome.out) == (1, b"ACK 1\n")
    assert "over the limit of 1048576" in outcome.err


def test_rotation_and_times(piped, tmp_path):
    text = b"".join(b'{"E":%d}\n' % n for n in (5, 7, 6, 9))
    options = ("--rotate-rows", "3", "--time", "$.E", "--events", "json")
    outcome = piped("log", "append", "log", *options, stdin=text)
    (event,) = outcome.events
    assert (event["event"], event["records"], event["last_line"]) == ("appended", 4, 4)
    assert event["fallbacks"] == 1
    assert sorted(path.name for path in (tmp_path / "log").glob("*.jsonl")) == [
        FIRST,
        f"{3:020d}.jsonl",
    ]
    rows = piped("log", "dump-index", f"log/{FIRST}.idx").rows
    header, *found = map(json.loads, rows)
    assert header == {"type": "header", "fileNumber": 1, "globalLineOffset": 0}
    assert found[1] == {
        "fileNumber": 1,
        "lineNumberLocal": 2,
        "lineNumberGlobal": 2,
        "startByte": 8,
        "endByte": 16,
        "messageTime": 7,
        "timeSource": "extracted",
    }
    assert [entry["timeSource"] for entry in found] == [
        "extracted",
        "extracted",
        "created",
    ]
    (_, last) = map(
        json.loads, piped("log", "dump-index", f"log/{3:020d}.jsonl.idx").rows
    )
    assert (last["fileNumber"], last["lineNumberLocal"], last["lineNumberGlobal"]) == (
        2,
        1,
        4,
    )
    outcome = piped(
        "log", "append", "two", "--time", "$.E", "--monotonic", "1", stdin=text
    )
    assert "without a time" not in outcome.err


def test_ranges_of_lines(headrace, tmp_path):
    with package.LogWriter(tmp_path / "log", rotate_rows=4) as log:
        log.append_lines(lines(10))
    assert headrace("log", "cat", "log", "--from", "3", "-n", "4").out == lines(4, 2)
    assert headrace("log", "cat", "log", "--from", "9").out == lines(2, 8)
    assert headrace("log", "cat", "log", "--to", "2").out == lines(2)
    assert headrace("log", "cat", "log", "--from", "5", "--to", "6").out == lines(2, 4)
    assert headrace("log", "cat", "log", "--from", "11").out == b""
    assert headrace("log", "cat", "log", "-n", "0").out == b""


def test_cat_of_an_empty_directory_prints_nothing(headrace, tmp_path):
    """The directory is empty, or a writer has only created its lock."""
    (tmp_path / "empty").mkdir()
    assert headrace("log", "cat", "empty").code == 0
    (tmp_path / "empty/LOCK").touch()
    assert headrace("log", "cat", "empty").code == 0
    (tmp_path / "other").mkdir()
    (tmp_path / "other/a.jsonl").write_bytes(b"1\n")
    outcome = headrace("log", "cat", "other")
    assert (outcome.code, outcome.out) == (2, b"")
    assert "there is no log in this directory" in outcome.err


def test_a_killed_writer_leaves_the_acknowledged_lines(start, piped, tmp_path):
    child = start("log", "append", "log", "--ack")
    child.stdin.write(lines(3))
    while child.stdout.readline() != b"ACK 3\n":
        pass
    child.stdin.write(b'{"half":')
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    with (tmp_path / "log" / FIRST).open("ab") as file:
        file.write(b'{"torn')
    outcome = piped("log", "cat", "log", "--events", "json")
    assert (outcome.code, outcome.out) == (0, lines(3))
    (event,) = outcome.events
    assert (event["event"], event["action"], event["bytes"]) == (
        "recovered",
        "kept",
        6,
    )
    assert piped("log", "append", "log", "--ack", stdin=lines(1, 3)).out == b"ACK 1\n"
    assert piped("log", "cat", "log").out == lines(4)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_writer_ended_by_a_signal_keeps_its_records(start, piped, number):
    child = start("log", "append", "log", "--ack")
    child.stdin.write(lines(3))
    while child.stdout.readline() != b"ACK 3\n":
        pass
    child.send_signal(number)
    assert child.wait(20) in (130, 143)
    outcome = piped("log", "cat", "log")
    assert (outcome.out, outcome.err) == (lines(3), "")


def test_a_second_writer_is_refused(start, piped):
    child = start("log", "append", "log", "--ack")
    child.stdin.write(lines(1))
    assert child.stdout.readline() == b"ACK 1\n"
    outcome = piped("log", "append", "log", stdin=lines(1))
    assert outcome.code == 1
    assert f"process {child.pid} on " in outcome.err
    assert piped("log", "recover", "log").code == 1
    # Committed lines can be read meanwhile.
    assert piped("log", "cat", "log").out == lines(1)
    assert piped("log", "check", "log").code == 0


def test_a_closed_pipe_of_acknowledgements_loses_no_record(piped, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        ["bash", "-c", 'exec "$0" -m headrace log append log --ack', os.sys.executable],
        input=lines(5),
        stdout=writing,
        cwd=tmp_path,
        check=False,
    )
    os.close(writing)
    assert done.returncode == 0
    assert piped("log", "cat", "log").out == lines(5)


def test_recover_completes_or_moves_the_tail(headrace, tmp_path):
    with package.LogWriter(tmp_path / "log") as log:
        log.append_lines(lines(3))
    assert headrace("log", "recover", "log").rows == [b"lines 1 to 3"]
    assert headrace("log", "recover", "log", "--json").rows == [
        b'{"first_line": 1, "last_line": 3, "actions": []}'
    ]
    with (tmp_path / "log" / FIRST).open("ab") as file:
        file.write(b'{"n":3}\n{"tor')
    outcome = headrace("log", "recover", "log", "--tail", "strict")
    assert (outcome.code, outcome.out) == (1, b"")
    assert "the last 5 bytes are no record" in outcome.err
    (report,) = map(json.loads, headrace("log", "recover", "log", "--json").rows)
    assert report["last_line"] == 4
    assert [each["action"] for each in report["actions"]] == ["indexed", "quarantined"]
    assert (tmp_path / f"log/quarantine/{FIRST}@32").read_bytes() == b'{"tor'
    assert headrace("log", "recover", "none").code == 2


def test_damage(headrace, tmp_path):
    with package.LogWriter(tmp_path / "log", rotate_rows=2) as log:
        log.append_lines(lines(5))
    assert headrace("log", "check", "log", "--deep").rows == [
        b"%020d.jsonl\t2 lines\t16 bytes\tok" % 0,
        b"%020d.jsonl\t2 lines\t16 bytes\tok" % 2,
        b"%020d.jsonl\t1 line\t8 bytes\tok" % 4,
    ]
    path = tmp_path / f"log/{2:020d}.jsonl"
    path.write_bytes(path.read_bytes().replace(b"3", b"7"))
    assert headrace("log", "check", "log").code == 0
    outcome = headrace("log", "check", "log", "--deep", "--events", "json")
    assert outcome.code == 1
    assert b"line 4: the line is not what was written" in outcome.rows[1]
    assert outcome.events[0]["error"] == "LogDamagedError"
    outcome = headrace("log", "cat", "log")
    assert (outcome.code, outcome.out) == (1, lines(3))
    assert "--on-error skip" in outcome.err
    assert "--repair" not in outcome.err
    outcome = headrace("log", "cat", "log", "--on-error", "skip")
    assert (outcome.code, outcome.out) == (0, lines(3) + lines(1, 4))
    assert "1 line that is damaged was skipped" in outcome.err
    for option in (("-f",), ("--consumer", "c")):
        outcome = headrace("log", "cat", "log", "--on-error", "skip", *option)
        assert outcome.code == 2
    path.write_bytes(b"")
    assert headrace("log", "check", "log").code == 1
    for command, read in (("cat", lines(2)), ("recover", b"")):
        outcome = headrace("log", command, "log")
        assert (outcome.code, outcome.out) == (1, read)
        assert "it has 0 bytes, but should have 16" in outcome.err
    assert headrace("log", "recover", "log", "--repair").code == 0
    assert headrace("log", "cat", "log").out == lines(2) + lines(1, 4)
    assert headrace("log", "check", "log", "--deep").code == 0


@pytest.mark.parametrize("base", [0, 2, 4])
@pytest.mark.parametrize("cut", [True, False])
def test_lines_that_can_be_read_are_read(headrace, tmp_path, base, cut):
    """The other files are readable although one is too short or missing."""
    with package.LogWriter(tmp_path / "log", rotate_rows=2) as log:
        log.append_lines(lines(6))
    path = tmp_path / f"log/{base:020d}.jsonl"
    if cut:
        path.write_bytes(path.read_bytes()[:-3])
    else:
        path.unlink()
    for line in {1, 3, 5} - {base + 1}:
        outcome = headrace("log", "cat", "log", "--from", line, "-n", 1)
        assert (outcome.code, outcome.out) == (0, lines(1, line - 1))
        assert "not recovered" in outcome.err
        assert path.name in outcome.err
    outcome = headrace("log", "cat", "log")
    assert (outcome.code, outcome.out) == (1, lines(base + cut))
    outcome = headrace("log", "cat", "log", "--on-error", "skip")
    assert outcome.code == 0
    assert outcome.out == lines(base + cut) + lines(4 - base, base + 2)


@pytest.mark.parametrize("name", [f"{0:020d}.jsonl.idx", "manifest.json"])
def test_check_names_files_that_recover_rebuilds(headrace, tmp_path, name):
    with package.LogWriter(tmp_path / "log", rotate_rows=2) as log:
        log.append_lines(lines(5))
    (tmp_path / "log" / name).unlink()
    outcome = headrace("log", "check", "log")
    assert outcome.code == 1
    said = outcome.out.decode() + outcome.err
    assert f"{name}: byte 0: it is gone; `headrace log recover` makes it again" in said
    assert "backup" not in said
    assert "--repair" not in said
    assert headrace("log", "recover", "log").code == 0
    assert headrace("log", "check", "log", "--deep").code == 0


def test_dump_index_refuses_other_files(headrace, tmp_path):
    (tmp_path / "x.idx").write_bytes(b"no index\n")
    outcome = headrace("log", "dump-index", "x.idx")
    assert (outcome.code, outcome.out) == (1, b"")
    assert "does not begin as the index of a log does" in outcome.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_log_that_may_not_be_written_is_read(headrace, tmp_path):
    with package.LogWriter(tmp_path / "log") as log:
        log.append_lines(lines(3))
    (tmp_path / "log").chmod(0o555)
    (tmp_path / "log/LOCK").chmod(0o444)
    try:
        outcome = headrace("log", "cat", "log")
        assert (outcome.code, outcome.out) == (0, lines(3))
        assert "not recovered" in outcome.err
    finally:
        (tmp_path / "log").chmod(0o755)


@pytest.mark.parametrize(
    "words",
    [
        ["append"],
        ["append", "log", "--durability", "most"],
        ["append", "log", "--monotonic", "loose"],
        ["append", "log", "--time", "now()"],
        ["append", "log", "--rotate-rows", "0"],
        ["cat"],
        ["recover", "log", "--tail", "cut"],
    ],
    ids=" ".join,
)
def test_invalid_command_lines(piped, words, tmp_path):
    outcome = piped("log", *words, stdin=lines(1))
    assert (outcome.code, outcome.out) == (2, b"")
    assert not (tmp_path / "log").exists()


def test_the_indexes_of_a_log_as_json(piped, tmp_path):
    piped("log", "append", "log", "--rotate-rows", 3, stdin=lines(8))
    names = [f"{base:020d}.jsonl.idx" for base in (0, 3, 6)]
    each = [piped("log", "dump-index", f"log/{name}").out for name in names]
    assert piped("log", "dump-index", "log").out == b"".join(each)
    # An uncommitted entry is not printed.
    with (tmp_path / "log" / names[-1]).open("ab") as file:
        file.write(bytes(60))
    done = piped("log", "dump-index", "log", "--out", "log")
    assert done.code == 0, done.err
    assert done.rows == [f"log/{name}.json".encode() for name in names]
    written = [(tmp_path / "log" / f"{name}.json").read_bytes() for name in names]
    assert written == each
    entries = [json.loads(line) for line in written[1].splitlines()]
    assert entries[0] == {"type": "header", "fileNumber": 2, "globalLineOffset": 3}
    assert [entry["lineNumberGlobal"] for entry in entries[1:]] == [4, 5, 6]
    assert piped("count", "log").out == b"8\n"
    assert piped("count", "log/*").out == b"8\n"
    assert piped("log", "cat", "log").out == lines(8)
    assert piped("log", "dump-index", "nowhere").code == 1
    assert piped("log", "dump-index", ".").code == 1


@pytest.mark.parametrize("codec", ["zstd", "gzip"])
def test_seal_compresses_full_segments(headrace, tmp_path, codec):
    with package.LogWriter(tmp_path / "log", rotate_rows=40) as log:
        log.append_lines(lines(100))
    outcome = headrace("log", "seal", "log", "--codec", codec, "--level", "9", "--json")
    assert outcome.code == 0
    sealed = json.loads(outcome.out)
    assert (sealed["segments"], sealed["lines"]) == (2, 80)
    assert sealed["bytes_after"] < sealed["bytes_before"]
    assert "2 segments, 80 lines: " in outcome.err
    assert headrace("log", "cat", "log").out == lines(100)
    assert headrace("log", "cat", "log", "--from", "39", "-n", "3").out == lines(3, 38)
    end = {"zstd": "zst", "gzip": "gz"}[codec]
    rows = headrace("log", "check", "log", "--deep").rows
    assert rows[0].startswith(b"%020d.jsonl.%s\t40 lines\t" % (0, end.encode()))
    assert all(row.endswith(b"\tok") for row in rows)
    assert json.loads(headrace("log", "seal", "log", "--json").out)["segments"] == 0
    path = tmp_path / f"log/{0:020d}.jsonl.{end}"
    content = bytearray(path.read_bytes())
    content[60] ^= 1
    path.write_bytes(content)
    outcome = headrace("log", "check", "log", "--deep")
    assert outcome.code == 1
    assert "1 segment not as written" in outcome.err
    assert b"its digest is xxh3:" in outcome.rows[0]


def test_logs_that_cannot_be_compressed(headrace, tmp_path):
    with package.LogWriter(tmp_path / "log", rotate_rows=2) as log:
        log.append_lines(lines(5))
    path = tmp_path / "log" / FIRST
    path.write_bytes(path.read_bytes().replace(b"1", b"7"))
    outcome = headrace("log", "seal", "log", "--json")
    assert outcome.code == 1
    assert "line 2: the line is not what was written" in outcome.err
    assert json.loads(outcome.out)["segments"] == 1


def test_appending_with_compression_and_retention(piped, tmp_path):
    options = ("--rotate-rows", "100", "--codec", "zstd", "--retain-bytes", "40KiB")
    outcome = piped("log", "append", "log", "--ack", *options, stdin=lines(2000))
    assert (outcome.code, outcome.out) == (0, b"ACK 1000\nACK 2000\n")
    printed = piped("log", "cat", "log").out
    first = json.loads(printed.split(b"\n")[0])["n"]
    assert 0 < first < 2000 - 100
    assert printed == lines(2000 - first, first)
    files = list((tmp_path / "log").glob("0*.jsonl*"))
    assert sum(path.stat().st_size for path in files) <= 40 << 10
    assert len([path for path in files if path.suffix == ".zst"]) == len(files) // 2 - 1


def test_retain_removes_segments(headrace, tmp_path):
    with package.LogWriter(tmp_path / "log", rotate_rows=2) as log:
        log.append_lines(lines(7))
    outcome = headrace(
        "log", "retain", "log", "--before-line", "6", "--dry-run", "--json"
    )
    removed = json.loads(outcome.out)
    assert (removed["lines"], removed["first_line"], removed["last_line"]) == (4, 1, 4)
    assert "4 lines (1 to 4), 768 B, would be removed" in outcome.err
    assert headrace("log", "cat", "log").out == lines(7)
    outcome = headrace("log", "retain", "log", "--before-line", "6", "--json")
    assert json.loads(outcome.out) == {**removed, "dry_run": False}
    assert headrace("log", "cat", "log").out == lines(3, 4)
    outcome = headrace("log", "cat", "log", "--from", "3")
    assert outcome.code == 1
    assert "line 3 was removed by retention; the log begins with line 5" in outcome.err
    outcome = headrace(
        "log", "retain", "log", "--retain-age", "1h", "--retain-bytes", "1GiB", "--json"
    )
    assert json.loads(outcome.out)["lines"] == 0
    assert "nothing removed" in outcome.err


def test_seal_and_retain_refuse_a_log_with_a_live_writer(headrace, tmp_path):
    with package.LogWriter(tmp_path / "log", rotate_rows=2) as log:
        log.append_lines(lines(7))
        for command in (("seal",), ("retain", "--retain-bytes", "1")):
            outcome = headrace("log", command[0], "log", *command[1:])
            assert outcome.code == 1
            assert f"process {os.getpid()} on " in outcome.err


@pytest.mark.parametrize("command", ["check", "recover", "seal", "retain", "cat"])
def test_directories_that_are_not_logs(headrace, tmp_path, command):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/notes.txt").write_text("1\n")
    limit = ("--retain-bytes", "1") if command == "retain" else ()
    outcome = headrace("log", command, "other", *limit)
    assert outcome.code == 2
    assert "there is no log in this directory" in outcome.err


def test_lines_count_from_1(headrace, tmp_path):
    with package.LogWriter(tmp_path / "log") as log:
        log.append_lines(lines(7))
    outcome = headrace("log", "cat", "log", "--from", "0")
    assert outcome.code == 2
    assert "lines count from 1" in outcome.err
