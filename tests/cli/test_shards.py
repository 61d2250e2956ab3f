"""``shard write``, ``cat``, ``check``, ``stats`` and ``recompress``."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
import zstandard

import headrace as hr
from headrace.api.recompress import recompress
from headrace.errors import SourceChangedError
from headrace.store.shards.metadata import encode

ROWS = [
    b'{"id":%d,"level":"%s"}' % (n, [b"info", b"error"][n % 2]) for n in range(5000)
]
TEXT = b"".join(row + b"\n" for row in ROWS)


@pytest.fixture
def data(tmp_path):
    (tmp_path / "app.jsonl").write_bytes(TEXT)
    return tmp_path


def write(headrace, *arguments):
    done = headrace("shard", "write", *arguments)
    assert done.code == 0, done.err
    return done


def test_written_rows_are_printed(headrace, data):
    done = write(headrace, "app.jsonl", "--out", "set", "--max-bytes", "4KiB")
    assert done.rows == [b"set/rows.meta-00000001.json"]
    assert (data / "set/rows.meta-00000001.json").exists()
    assert "5,000 rows in" in done.err
    assert headrace("shard", "cat", "set").out == TEXT
    assert headrace("shard", "cat", "set/rows").out == TEXT
    files = [path for path in data.glob("set/*/*") if path.suffix == ".zst"]
    assert len(files) > 1
    assert all(path.stat().st_size <= 4096 for path in files)


def test_a_set_is_a_source_like_any_other(headrace, data):
    write(
        headrace, "app.jsonl", "--out", "set", "--max-bytes", "4KiB", "--codec", "gzip"
    )
    assert headrace("count", "set").out == b"5000\n"
    assert headrace("row", "set", "4321").rows == [ROWS[4321]]
    assert headrace("tail", "-n", 3, "set").rows == ROWS[-3:]
    assert headrace("query", "$.rows().count()", "set").out == b"5000\n"


def test_every_option_of_write(process, data):
    options = (
        "--set-name", "all", "--codec", "gzip", "--level", "9", "--block-bytes", "2KiB",
        "--max-records", "1500", "--max-logical-bytes", "1MiB", "--threads", "2",
    )  # fmt: skip
    done = process("shard", "write", "-", "--out", data / "set", *options, stdin=TEXT)
    assert done.code == 0, done.err
    metadata = hr.ShardSet(data / "set", "all").metadata
    assert [part.records for part in metadata.parts] == [1500, 1500, 1500, 500]
    assert metadata.compression.codec == "gzip"
    assert metadata.compression.level == 9
    assert metadata.compression.block_bytes == 2048
    first = data / "set" / metadata.parts[0].path
    assert gzip.decompress(first.read_bytes()).count(b"\n") == 1500


def test_a_directory_for_each_value(headrace, data):
    write(headrace, "app.jsonl", "--out", "set", "--partition-by", "level")
    names = sorted(path.name for path in data.glob("set/rows.parts-00000001/*"))
    assert names == ["level=error", "level=info"]
    printed = headrace("shard", "cat", "set").rows
    assert printed == ROWS[1::2] + ROWS[::2]


@pytest.fixture
def bad(data):
    (data / "bad.jsonl").write_bytes(b'{"a":1}\n{"a":\n\n{"a":3}\n\xff\n[1]\n')
    return data


def test_the_first_bad_row_ends_a_write_and_leaves_nothing(headrace, bad):
    done = headrace("shard", "write", "bad.jsonl", "--out", "set")
    assert done.code == 1
    assert "bad.jsonl: line 2, byte 13:" in done.err
    assert not (bad / "set").exists()


def test_bad_rows_can_be_left_out_and_are_counted(headrace, bad):
    done = write(headrace, "bad.jsonl", "--out", "set", "--on-error", "skip", "--stats")
    assert "rows 6 / emitted 3 / skipped 2 / blank 1" in done.err
    assert headrace("shard", "cat", "set").out == b'{"a":1}\n\n{"a":3}\n[1]\n'


def test_bad_rows_can_be_kept(headrace, bad):
    done = write(headrace, "bad.jsonl", "--out", "set", "--errors", "no.jsonl")
    assert "2 bad rows left out; see no.jsonl" in done.err
    kept = [json.loads(line) for line in (bad / "no.jsonl").read_bytes().splitlines()]
    assert [(row["line"], row["offset"]) for row in kept] == [(2, 13), (5, 23)]
    assert kept[0]["raw"] == '{"a":'
    assert "raw_base64" in kept[1]


def test_trusted_rows_are_not_looked_at(headrace, bad):
    write(headrace, "bad.jsonl", "--out", "set", "--trusted")
    assert headrace("shard", "cat", "set").out == (bad / "bad.jsonl").read_bytes()


def test_a_row_too_long_to_read_is_a_bad_row(headrace, data):
    (data / "long.jsonl").write_bytes(b'1\n"%s"\n2\n' % (b"x" * 5000))
    options = ("long.jsonl", "--out", "set", "--max-line", "1000")
    done = headrace("shard", "write", *options)
    assert done.code == 1
    assert "long.jsonl: line 2, byte 2: 5002 bytes long" in done.err
    write(headrace, *options, "--on-error", "skip")
    assert headrace("shard", "cat", "set").rows == [b"1", b"2"]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        pytest.param(["app.jsonl"], 2, "--out DIR", id="nowhere to write"),
        pytest.param(["app.jsonl", "--out", "s", "--max-bytes", "20"], 2, "max_bytes", id="limit below an empty file"),
        pytest.param(["app.jsonl", "--out", "s", "--max-bytes", "0"], 2, "max_bytes", id="no limit at all"),
        pytest.param(["app.jsonl", "--out", "s", "--codec", "xz"], 2, "choose from", id="codec without blocks"),
        pytest.param(["app.jsonl", "--out", "s", "--set-name", "../x"], 2, "name", id="a name that leads away"),
        pytest.param(["app.jsonl", "--out", "foreign"], 2, "foreign", id="a directory that is not ours"),
        pytest.param(["no.jsonl", "--out", "s"], 1, "no such file", id="no input"),
        pytest.param(["wide.jsonl", "--out", "s", "--max-bytes", "200"], 1, "ERR_JSON_TOO_LARGE", id="a row that cannot fit"),
    ],
)  # fmt: skip
def test_a_refused_write_is_reported_and_leaves_nothing(
    headrace, data, arguments, code, says
):
    (data / "foreign").mkdir()
    (data / "foreign/notes.txt").write_text("mine")
    (data / "wide.jsonl").write_bytes(b'"%s"\n' % os.urandom(500).hex().encode())
    done = headrace("shard", "write", *arguments)
    assert done.code == code, done.err
    assert says in done.err
    assert done.err.count("\n") == 1
    assert not (data / "s").exists()
    assert [path.name for path in (data / "foreign").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_writer_ended_by_a_signal_leaves_the_old_set(data, headrace, ending):
    write(headrace, "app.jsonl", "--out", "set")
    before = sorted((data / "set").rglob("*"))
    child = subprocess.Popen(
        [sys.executable, "-m", "headrace", "shard", "write", "-", "--out", "set"],
        cwd=data,
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    child.stdin.write(b'{"new":1}\n' * 400_000)
    child.stdin.flush()
    deadline = time.monotonic() + 30
    while (
        not list(data.glob("set/rows.parts-00000002/.*"))
        and time.monotonic() < deadline
    ):
        time.sleep(0.01)
    child.send_signal(ending)
    child.wait(30)
    child.stdin.close()
    assert child.returncode == 128 + ending if ending == signal.SIGTERM else 130
    assert sorted((data / "set").rglob("*")) == before
    assert headrace("shard", "cat", "set").out == TEXT


# Checking


def damage(data, at=0.5):
    """Change one byte in the middle of the first part; return its path."""
    part = min(path for path in data.glob("set/*/part-*") if path.suffix != ".ckpt")
    content = bytearray(part.read_bytes())
    content[int(len(content) * at)] ^= 0xFF
    part.write_bytes(content)
    return part


def test_a_whole_set_is_ok(headrace, data):
    write(headrace, "app.jsonl", "--out", "set", "--max-bytes", "8KiB")
    done = headrace("shard", "check", "set")
    assert done.code == 0
    parts = hr.ShardSet("set").metadata.parts
    assert done.rows == [
        f"{part.path}\t{part.records} rows\t{part.bytes} bytes\tok".encode()
        for part in parts
    ]


@pytest.mark.parametrize("at", [0.01, 0.5, 0.95])
def test_a_damaged_block_is_found_and_the_others_are_read(headrace, data, at):
    write(
        headrace,
        "app.jsonl",
        "--out",
        "set",
        "--block-bytes",
        "4KiB",
        "--codec",
        "gzip",
    )
    damage(data, at)
    done = headrace("shard", "check", "set")
    assert done.code == 1
    assert b"digest" in done.out
    assert b"block " in done.out
    assert "1 of 1 parts" in done.err
    whole = headrace("shard", "cat", "set")
    assert whole.code == 1
    assert "the other blocks can be read" in whole.err
    rest = headrace("shard", "cat", "set", "--on-error", "skip")
    assert rest.code == 0
    assert "rows are left out" in rest.err
    lost = set(ROWS) - set(rest.rows)
    assert 0 < len(lost) < 500
    assert rest.rows == [row for row in ROWS if row not in lost]


@pytest.mark.parametrize("change", ["missing", "shorter", "longer", "another"])
def test_a_part_that_differs_from_the_metadata_is_found(headrace, data, change):
    write(headrace, "app.jsonl", "--out", "set", "--max-bytes", "4KiB")
    part, other = sorted(data.glob("set/*/part-*.zst"))[:2]
    match change:
        case "missing":
            part.unlink()
        case "shorter":
            part.write_bytes(part.read_bytes()[:-1])
        case "longer":
            part.write_bytes(part.read_bytes() + b"\0")
        case "another":
            part.write_bytes(other.read_bytes())
    done = headrace("shard", "check", "set")
    assert done.code == 1
    assert sum(not row.endswith(b"\tok") for row in done.rows) == 1
    assert headrace("shard", "cat", "set").code == 1


@pytest.mark.parametrize("sidecars", [True, False])
def test_rows_are_counted_against_the_metadata(headrace, data, sidecars):
    write(headrace, "app.jsonl", "--out", "set")
    shards = hr.ShardSet("set")
    (part,) = shards.metadata.parts
    wrong = replace(shards.metadata, parts=(replace(part, records=part.records + 1),))
    (data / "set" / "rows.meta-00000001.json").write_bytes(encode(wrong))
    if not sidecars:
        for sidecar in data.glob("set/*/*.ckpt"):
            sidecar.unlink()
    done = headrace("shard", "check", "set")
    assert done.code == 1
    assert b"it has 5000 rows, but the metadata says 5001" in done.out


def test_check_refuses_a_file(headrace, data):
    done = headrace("shard", "check", "app.jsonl")
    assert (done.code, done.out) == (2, b"")
    assert "is a file, not a set of shards" in done.err


def test_damaged_rows_can_be_left_out(headrace, data):
    write(headrace, "app.jsonl", "--out", "set", "--max-bytes", "4KiB")
    first, second, *_rest = hr.ShardSet("set").metadata.parts
    (data / "set" / first.path).unlink()
    path = data / "set" / second.path
    path.write_bytes(path.read_bytes()[:-1])
    done = headrace("shard", "cat", "set", "--on-error", "skip")
    assert done.code == 0
    assert done.rows == ROWS[first.records + second.records :]
    assert f"{first.records} rows are left out" in done.err
    assert f"{second.records} rows are left out" in done.err


def test_damage_of_a_plain_part_is_noticed(headrace, data):
    write(headrace, "app.jsonl", "--out", "set", "--codec", "none")
    (part,) = data.glob("set/*/part-*.jsonl")
    part.write_bytes(part.read_bytes().replace(b"info", b"INFO", 1))
    done = headrace("shard", "cat", "set")
    assert done.code == 1
    assert "digest" in done.err


def test_stats_show_each_file_against_the_limit(headrace, data):
    write(headrace, "app.jsonl", "--out", "set", "--max-bytes", "4KiB")
    done = headrace("shard", "stats", "set")
    *bars, total = done.out.decode().splitlines()
    assert len(bars) == len(hr.ShardSet("set").metadata.parts)
    assert all("[####" in line and "%" in line for line in bars)
    assert "5,000 rows" in total
    assert "at most 4 KiB each" in total
    facts = json.loads(headrace("shard", "stats", "set", "--json").out)
    assert len(facts["parts"]) == len(bars)
    assert (facts["records"], facts["max_bytes"]) == (5000, 4096)
    checked = headrace("shard", "check", "set", "--json").rows
    assert [json.loads(row)["faults"] for row in checked] == [[]] * len(bars)


def test_a_group_without_a_command_prints_its_commands(headrace, data):
    assert headrace("shard", "--help").out.count(b"\n  shard ") == 6
    assert headrace("help", "shard").out == headrace("shard", "--help").out
    assert b"usage: headrace shard cat" in headrace("help", "shard", "cat").out
    for words in (["shard"], ["shard", "wrote"]):
        done = headrace(*words)
        assert done.code == 2
        assert "shard write" in done.err


# Recompressing


@pytest.fixture(params=["gzip", "zstd"])
def foreign(request, data):
    """A file that another program compressed as a whole: its path and content."""
    text = b"\xef\xbb\xbf" + TEXT.replace(b"\n", b"\r\n", 10) + b"not json\n"
    if request.param == "gzip":
        path = data / "foreign.jsonl.gz"
        path.write_bytes(gzip.compress(text))
    else:
        path = data / "foreign.jsonl.zst"
        path.write_bytes(zstandard.ZstdCompressor().compress(text))
    return path, text


def decoded(path):
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    with zstandard.open(path, "rb") as file:
        return file.read()


def test_recompress_writes_a_file_of_blocks(headrace, foreign):
    path, text = foreign
    done = headrace("recompress", path, "--block-bytes", "4KiB")
    assert done.code == 0, done.err
    assert decoded(path) == text
    with hr.open(path, raw=True) as rows:
        assert rows[4000] == ROWS[4000]
        assert rows.bytes_read() < path.stat().st_size / 2
    assert sorted(each.name for each in path.parent.iterdir()) == [
        "app.jsonl", path.name, f"{path.name}.ckpt",
    ]  # fmt: skip


def test_the_old_file_can_be_kept(headrace, foreign):
    path, _text = foreign
    before = path.read_bytes()
    assert headrace("recompress", path, "--keep-backup").code == 0
    assert path.with_name(f"{path.name}.bak").read_bytes() == before


def test_the_new_file_has_the_permissions_of_the_old_one(headrace, foreign):
    path, _text = foreign
    path.chmod(0o600)
    assert headrace("recompress", path, "--block-bytes", "4KiB").code == 0
    for made in (path, path.with_name(f"{path.name}.ckpt")):
        assert made.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    headrace("query", "$", "app.jsonl", "--out", path)
    assert path.stat().st_mode & 0o777 == 0o640


def test_another_file_and_another_codec(headrace, foreign):
    path, text = foreign
    before = path.read_bytes()
    other = path.with_name("other.jsonl.zst")
    assert headrace("recompress", path, "--out", other, "--level", "-3").code == 0
    assert decoded(other) == text
    assert path.read_bytes() == before


def test_a_plain_file_and_a_last_row_without_newline(headrace, data):
    (data / "open.jsonl").write_bytes(b"1\n2")
    out = data / "made.jsonl.gz"
    assert headrace("recompress", "open.jsonl", "--out", out).code == 0
    assert decoded(out) == b"1\n2\n"


def test_a_file_that_cannot_be_recompressed_is_left_alone(headrace, foreign):
    path, _text = foreign
    other = "zstd" if path.suffix == ".gz" else "gzip"
    for arguments in (["app.jsonl"], [path, "--codec", other], ["."]):
        done = headrace("recompress", *arguments)
        assert done.code in (1, 2)
        assert done.err.count("\n") == 1
    cut = path.read_bytes()[:-20]
    path.write_bytes(cut)
    done = headrace("recompress", path)
    assert done.code == 1
    assert path.read_bytes() == cut
    assert sorted(each.name for each in path.parent.iterdir()) == [
        "app.jsonl",
        path.name,
    ]


def test_a_foreign_sidecar_stays(headrace, foreign):
    path, text = foreign
    beside = path.with_name(f"{path.name}.ckpt")
    beside.write_bytes(b"weights of a model")
    assert headrace("recompress", path, "--block-bytes", "4KiB").code == 0
    assert beside.read_bytes() == b"weights of a model"
    assert decoded(path) == text


def test_recompress_keeps_permissions(headrace, foreign):
    path, _text = foreign
    path.chmod(0o600)
    assert headrace("recompress", path).code == 0
    assert path.stat().st_mode & 0o777 == 0o600


def test_rows_appended_meanwhile_are_not_lost(foreign):
    path, _text = foreign
    before = path.read_bytes()

    def append(_done):
        path.write_bytes(before + before)

    with pytest.raises(SourceChangedError, match="changed while it was recompressed"):
        recompress(path, progress=append)
    assert path.read_bytes() == before + before


@pytest.mark.parametrize(
    "named",
    ["set/rows.meta-00000001.json", "set/rows", "set/*/part-*.zst", "set/PART"],
)
def test_a_set_is_not_recompressed(headrace, data, named):
    write(headrace, "app.jsonl", "--out", "set")
    (part,) = hr.ShardSet("set").metadata.parts
    before = sorted(data.glob("set/**/*"))
    done = headrace("recompress", named.replace("PART", part.path))
    assert (done.code, done.out) == (2, b"")
    assert sorted(data.glob("set/**/*")) == before
    assert headrace("shard", "check", "set").code == 0


def test_vacuum_removes_superseded_generations(headrace, tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"id": 1}\n')
    for _ in range(3):
        assert headrace("shard", "write", "rows.jsonl", "--out", "set").code == 0
    superseded = tmp_path / "set/.rows.superseded"
    assert len(list(superseded.iterdir())) == 2
    assert headrace("shard", "vacuum", "set", "--grace", "1h").out == b""
    assert headrace("shard", "vacuum", "set", "--grace", "0s").out == b"1\n2\n"
    assert not superseded.exists() or not list(superseded.iterdir())
    assert len(list(tmp_path.glob("set/rows.parts-*"))) == 1
    assert headrace("shard", "cat", "set").out == b'{"id": 1}\n'
    assert headrace("shard", "vacuum", "rows.jsonl").code == 2


def test_a_set_is_published(headrace, tmp_path):
    pytest.importorskip("fsspec")
    (tmp_path / "rows.jsonl").write_text('{"id": 1}\n{"id": 2}\n')
    assert headrace("shard", "write", "rows.jsonl", "--out", "shards").code == 0
    store = f"file://{tmp_path}/store"
    for generation in (1, 2):
        done = headrace("shard", "publish", "shards", store)
        meta = f"{store}/rows.meta-0000000{generation}.json"
        assert (done.code, done.out.decode()) == (0, f"{meta}\n")
    for url in (store, f"{store}/", f"{store}/rows", meta):
        assert headrace("query", "$.id", url).out == b"1\n2\n"
        assert headrace("shard", "cat", url).out == b'{"id": 1}\n{"id": 2}\n'
        assert headrace("shard", "check", url).out.endswith(b"\tok\n")
        assert b"generation 2: 1 file, 2 rows" in headrace("shard", "stats", url).out
    assert headrace("shard", "check", f"{tmp_path}/store").code == 0
    assert headrace("shard", "vacuum", store).out == b""
    assert headrace("shard", "vacuum", store, "--grace", "0s").out == b"1\n"
    assert not list(tmp_path.glob("store/rows.parts-00000001/*"))
    (part,) = (tmp_path / "store" / "rows.parts-00000002").iterdir()
    part.write_bytes(part.read_bytes()[:-1] + b"?")
    checked = headrace("shard", "check", store)
    assert checked.code == 1
    assert b"its digest is" in checked.out
    wrong = headrace("shard", "publish", "shards", "nothing://bucket")
    assert wrong.code == 1
    assert "nothing" in wrong.err


@pytest.mark.parametrize(
    ("out", "arguments", "reason"),
    [
        ("y.jsonl.xz", [], "files are not written as xz"),
        ("y.jsonl.bz2", [], "files are not written as bzip2"),
        ("y.jsonl.lz4", [], "files are written as"),
        ("y.jsonl", [], "which codec?"),
        ("y.jsonl.gz", ["--codec", "zstd"], "its name says gzip, not zstd"),
        ("y.jsonl.ZST", ["--codec", "gzip"], "its name says zstd, not gzip"),
    ],
)
def test_a_file_name_of_another_codec_is_refused(
    headrace, foreign, out, arguments, reason
):
    path, _text = foreign
    done = headrace("recompress", path, "--out", path.with_name(out), *arguments)
    assert done.code == 2
    assert reason in done.err
    assert not path.with_name(out).exists()


@pytest.mark.parametrize(
    ("out", "arguments", "magic"),
    [
        ("y.jsonl.zstd", [], b"\x28\xb5\x2f\xfd"),
        ("y.jsonl.GZ", [], b"\x1f\x8b"),
        ("y.jsonl", ["--codec", "gzip"], b"\x1f\x8b"),
    ],
)
def test_the_file_name_decides_the_codec(headrace, foreign, out, arguments, magic):
    path, text = foreign
    made = path.with_name(out)
    assert headrace("recompress", path, "--out", made, *arguments).code == 0
    assert made.read_bytes().startswith(magic)
    suffix = ".gz" if magic == b"\x1f\x8b" else ".zst"
    assert decoded(made.rename(made.with_name(f"z{suffix}"))) == text


def test_a_producer_that_fails_does_not_empty_a_set(headrace, process, data):
    assert (
        headrace(
            "shard", "write", "app.jsonl", "--out", "set", "--on-error", "skip"
        ).code
        == 0
    )
    before = list(hr.open("set", raw=True))
    done = process("shard", "write", "--out", "set", stdin=b"")
    assert (done.code, done.out) == (1, b"")
    assert "nothing was written" in done.err
    assert "--allow-empty" in done.err
    assert list(hr.open("set", raw=True)) == before
    done = process(
        "shard", "write", "--out", "set", "--allow-empty", "--grace", "0s", stdin=b""
    )
    assert done.code == 0
    assert list(hr.open("set")) == []
    assert [path.name for path in (data / "set").iterdir()] == [
        "rows.meta-00000002.json"
    ]
