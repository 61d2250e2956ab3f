"""Queries divided into tasks give the answers of one run; here tasks run without Spark."""

import io
import warnings
from itertools import groupby
from pathlib import Path

import pytest

import headrace
from headrace.errors import HeadraceWarning, SourceChangedError, UsageError
from headrace.physical.distribution import (
    DriverScan,
    Grouped,
    Joined,
    SiftedRows,
    Sorted,
    TaskLines,
    TaskParts,
    Unique,
    strategy_of,
)
from headrace.physical.query_plan import StreamPlan, plan_query
from tests.reference.engines import BY_TASKS, in_process, outcome
from tests.reference.query_tables import (
    JOINS,
    LARGE_JOINS,
    QUERIES,
    ROWS,
    SPACED,
    write_bad_rows,
    write_files,
    write_users,
)

OPTIONS = [
    {},
    {"nulls": "emit"},
    {"limit": 3},
    {"limit": 0},
    {"limit": 7, "on_error": "skip"},
    {"on_error": "skip"},
    {"on_error": "collect"},
    {"lanes": False},
    {"matches": True, "on_error": "skip"},
    {"matches": True, "limit": 4},
    {"frame": "id", "on_error": "skip"},
    {"distinct_by": "k", "on_error": "skip"},
]

SIZES = [40, 400, 1 << 20]

STRATEGIES = {
    "driver": DriverScan,
    "grouped": Grouped,
    "joined": Joined,
    "lines": TaskLines,
    "parts": TaskParts,
    "rows": SiftedRows,
    "sorted": Sorted,
    "unique": Unique,
}


@pytest.fixture
def noted():
    """Return options that run tasks in this process, and the kinds of output of the jobs."""
    outputs = []

    def noting(query, tasks, tell):
        outputs.append(query.output)
        yield from in_process(query, tasks, tell)

    return {**BY_TASKS, "_run_tasks": noting}, outputs


@pytest.fixture
def files(tmp_path):
    return write_files(tmp_path)


@pytest.fixture
def with_bad_rows(tmp_path):
    return write_bad_rows(tmp_path)


def compare(dataset, query, size, by_tasks=BY_TASKS, **options):
    expected = outcome(dataset, query, **options)
    divided = outcome(
        dataset, query, **{**BY_TASKS, **by_tasks}, **options, partition_bytes=size
    )
    assert divided == expected, (query, size, options)


@pytest.mark.parametrize("query", QUERIES)
def test_any_query_of_several_files(files, query):
    with headrace.open(files, index=False) as dataset:
        for size in SIZES:
            compare(dataset, query, size)


@pytest.mark.parametrize("query", QUERIES)
def test_any_query_of_bad_rows(with_bad_rows, query):
    with headrace.open(with_bad_rows, index=False, max_line=2000) as dataset:
        for options in OPTIONS:
            compare(dataset, query, 97, **options)


@pytest.mark.parametrize("query", JOINS)
def test_joins_equal_those_of_one_run(files, with_bad_rows, query, tmp_path):
    users = write_users(tmp_path)
    for sources in (files, with_bad_rows, files[:1], users):
        with headrace.open(sources, index=False) as dataset:
            for options in ({}, {"on_error": "skip"}):
                compare(dataset, query, 200, names={"users": users}, **options)


@pytest.mark.parametrize("query", LARGE_JOINS)
def test_joins_with_a_large_side_equal_those_of_one_run(tmp_path, with_bad_rows, query):
    few, many = tmp_path / "few.jsonl", tmp_path / "many.jsonl"
    few.write_bytes(ROWS + SPACED)
    many.write_bytes(ROWS * 6)
    users = write_users(tmp_path)
    for sources, rows in (
        (few, many),
        (with_bad_rows, [many] * 5),
        (few, [many, *with_bad_rows]),
        # The left side is as large as the right one, or larger.
        ([few, few, many], many),
        ([few, *with_bad_rows, few], many),
        ([*with_bad_rows, many], [few, *with_bad_rows]),
    ):
        with headrace.open(sources, index=False, max_line=2000) as dataset:
            for options in (
                {},
                {"on_error": "skip"},
                {"on_error": "collect", "nulls": "emit"},
                {"limit": 2},
            ):
                names = {"rows": rows, "users": users}
                compare(dataset, query, 90, names=names, **options)


