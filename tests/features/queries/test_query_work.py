"""What a run of a query measures of itself: rows, bytes, threads, memory, seconds of stages."""

import gzip
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.errors import HeadraceError, UsageError
from headrace.record import field_names, replace
from tests.examples import often
from tests.features.queries.test_divided_queries import BAD, FEW_ROWS, GROUPS, JOINED
from tests.features.queries.test_query_modes import ROWS, STREAMS, VALUES
from tests.reference.engines import BY_TASKS

THREADS = [1, 2, 3]
LINES = [b'{"id":%d,"k":"%d"}\n' % (row, row % 7) for row in range(1000)]
SHARE = 2000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("work")


@pytest.fixture
def thousand(tmp_path):
    path = tmp_path / "thousand.jsonl"
    path.write_bytes(b"".join(LINES))
    return path


def run(source, query, **options):
    """Run a query; return its answers and what it measured."""
    with headrace.open(source) as dataset:
        result = dataset.query(query, _share_bytes=SHARE, **options)
        return result.to_list(), result.stats.work


def analyzed(source, query, **options):
    with headrace.open(source) as dataset:
        return dataset.explain(query, analyze=True, _share_bytes=SHARE, **options)


def seconds_of(work):
    return [getattr(work, name) for name in field_names(work) if "seconds" in name]


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("$.id", 1000),
        ("id if id < 10 else null", 10),
        ("$.rows().sum(id)", 1),
        ("$.rows().group_by(k).transform_values(@.count())", 1),
        ("$.rows().sort(-id).take(4)", 4),
    ],
)
def test_all_rows_and_bytes_are_counted_once(thousand, query, count, threads):
    answers, work = run(thousand, query, threads=threads)
    assert len(answers) == count
    assert (work.parsed, work.unread) == (1000, 0)
    assert work.bytes_read == thousand.stat().st_size
    assert work.threads == threads
    assert len(seconds_of(work)) == 7
    assert min(seconds_of(work)) >= 0
    assert work.seconds >= work.write_seconds


@pytest.mark.parametrize("threads", THREADS)
def test_compressed_bytes_are_counted_as_they_are_stored(thousand, tmp_path, threads):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(thousand.read_bytes()))
    _, work = run(path, "$.rows().sum(id)", threads=threads)
    assert (work.parsed, work.bytes_read) == (1000, path.stat().st_size)


@pytest.mark.parametrize("threads", THREADS)
def test_the_bytes_of_blocks_are_counted_once(thousand, tmp_path, threads):
    path = tmp_path / "a.jsonl.zst"
    with headrace.LineWriter(path, block_bytes=4096) as writer:
        writer.write_lines(thousand.read_bytes())
    _, work = run(path, "$.rows().sum(id)", threads=threads)
    assert work.parsed == 1000
    assert 0 < work.bytes_read <= 2 * path.stat().st_size


@pytest.mark.parametrize("threads", THREADS)
def test_a_limit_leaves_rows_and_bytes_unread(thousand, threads):
    thousand.write_bytes(b"".join(LINES) * 100)
    answers, work = run(thousand, "$.id", limit=3, threads=threads)
    assert (len(answers), work.parsed) == (3, 3)
    assert 0 < work.bytes_read < thousand.stat().st_size


@pytest.mark.parametrize("threads", THREADS)
def test_rows_that_an_index_leaves_out_are_not_parsed(thousand, threads):
    headrace.KeyIndex.build(thousand, "id")
    query = "$.rows().filter(id in [7, 800])"
    answers, work = run(thousand, query, threads=threads)
    assert [answer["id"] for answer in answers] == [7, 800]
    assert (work.parsed, work.unread, work.threads) == (2, 998, 1)
    _, scanned = run(thousand, query, threads=threads, index=False)
    assert (scanned.parsed, scanned.unread, scanned.threads) == (1000, 0, threads)


