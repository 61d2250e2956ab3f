"""Threads give the result of one thread, for any division of rows among them."""

import gzip
import io
import json
import signal
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.errors import BadRowError, HeadraceError
from tests.examples import often
from tests.features.queries.test_divided_queries import BAD, FEW_ROWS, GROUPS, JOINED
from tests.features.queries.test_query_modes import ROWS, STREAMS, VALUES
from tests.reference.engines import outcome

OPTIONS = st.fixed_dictionaries(
    {"on_error": st.sampled_from(["abort", "skip", "collect"])},
    optional={
        "limit": st.integers(0, 9),
        "nulls": st.sampled_from(["drop", "emit"]),
        "lanes": st.booleans(),
        "stream": st.booleans(),
        "reverse": st.booleans(),
        "shape": st.sampled_from(["lines", "array"]),
    },
)
SHARED = st.fixed_dictionaries(
    {"threads": st.sampled_from([2, 3, 8]), "_share_bytes": st.integers(1, 400)}
)
CODECS = st.sampled_from(["none", "gzip", "blocks"])


PEAK_OF_COMMAND = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("threads")


def written(path, lines, codec):
    """Write lines as one file, and return its path."""
    content = b"\n".join(lines)
    if codec == "gzip":
        path = path.with_suffix(".jsonl.gz")
        path.write_bytes(gzip.compress(content, mtime=0))
    elif codec == "blocks" and content:
        path = path.with_suffix(".jsonl.zst")
        with headrace.LineWriter(
            path, codec="zstd", block_bytes=4096, validate=False
        ) as writer:
            writer.write_lines(content if content.endswith(b"\n") else content + b"\n")
    else:
        path.write_bytes(content)
    return path


@often(2.5)
@given(
    query=st.sampled_from(VALUES + STREAMS) | GROUPS,
    rows=ROWS,
    bad=st.lists(st.tuples(st.integers(0, 30), BAD), max_size=3),
    options=OPTIONS,
    shared=SHARED,
    cut=st.integers(0, 30),
    codec=CODECS,
)
def test_any_division(folder, query, rows, bad, options, shared, cut, codec):
    lines = [json.dumps(row).encode() for row in rows]
    for at, line in bad:
        lines.insert(at, line)
    paths = [
        written(folder / "1.jsonl", lines[:cut], codec),
        written(folder / "2.jsonl", lines[cut:], "none"),
    ]
    with headrace.open(paths, index=False, max_line=250) as dataset:
        expected = outcome(dataset, query, threads=1, **options)
        divided = outcome(dataset, query, **shared, **options)
    assert divided == expected


@often(1)
@given(
    query=JOINED,
    rows=FEW_ROWS,
    others=FEW_ROWS,
    bad=st.lists(st.tuples(st.booleans(), st.integers(0, 12), BAD), max_size=2),
    options=OPTIONS.filter(lambda options: "stream" not in options),
    shared=SHARED,
)
def test_any_join(folder, query, rows, others, bad, options, shared):
    sides = [[json.dumps(row).encode() for row in side] for side in (rows, others)]
    for is_right, at, line in bad:
        sides[is_right].insert(at, line)
    left = written(folder / "left.jsonl", sides[0], "none")
    right = written(folder / "right.jsonl", sides[1], "none")
    options = {**options, "names": {"others": right}}
    with headrace.open(left, index=False, max_line=250) as dataset:
        expected = outcome(dataset, query, threads=1, **options)
        divided = outcome(dataset, query, **shared, **options)
    assert divided == expected


@often(1)
@given(
    query=st.sampled_from(VALUES + STREAMS) | GROUPS,
    rows=ROWS,
    bad=st.lists(st.tuples(st.integers(0, 30), BAD), max_size=2),
    options=OPTIONS.filter(lambda options: not options.get("reverse")),
    shared=SHARED,
)
def test_a_pipe_gives_the_answers_of_a_file(folder, query, rows, bad, options, shared):
    lines = [json.dumps(row).encode() for row in rows]
    for at, line in bad:
        lines.insert(at, line)
    text = b"\n".join(lines)

    def of_pipe(**chosen):
        with headrace.open(io.BytesIO(text), max_line=250) as dataset:
            return outcome(dataset, query, **chosen, **options)

    assert of_pipe(**shared) == of_pipe(threads=1)