@pytest.mark.parametrize(
    "query",
    [
        "$.rows().filter(id > 1).unique_by(k)",
        "$.rows().map({id, x}).unique().map(60 / (id - 3))",
        "$.rows().sort(k)",
    ],
)
def test_bad_rows_go_to_a_file_as_they_are(with_bad_rows, tmp_path, query):
    bad_rows = {}
    for engine, where in {
        "local": {},
        "spark": {**BY_TASKS, "partition_bytes": 77},
    }.items():
        path = tmp_path / engine
        with headrace.open(with_bad_rows, index=False, max_line=2000) as dataset:
            outcome(
                dataset,
                query,
                on_error="collect",
                errors=path,
                **where,
            )
        bad_rows[engine] = path.read_bytes()
    assert bad_rows["spark"] == bad_rows["local"] != b""


def test_progress_is_known_before_the_first_answer(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id": 1}\n' * 1000)
    done_bytes = []

    def telling(query, tasks, tell):
        for done in (0, len(tasks) // 2, len(tasks), 0):
            tell(done, len(tasks))
            done_bytes.append(result.report.bytes_done())
        yield from in_process(query, tasks, tell)

    by_tasks = {"engine": "spark", "_run_tasks": telling, "partition_bytes": 100}
    with headrace.open(path, index=False) as dataset:
        result = dataset.query("$.rows().sum(id)", **by_tasks)
        assert result.to_list() == [1000]
        assert done_bytes == [0, 5000, 10000, 10000]


def test_the_first_rows_are_enough_for_a_limit(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id": 1}\n' * 1000)
    jobs = []

    def counting(query, tasks, tell):
        jobs.append(len(tasks))
        yield from in_process(query, tasks, tell)

    by_tasks = {"_run_tasks": counting}
    with headrace.open(path, index=False) as dataset:
        compare(dataset, "$.id", 100, by_tasks, limit=25)
        assert jobs == [1, 2]
        jobs.clear()
        compare(dataset, "$.rows().map(id).take(80)", 100, by_tasks)
        assert jobs == [1, 2, 4, 8]
        jobs.clear()
        compare(dataset, "$.rows().sum(id)", 100, by_tasks)
        assert jobs == [100]


@pytest.mark.parametrize(
    "damage", [b"", b"garbage at the end that is no block"], ids=["cut", "garbage"]
)
def test_damaged_blocks_end_the_answers_at_the_same_row(tmp_path, damage):
    path = tmp_path / "a.jsonl.gz"
    rows = b"".join(b'{"id": %d}\n' % row for row in range(2000))
    with headrace.LineWriter(path, block_bytes=500) as writer:
        writer.write_lines(rows)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 2 // 3] + damage)
    for beside in tmp_path.glob("*.ckpt"):
        beside.unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadraceWarning)
        with headrace.open(path, index=False) as dataset:
            compare(dataset, "$.id", 300)


def test_a_file_that_changes_is_named_as_it_was_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = Path("a.jsonl")
    path.write_bytes(b"1\n2\n3\n")
    dataset = headrace.open("a.jsonl", index=False)
    path.write_bytes(b"1\n")
    with pytest.raises(SourceChangedError, match=r"^a\.jsonl: the file became shorter"):
        dataset.query("$", **BY_TASKS).to_list()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"reverse": True}, r"reverse \(--reverse\).*engine='local'"),
        ({"partition_bytes": 0}, "at least a byte"),
        ({"engine": "local", "master": "local"}, "master is for engine='spark'"),
        ({"engine": "flink"}, "engine is one of 'local', 'spark'"),
    ],
)
def test_invalid_options_are_refused_before_anything_starts(files, options, words):
    with headrace.open(files) as dataset, pytest.raises(UsageError, match=words):
        dataset.query("$", **{"engine": "spark", "_run_tasks": None, **options})


def test_a_pipe_is_refused():
    dataset = headrace.open(io.BytesIO(b"1\n"))
    with pytest.raises(UsageError, match="cannot read a pipe; save it to a file"):
        dataset.query("$", engine="spark")