def test_lines_outside_the_times_are_not_parsed(tmp_path):
    with headrace.LogWriter(tmp_path / "log", time="$.t") as log:
        for time in range(20):
            log.append({"t": time})
    with headrace.open(tmp_path / "log", since=5, until=9) as dataset:
        result = dataset.query("t")
        assert result.to_list() == [5, 6, 7, 8]
    work, outside = result.stats.work, result.stats.outside
    assert (work.parsed, work.unread, outside) == (4, 16, 16)


@pytest.mark.parametrize("threads", THREADS)
def test_skipped_bad_rows_are_parsed_rows(thousand, threads):
    thousand.write_bytes(b"".join([*LINES[:600], b"{bad\n", b"\n", *LINES[600:]]))
    answers, work = run(thousand, "$.id", on_error="skip", threads=threads)
    assert (len(answers), work.parsed) == (1000, 1002)
    assert work.bytes_read == thousand.stat().st_size


def test_a_pipe_is_counted(thousand):
    _, work = run(io.BytesIO(thousand.read_bytes()), "$.rows().count()", threads=2)
    assert work.parsed == 1000


@pytest.mark.parametrize("threads", THREADS)
def test_memory_is_the_most_that_was_held(thousand, threads):
    _, nothing = run(thousand, "$.id", threads=threads)
    _, some = run(
        thousand, "$.rows().group_by(k).transform_values(@.count())", threads=threads
    )
    _, all_rows = run(thousand, "$.rows().sort(id)", threads=threads)
    assert nothing.memory == 0 < some.memory < all_rows.memory
    assert all_rows.memory >= thousand.stat().st_size * 0.9


def test_a_run_in_tasks_counts_their_bytes(thousand):
    with headrace.open(thousand) as dataset:
        result = dataset.query("$.rows().sum(id)", **BY_TASKS, partition_bytes=SHARE)
        result.to_list()
    work = result.stats.work
    assert (work.parsed, work.unread) == (1000, 0)
    assert work.bytes_read == thousand.stat().st_size


def test_before_a_run_nothing_is_measured(thousand):
    with headrace.open(thousand) as dataset:
        work = dataset.query("$.id").stats.work
    assert not any(getattr(work, name) for name in field_names(work))


# The plan with what was measured


def steps(explained):
    """Return what is in brackets behind lines, without seconds, by the words before it."""
    found = {}
    for line in explained.splitlines():
        if match := re.fullmatch(r"(?:[├└]─ )?(.*?)  \[(.*)\]", line):
            found[match[1]] = re.sub(r":? ?(?:[a-z]+ )?\d+\.\d{3} s,?", "", match[2])
    return {line: said for line, said in found.items() if said}


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize(
    ("query", "rows", "measured"),
    [
        (
            "$.rows().filter(id >= 900).unique_by(k).filter(k != '5').map(id).take(4)",
            905,
            {
                "each: [$].filter(id >= 900)": "905 -> 5",
                "distinct: k": "5 -> 5",
                'each: [$].filter(k != "5").map(id)': "5 -> 4",
                "take 4, then stop reading": "4 -> 4",
                "each element is a line of output": "4 elements",
            },
        ),
        (
            "$.rows().skip(10).filter(id < 20).drop_while(id < 15)",
            1000,
            {
                "skip 10": "1,000 -> 990",
                "each: [$].filter(id < 20)": "990 -> 10",
                "drop while: id < 15": "10 -> 5",
                "each element is a line of output": "5 elements",
            },
        ),
        (
            "$.rows().filter(id >= 900).map(id).sum()",
            1000,
            {
                "each: [$].filter(id >= 900).map(id)": "1,000 -> 100",
                "added up, exactly": "100 elements",
            },
        ),
        (
            "$.rows().filter(id >= 900).sort(-id).map(id)",
            1000,
            {
                "each: [$].filter(id >= 900)": "1,000 -> 100",
                "sorted; what does not fit into --memory is in a temporary file": "100 elements",
            },
        ),
        (
            "$.rows().flat_map([id, id]).count()",
            1000,
            {
                "each: [$].flat_map([id, id])": "1,000 -> 2,000",
                "counted": "2,000 elements",
            },
        ),
    ],
)
def test_each_stage_has_the_elements_that_came_and_passed(
    thousand, query, rows, measured, threads
):
    explained = analyzed(thousand, query, threads=threads)
    found = {
        line: said for line, said in steps(explained).items() if "result" not in line
    }
    divided = threads > 1 and not re.search(r"skip|take", query)
    said = f"{threads} threads" if divided else "1 thread"
    size = f"{thousand.stat().st_size / 1024:.0f} KiB"
    first = "all rows, from the first to the last"
    assert found == {first: f"{rows:,} rows, {size}, {said}", **measured}
    assert re.search(r"^the run: .* line(s?) of output", explained, re.MULTILINE)