def test_the_first_bad_row_of_the_file_is_the_error(tmp_path):
    """A thread that meets a later bad row first does not end the run."""
    rows = [b'{"id": %d, "s": "%s"}' % (n, b"x" * 50) for n in range(200_000)]
    rows[150_000], rows[199_999] = b"{", b"["
    path = tmp_path / "late.jsonl"
    path.write_bytes(b"\n".join(rows))
    result = headrace.open(path, index=False).query("id", threads=4)
    with pytest.raises(BadRowError) as raised:
        for _ in result.lines():
            pass
    assert raised.value.line == 150_001
    assert result.stats.rows == 150_001
    assert result.stats.emitted == 150_000


def test_a_long_row_between_short_ones(tmp_path):
    path = tmp_path / "long.jsonl"
    long = b'{"id": 1, "s": "%s"}' % (b"x" * (9 << 20))
    path.write_bytes(b"\n".join([b'{"id": 0}', long, b'{"id": 2}'] * 2))
    with headrace.open(path, index=False) as dataset:
        assert dataset.query("id", threads=3).to_list() == [0, 1, 2] * 2
        assert dataset.query("$.rows().sum(id)", threads=3).to_list() == [6]


def test_a_file_that_shrinks_meanwhile_is_an_error(tmp_path):
    # More shares than threads can be ahead with: the last are read from the new file.
    path = tmp_path / "shrinks.jsonl"
    path.write_bytes(b'{"id": 1234567890}\n' * 2_000_000)
    with headrace.open(path, index=False) as dataset:
        lines = dataset.query("id", threads=3).lines()
        next(lines)
        path.write_bytes(b'{"id": 1}\n')
        with pytest.raises(HeadraceError, match=r"shorter|changed"):
            for _ in lines:
                pass


def test_an_abandoned_run_ends_its_threads(tmp_path):
    import threading

    path = tmp_path / "left.jsonl"
    path.write_bytes(b'{"id": 1234567890}\n' * 1_000_000)
    before = set(threading.enumerate())
    with headrace.open(path, index=False) as dataset:
        lines = dataset.query("id", threads=3).lines()
        next(lines)
        assert len(set(threading.enumerate()) - before) == 3
        lines.close()
        assert not set(threading.enumerate()) - before


@pytest.mark.parametrize(
    "query",
    [
        "id",
        "$.rows().filter(id > 9)",
        "$.rows().group(k, {n: count()})",
        "$.rows().sum(id)",
    ],
)
def test_memory_depends_on_the_threads_and_not_on_the_file(tmp_path, query):
    """At most 64 MiB, and 8 MiB for each thread, Python included."""
    path = tmp_path / "rows.jsonl"
    path.write_bytes(
        b"".join(b'{"id": %d, "k": %d}\n' % (n, n % 1000) for n in range(1000)) * 3000
    )
    command = [sys.executable, "-m", "headrace", "query", "--threads", "3", query, path]
    # What a process is forked from counts, so that has to be small.
    small = [sys.executable, "-S", "-c", PEAK_OF_COMMAND, *command]
    peak = int(subprocess.run(small, capture_output=True, check=True).stdout)
    assert peak <= (64 + 3 * 8) << 20


@pytest.mark.parametrize("threads", ["1", "3"])
def test_ctrl_c_ends_threads_at_once(tmp_path, threads):
    """All rows would take minutes."""
    path = tmp_path / "slow.jsonl"
    path.write_bytes(b'{"id": 1}\n' * 1_000_000)
    query = "range(0, 20000).map(@ * 2).sum() + id"
    command = [sys.executable, "-m", "headrace", "query", "--threads", threads]
    with subprocess.Popen(
        [*command, query, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130


def test_threads_are_a_positive_number(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"{}\n")
    with pytest.raises(
        headrace.HeadraceError, match=r"threads .*0: must be a positive"
    ):
        headrace.query("id", path, threads=0)
    with pytest.raises(headrace.HeadraceError, match="threads is for engine='local'"):
        headrace.query("id", path, threads=2, engine="spark")