def test_too_much_memory_is_the_same_error(files):
    with headrace.open(files, index=False) as dataset:
        for query in ("$.rows().sort(id).reverse()", "$.rows().unique().last(9)"):
            local = outcome(dataset, query, memory=300)
            divided = outcome(
                dataset, query, memory=300, **BY_TASKS, partition_bytes=90
            )
            assert local[1] == divided[1]
            assert local[1][0] == "MemoryExceededError"


@pytest.mark.parametrize("kind", ["join", "left_join", "lookup"])
def test_a_join_by_a_shuffle_needs_no_memory_of_the_driver(tmp_path, kind):
    path = tmp_path / "a.jsonl"
    path.write_bytes(ROWS * 10)
    with headrace.open(path, index=False) as dataset:
        query = f"$.{kind}(@rows.map({{id, y: k}}), on: id == id).map(y)"
        options = {"names": {"rows": path}}
        expected = outcome(dataset, query, **options)
        where = {**BY_TASKS, "partition_bytes": 90, "memory": 300}
        assert outcome(dataset, query, **options, **where) == expected


@pytest.mark.parametrize(
    "query",
    [
        "$.rows().sort(k)",
        "$.rows().unique().map(id)",
        "$.rows().group_by(k)",
        "$.rows().index_by(x)",
        "$.rows().group_by(x).entries().map(@[0]).map(@.len())",
    ],
)
def test_a_shuffle_needs_no_memory_of_the_driver(files, query):
    with headrace.open(files, index=False) as dataset:
        expected = outcome(dataset, query)
        for size in SIZES:
            where = {**BY_TASKS, "partition_bytes": size, "memory": 300}
            assert outcome(dataset, query, **where) == expected


@pytest.mark.parametrize(
    ("query", "options", "given"),
    [
        ("$.rows().sort(k)", {"partition_bytes": 90}, ["survey", "shuffle"]),
        ("$.rows().sort(k, -x)", {"partition_bytes": 90}, ["survey", "shuffle"]),
        ("$.rows().sort(k)", {"partition_bytes": 90, "limit": 0}, ["survey"]),
        ("$.rows().sort(k)", {"partition_bytes": 1 << 20}, ["parts"]),
        ("$.rows().sort(60 / (id - 3))", {"partition_bytes": 90}, ["survey"]),
        (
            "$.rows().sort(60 / (id - 3))",
            {"partition_bytes": 90, "on_error": "skip"},
            ["survey", "shuffle"],
        ),
        ("$.rows().group_by(k)", {"partition_bytes": 90}, ["survey", "shuffle"]),
        ("$.rows().group_by(k)", {"partition_bytes": 1 << 20}, ["parts"]),
        (
            "$.rows().group_by(60 / (id - 3))",
            {"partition_bytes": 90},
            ["survey"],
        ),
        (
            "$.rows().group_by(k).values().map(@.map(60 / (id - 3))).take(1)",
            {"partition_bytes": 90},
            ["survey", "shuffle", "parts"],
        ),
        ("$.rows().unique_by(x)", {"partition_bytes": 90}, ["survey", "shuffle"]),
        ("$.rows().unique().sum(id)", {"partition_bytes": 90}, ["survey", "shuffle"]),
        ("$.rows().unique_by(x)", {"partition_bytes": 1 << 20}, ["rows"]),
        (
            "$.rows().flat_map(t).unique()",
            {"partition_bytes": 90},
            ["survey", "shuffle"],
        ),
        (
            "$.rows().flat_map(t).unique().map(@ + 1)",
            {"partition_bytes": 90},
            ["survey", "rows"],
        ),
        (
            "$.rows().unique_by(60 / (id - 3))",
            {"partition_bytes": 90},
            ["survey", "rows"],
        ),
        ("$.rows().unique_by(x)", {"partition_bytes": 90, "limit": 99}, ["rows"]),
    ],
)
def test_the_output_of_tasks(tmp_path, noted, query, options, given):
    path = tmp_path / "a.jsonl"
    path.write_bytes(ROWS * 10)
    by_tasks, jobs = noted
    with headrace.open(path, index=False) as dataset:
        outcome(dataset, query, **by_tasks, **options)
    assert [output for output, _ in groupby(jobs)] == given