def test_chosen_rows_and_the_answers_about_each_row_are_counted(thousand):
    assert steps(
        analyzed(thousand, "id", where="id < 100", distinct_by="k", threads=1)
    ) == {
        "only rows for which id < 100": "1,000 -> 100",
        "only the first row of each k": "100 -> 7",
        "each row by itself": "1,000 rows, 18 KiB, 1 thread",
        "id": "7 -> 7",
    }
    found = steps(analyzed(thousand, "id > 899", matches=True, threads=3))
    assert found["id > 899"] == "1,000 -> 100"


def test_bad_rows_and_unread_rows_are_counted(thousand):
    headrace.KeyIndex.build(thousand, "id")
    found = steps(analyzed(thousand, "$.rows().filter(id == 7)", threads=2))
    first = "all rows, from the first to the last"
    assert re.fullmatch(r"1 row, 999 not read, \d+ K?i?B, 1 thread", found[first])
    thousand.write_bytes(b"".join([*LINES, b"{bad\n", b"\n"]))
    found = steps(analyzed(thousand, "$.rows().count()", on_error="skip", threads=1))
    assert found[first].startswith("1,002 rows, 1 blank, 1 skipped, ")
    assert found["counted"] == "1,000 elements"


def test_sub_queries_and_the_other_sides_of_joins_are_measured(thousand, tmp_path):
    few = tmp_path / "few.jsonl"
    few.write_bytes(b"".join(LINES[:50]))
    names = {"few": few}
    found = steps(
        analyzed(thousand, "$.filter(id < @few.max(id)).count()", names=names)
    )
    before = "beforehand: @few.max(id), all rows of @few, from the first to the last"
    assert found[before].startswith("50 rows")
    assert found["each: [$].map(id)"] == "50 -> 50"
    assert found["each: [$].filter(id < @few.max(id))"] == "1,000 -> 49"
    explained = analyzed(thousand, "$.join(@few, on: id == id).count()", names=names)
    assert re.search(
        r"^├─ join @few .*  \[1,000 -> 50; right side: 50 rows, ",
        explained,
        re.MULTILINE,
    )
    explained = analyzed(few, "$.zip_streams(@rows).count()", names={"rows": thousand})
    assert re.search(
        r"^├─ zip @rows.*  \[5[01] -> 50; right side: ", explained, re.MULTILINE
    )
    found = steps(
        analyzed(thousand, "{a: $.rows().count(), b: $.rows().filter(id > 4).max(id)}")
    )
    assert found["each: [$].filter(id > 4).map(id)"] == "1,000 -> 995"
    assert found["counted"] == "1,000 elements"


def test_analyzing_needs_this_process(thousand):
    with headrace.open(thousand) as dataset:
        result = dataset.query("$.id", **BY_TASKS)
        with pytest.raises(UsageError, match="engine='local'"):
            result.explain(analyze=True)


def test_an_analyzed_run_ends_at_a_bad_row(thousand):
    thousand.write_bytes(b"".join([*LINES, b"{bad\n"]))
    with pytest.raises(headrace.errors.BadRowError, match="line 1001"):
        analyzed(thousand, "$.rows().count()")


