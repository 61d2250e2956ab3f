"""Every command that takes files takes a log, and prints the same as for one file."""

import json

import pytest

ROWS = b"".join(
    b'{"id":%d,"k":"k%d","ms":%d}\n' % (n, n % 9, n * 10) for n in range(3000)
)


@pytest.fixture(params=["plain", "zstd", "gzip"])
def both(piped, tmp_path, request):
    """Make the same rows as a file and as a log of several segments, compressed or not."""
    (tmp_path / "rows.jsonl").write_bytes(ROWS)
    done = piped("log", "append", "log", "--rotate-rows", 700, "-q", stdin=ROWS)
    assert done.code == 0
    if request.param != "plain":
        assert piped("log", "seal", "log", "--codec", request.param).code == 0
        assert len(list((tmp_path / "log").glob("*.jsonl"))) == 1
    with max((tmp_path / "log").glob("*.jsonl")).open("ab") as file:
        file.write(b'{"id":"not committed"}\n')
    return "rows.jsonl", "log"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("count", "FILE"), id="count"),
        pytest.param(("count", "--stats", "FILE"), id="count --stats"),
        pytest.param(("head", "-n", 900, "FILE"), id="head"),
        pytest.param(("tail", "-n", 900, "FILE"), id="tail"),
        pytest.param(("row", "FILE", 2345), id="row"),
        pytest.param(("row", "FILE", "690:710"), id="rows"),
        pytest.param(("query", "id", "FILE"), id="query"),
        pytest.param(("query", "id", "--reverse", "FILE"), id="query --reverse"),
        pytest.param(
            ("query", "id % 100 == 3", "--matches", "FILE"), id="query --matches"
        ),
        pytest.param(("query", "$.sum(ms)", "--stream", "FILE"), id="query --stream"),
        pytest.param(("query", "$.nth(1234)", "--stream", "FILE"), id="nth"),
        pytest.param(
            ("query", "k", "--distinct-by", "k", "FILE"), id="query --distinct-by"
        ),
        pytest.param(
            (
                "query", "$.join(@b, on: id).count()", "--stream", "--name", "b=FILE",
                "FILE",
            ),
            id="named source",
        ),
        pytest.param(
            ("join", "FILE", "FILE", "--on", "id", "--prefix", "r_"), id="join"
        ),
    ],
)  # fmt: skip
def test_the_same_answer(piped, both, arguments):
    file, log = (
        piped(*(str(each).replace("FILE", name) for each in arguments)) for name in both
    )
    assert (file.code, log.code) == (0, 0), log.err
    assert log.out == file.out
    assert file.out


def test_every_segment_is_counted_by_itself(piped, both):
    counted = piped("count", "--per-file", "log").out.decode().splitlines()
    counted = [row.removesuffix(".zst").removesuffix(".gz") for row in counted]
    names = [f"log/{base:020d}.jsonl" for base in range(0, 3000, 700)]
    assert counted == [
        f"{count}\t{name}"
        for count, name in zip([700, 700, 700, 700, 200], names, strict=True)
    ]


def test_shards_of_a_log(piped, both):
    assert piped("shard", "write", "log", "--out", "set").code == 0
    assert piped("shard", "cat", "set").out == ROWS


def test_an_index_of_each_segment(piped, both, tmp_path):
    done = piped("index", "build", "log", "--on", "id")
    assert done.code == 0, done.err
    assert len(list((tmp_path / "log").glob("*.jnx"))) == 5
    found = piped("query", "--matches", "id == 2222", "log", "--stats")
    assert json.loads(found.out) == {"id": 2222, "k": "k8", "ms": 22220}
    assert "rows 3000" in found.err
    assert piped("log", "cat", "log").out.startswith(ROWS)
    refused = piped("index", "build", "log", "--on", "k", "--index", "one.jnx")
    assert refused.code == 2
    assert "an index for each of 5 files" in refused.err


def test_a_directory_of_logs_is_an_error_with_advice(piped, both, tmp_path):
    (tmp_path / "storage").mkdir()
    (tmp_path / "log").rename(tmp_path / "storage" / "log")
    refused = piped("count", "storage")
    assert (refused.code, refused.out) == (1, b"")
    assert "name one, such as storage/log, or all of them: 'storage/**/'" in refused.err
    assert piped("count", "storage/**/").out == b"3000\n"


def test_a_log_is_followed_by_its_own_command(piped, both):
    refused = piped("tail", "-f", "log")
    assert refused.code == 2
    assert "follow this log with `headrace log cat -f`" in refused.err


class TestTimes:
    @pytest.fixture
    def log(self, piped):
        """Make a log of five segments whose times are the ids of records, in milliseconds."""
        times = ("--time", "$.id", "--rotate-rows", 700, "-q")
        assert piped("log", "append", "timed", *times, stdin=ROWS).code == 0
        return "timed", "--since", 1000, "--until", "1970-01-01T00:00:02Z"

    @pytest.mark.parametrize(
        ("command", "expected"),
        [
            (("count",), b"1000\n"),
            (("count", "--stats"), b"1000\n"),
            (("head", "-n", 1), ROWS.splitlines(keepends=True)[1000]),
            (("tail", "-n", 1), ROWS.splitlines(keepends=True)[1999]),
            (("query", "id", "--limit", 1), b"1000\n"),
            (("query", "id", "--reverse", "--limit", 1), b"1999\n"),
            (("query", "$.map(id).max()", "--stream"), b"1999\n"),
            (("query", "$.nth(500).id", "--stream"), b"1500\n"),
        ],
    )
    def test_of_commands(self, piped, log, command, expected):
        done = piped(*command, *log)
        assert (done.code, done.out) == (0, expected), done.err

    def test_the_account(self, headrace, piped, log):
        done = headrace("query", "id % 2 == 0", "--matches", *log, "--stats")
        assert len(done.rows) == 500
        assert (
            "rows 3000 = emitted 500 + filtered 500 + skipped 0 + blank 0 "
            "+ outside the times 2000"
        ) in done.err
        done = headrace("query", "id", *log, "--stats", "--events", "json", "-q")
        assert [event["outside"] for event in done.events] == [2000]

    def test_per_file(self, piped, log):
        counted = piped("count", "--per-file", *log).rows
        assert [int(row.split(b"\t")[0]) for row in counted] == [0, 400, 600, 0, 0]

    @pytest.mark.parametrize(
        ("command", "said"),
        [
            (("query", "id", "rows.jsonl"), "this is not a log"),
            (("query", "id", "timed", "--engine", "spark"), "--engine local"),
            (("tail", "-f", "timed"), "`headrace log cat -f --since`"),
        ],
    )
    def test_refused(self, piped, log, tmp_path, command, said):
        (tmp_path / "rows.jsonl").write_bytes(ROWS)
        done = piped(*command, "--since", "-15m")
        assert (done.code, done.out) == (2, b"")
        assert said in done.err