@pytest.mark.parametrize(
    ("query", "given"),
    [
        ("$.lookup(@rows, on: k == k)", ["survey", "survey", "shuffle"]),
        ("$.diff(@rows, on: k == k).sum(id)", ["survey", "survey", "shuffle"]),
        ("$.map(k).intersect(@rows, on: @ == k)", ["survey", "survey", "shuffle"]),
        ("$.map(k).lookup(@rows, on: @ == k)", ["survey", "survey", "shuffle"]),
        ("$.flat_map(t).diff(@rows, on: @ == id)", ["survey", "survey", "shuffle"]),
        ("$.flat_map(t).diff(@rows, on: @ == id).sum()", ["survey", "rows", "rows"]),
        ("$.lookup(@rows.map(60 / (id - 3)), on: k == @)", ["survey", "survey"]),
        ("$.map(60 / (id - 3)).diff(@rows, on: @ == id)", ["survey"]),
        ("$.join(@rows, on: k == k)", ["survey", "survey", "shuffle"]),
        (
            "$.filter(id > 1).left_join(@rows, on: k == k).map(id)",
            ["survey", "survey", "shuffle"],
        ),
        (
            "$.join(@rows, on: k == k).filter(id > 1).count()",
            ["survey", "survey", "shuffle"],
        ),
        ("$.filter(id > 1).join(@rows, on: k == k).skip(1)", ["rows", "rows"]),
    ],
)
def test_the_output_of_tasks_for_a_join_with_a_large_side(
    tmp_path, noted, query, given
):
    few, many = tmp_path / "few.jsonl", tmp_path / "many.jsonl"
    few.write_bytes(ROWS)
    many.write_bytes(ROWS * 20)
    by_tasks, jobs = noted
    with headrace.open(few, index=False) as dataset:
        outcome(dataset, query, names={"rows": many}, **by_tasks, partition_bytes=90)
    assert jobs == given


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("$.id", "lines"),
        ("$.rows().filter(x > 1)", "lines"),
        ("$.rows().filter(x > 1).sum(y)", "parts"),
        ("$.rows().sort(x)", "sorted"),
        ("$.rows().filter(x > 1).sort(-x, -y).map(z)", "sorted"),
        ("$.rows().count_by(x)", "parts"),
        ("$.rows().group_by(x)", "grouped"),
        ("$.rows().index_by(x).transform_values(y).values().sum()", "parts"),
        ("$.rows().group_by(x).transform_values(@.reverse())", "grouped"),
        ("$.rows().group_by(x).transform_values(@.sum(y))", "parts"),
        ("$.rows().group_shape(x, [@.len(), @.max(y)])", "parts"),
        ("$.rows().group_by(x).a", "parts"),
        ("$.rows().group_by(x).values().map($.y)", "parts"),
        ("$.rows().sort(x, -y)", "sorted"),
        ("$.rows().sort(x).take(3)", "parts"),
        ("$.rows().sort((a, b) => a.x < b.x)", "parts"),
        ("$.rows().filter(x > 1).take(3)", "rows"),
        ("$.rows().unique_by(x)", "unique"),
        ("$.rows().map(y).unique().skip(2).sum()", "unique"),
        ("$.rows().unique_by(x).take(3)", "rows"),
        ("$.rows().unique_by(x).first()", "rows"),
        ("$.rows().unique_by(x).lookup(@users, on: x == x)", "rows"),
        ("$.rows().take(3)", "driver"),
        ("$.rows().reverse().map(x)", "driver"),
        ("$.rows().lookup(@users, on: x == x)", "lines"),
        ("$.rows().filter(x > 1).zip_streams(@users)", "rows"),
        ("$.rows().zip_streams(@users)", "driver"),
    ],
)
def test_the_strategy_of_a_query(query, where):
    main = plan_query(query).main
    strategy = strategy_of(main) if isinstance(main, StreamPlan) else TaskLines()
    assert isinstance(strategy, STRATEGIES[where])
    assert strategy.reason


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("$.rows().filter(x > 1).lookup(@users, on: x == x).map(y)", "joined"),
        ("$.rows().diff(@users.filter(y > 1), on: x == x)", "joined"),
        ("$.rows().intersect(@users, on: x == x).count()", "joined"),
        ("$.rows().filter(x > 1).lookup(@users, on: x == x).take(3)", "rows"),
        ("$.rows().filter(x > 1).lookup(@users.unique_by(x), on: x == x)", "rows"),
        ("$.rows().filter(x > 1).join(@users, on: x == x)", "joined"),
        ("$.rows().left_join(@users, on: x == x).map(y).sum()", "joined"),
        ("$.rows().filter(x > 1).join(@users, on: x == x).skip(2)", "rows"),
        ("$.rows().join(@users, on: x == x).unique()", "driver"),
    ],
)
def test_the_strategy_of_a_join_that_no_task_can_hold(query, where):
    strategy = strategy_of(plan_query(query).main, lambda _join: False)
    assert isinstance(strategy, STRATEGIES[where])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "$.rows().filter(x > 1).take(3)",
            "tasks send the rows that pass the first stage; the driver does the rest ("
            "a later stage needs rows in their order)",
        ),
        (
            "$.rows().sort(x)",
            "tasks make the elements and their keys; a shuffle sorts them; "
            "the driver takes the lines in that order (the answer is sorted by keys)",
        ),
        (
            "$.rows().unique_by(x)",
            "tasks find the first element of each key among their rows, and a shuffle "
            "finds the first of all if there are many; tasks do the rest; the driver puts "
            "the lines in order (equal elements may be in different tasks)",
        ),
        (
            "$.rows().group_by(x)",
            "tasks make the elements and the names of their groups; a shuffle brings these "
            "together; the driver orders them by their first element ("
            "elements are grouped by a key)",
        ),
        (
            "$.rows().group_by(x).values().sum(y)",
            "tasks make the elements and the names of their groups; a shuffle brings these "
            "together; the driver runs the rest of the query on the results ("
            "elements are grouped by a key)",
        ),
        (
            "$.rows().group_by(x).transform_values(@.sum(y))",
            "tasks reduce their rows; the driver puts the results together (no stage needs "
            "more than one row), and runs the rest of the query on the result; groups that take "
            "more than --memory are merged by a shuffle of those that each task has made",
        ),
        (
            "$.rows().join(@users, on: x == x).count()",
            "tasks reduce their rows; the driver puts the results together (no stage needs "
            "more than one row); @users is read by every task if it is small, looked up by "
            "tasks if it is large and has a key index, otherwise joined by a shuffle",
        ),
        (
            "$.rows().filter(x > 1).join(@users, on: x == x).take(3)",
            "tasks send the rows that pass the first 2 stages; the driver does "
            "the rest (a later stage needs rows in their order); @users is read by every task if it is small, looked up by tasks if "
            "it is large and has a key index, otherwise joined by the driver",
        ),
    ],
)
def test_explain_names_the_place_of_each_part(files, query, expected):
    with headrace.open(files) as dataset:
        names = {"users": files[0]} if "@users" in query else {}
        explained = dataset.query(query, engine="spark", names=names).explain()
    _, found, joins = explained.partition(f"on Spark\n└─ {expected}")
    assert found
    assert joins.startswith("\njoins\n└─ @users by ") if names else not joins