@often(1)
@given(
    query=st.sampled_from(VALUES + STREAMS) | GROUPS,
    rows=ROWS,
    bad=st.lists(st.tuples(st.integers(0, 30), BAD), max_size=2),
    stream=st.booleans(),
    threads=st.sampled_from([2, 3]),
    share=st.integers(1, 400),
)
def test_threads_count_what_one_thread_counts(
    folder, query, rows, bad, stream, threads, share
):
    lines = [json.dumps(row).encode() for row in rows]
    for at, line in bad:
        lines.insert(at, line)
    path = folder / "any.jsonl"
    path.write_bytes(b"\n".join(lines))
    found = []
    for count in (1, threads):
        with headrace.open(path, index=False, max_line=250) as dataset:
            try:
                explained = dataset.explain(
                    query,
                    analyze=True,
                    threads=count,
                    stream=stream,
                    on_error="skip",
                    _share_bytes=share,
                )
            except HeadraceError as error:
                explained = f"{type(error).__name__}: {error}"
        # The bytes that are read ahead depend on the threads, those that are held as well.
        elements = {
            line: said
            for line, said in steps(explained).items()
            if "thread" not in said
        }
        found.append(elements or explained.partition("\n")[0].partition("  [")[0])
    assert found[0] == found[1]


@often(0.5)
@given(query=JOINED, rows=FEW_ROWS, others=FEW_ROWS, threads=st.sampled_from(THREADS))
def test_any_join_can_be_analyzed(folder, query, rows, others, threads):
    paths = folder / "left.jsonl", folder / "right.jsonl"
    for path, side in zip(paths, (rows, others), strict=True):
        path.write_text("".join(json.dumps(row) + "\n" for row in side))
    with headrace.open(paths[0]) as dataset:
        result = dataset.query(
            query,
            names={"others": paths[1]},
            on_error="skip",
            threads=threads,
            _share_bytes=100,
        )
        try:
            count, stats = result.count(), result.stats
        except HeadraceError:
            return
        last = result.explain(analyze=True).splitlines()[-1]
        assert f" {count} line" in last
        assert replace(result.stats, errors=()) == replace(stats, errors=())


# The threads of a plan


@pytest.mark.parametrize(
    ("query", "options", "said"),
    [
        ("$.id", {}, "3 threads share the rows"),
        ("$.id", {"limit": 3}, "3 threads share the rows behind the first 2 MiB"),
        ("$.rows().sum(id)", {}, "3 threads share the rows"),
        ("$.id", {"threads": 1}, "threads (--threads) is 1"),
        ("input_line()", {}, "the place of a row depends on the rows before it"),
        ("$.rows().unique()", {}, "distinct depends on the elements before each one"),
        ("$.rows().take_while(id < 5)", {}, "take while depends on the elements"),
        ("$.rows().last(2)", {}, "only the last rows are read"),
        ("$.rows().sort(id)", {}, "3 threads share the rows"),
        ("$.id", {"reverse": True}, "they come from the last to the first; 3 threads"),
        ("$.id", {"_share_bytes": 1 << 20}, "the files are small; 3 threads share"),
        ("$.rows().filter(id == 7)", {}, "a key index leads to them"),
        ("$.rows().filter(id == 7)", {"index": False}, "3 threads share the rows"),
        ("@few.count()", {}, ""),
        ("{a: $.rows().count(), b: $.rows().sum(id)}", {}, "3 threads share the rows"),
    ],
)
def test_the_plan_names_the_threads(thousand, query, options, said):
    headrace.KeyIndex.build(thousand, "id")
    names = {"few": thousand} if "@few" in query else None
    options = {"threads": 3, "_share_bytes": SHARE, "names": names, **options}
    with headrace.open(thousand) as dataset:
        explained = dataset.explain(query, **options)
    found = re.findall(r"^(?:one|3) threads? .*", explained, re.MULTILINE)
    if not said:
        assert found == []
    elif said.startswith("3 threads share"):
        assert found == [said]
    else:
        assert [line.startswith("one thread reads the rows: ") for line in found] == [
            True
        ]
        assert said in found[0]