@pytest.mark.parametrize(
    ("query", "users", "indexed", "expected"),
    [
        (
            "$.rows().join(@users, on: id)",
            10**9,
            True,
            "index, since the left side is much smaller: tasks look their keys up",
        ),
        (
            "$.rows().join(@users, on: id)",
            10**9,
            False,
            "driver, since the left side is much smaller, and the right one fits into "
            "memory: the driver holds the rows that are needed",
        ),
        (
            "$.rows().join(@users.filter(id > 1), on: id)",
            1,
            True,
            "broadcast, since the right side is small: every task reads and holds it",
        ),
        (
            "$.rows().join(@users.take(2), on: id)",
            10**9,
            True,
            "driver, since the left side is much smaller, and the right one fits into "
            "memory: the driver holds the rows that are needed",
        ),
    ],
)
def test_explain_names_the_strategy_of_joins_and_its_reason(
    tmp_path, query, users, indexed, expected
):
    path = tmp_path / "users.jsonl"
    path.write_bytes(ROWS)
    headrace.KeyIndex.build(path, "id")
    options = {"names": {"users": path}, "size_hints": {"users": users}}
    with headrace.open(path, index=False) as dataset:
        result = dataset.query(query, engine="spark", index=indexed, **options)
        assert result.explain().endswith(f"joins\n└─ @users by {expected}")
