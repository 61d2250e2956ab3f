"""Queries by Spark tasks: the same bytes, errors and counts as by the local engine.

Starting a job costs more than querying a few rows, so several queries share one job: see
`together`. How work is divided is tested without Spark, in tests/engines/test_divided_queries.py.
"""

import json
import pickle
import sys
from contextlib import suppress

import pytest
from pyspark import cloudpickle

import headrace
from headrace.cli.app import main
from headrace.engines.spark.query import launch
from headrace.engines.spark.query.task import TaskRun
from headrace.engines.spark.query.task_query import TaskQuery
from headrace.engines.spark.session.master import MASTER
from headrace.engines.spark.tasks.jobs import job_rows
from headrace.errors import MissingExtraError, SparkFailedError, UsageError
from tests.conformance.cases import load
from tests.conformance.test_cases import CASES
from tests.reference.engines import in_process, outcome
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
from tests.spark.processes import until

pytestmark = pytest.mark.spark

HERE = "local[2,4]"

GAPS = {}
"""Conformance cases with other answers on Spark, each with the reason."""


class NeedsTasksError(Exception):
    """A query reached the point at which tasks must run."""


def task_function(work):
    """Return the function of a task that runs several queries."""

    def run_query(batches):
        import pyarrow as pa

        for batch in batches:
            for number in batch.column(0).to_pylist():
                query, fragments = work[number]
                chunks = list(TaskRun(query).run(fragments))
                row = [[number], [pickle.dumps(chunks)]]
                yield pa.record_batch(row, names=["number", "chunks"])

    return run_query


def together(spark, runs):
    """Run several queries with the tasks of all in one Spark job.

    Each query runs twice: to record its first job, and with the answers of that job.
    Later jobs of a query run in this process.
    """
    first_jobs = []

    def note(query, tasks, _tell):
        first_jobs[-1] = (query, tasks)
        raise NeedsTasksError

    for run_query in runs:
        first_jobs.append(None)
        with suppress(NeedsTasksError):
            run_query("spark", note)
    work = [
        (job[0], tuple(task))
        for job in first_jobs
        if job is not None
        for task in job[1]
    ]
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    try:
        frame = spark.range(0, len(work), 1, 4)
        rows = frame.mapInArrow(
            task_function(work), "number bigint, chunks binary"
        ).collect()
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    by_number = {row.number: pickle.loads(row.chunks) for row in rows}
    results = iter([by_number[number] for number in range(len(work))])
    for run_query, job in zip(runs, first_jobs, strict=True):
        answers = [] if job is None else [next(results) for _task in job[1]]

        def answered(query, tasks, tell, answers=answers, unused=[True]):  # noqa: B006
            if not unused:
                yield from in_process(query, tasks, tell)
                return
            unused.clear()
            for task, chunks in enumerate(answers):
                yield from ((task, chunk) for chunk in chunks)

        yield run_query("local"), run_query("spark", answered), job is not None


def run_of(dataset, query, size=100, **options):
    def run_query(engine, run_tasks=None):
        spark = {
            "engine": "spark",
            "master": HERE,
            "partition_bytes": size,
            "_run_tasks": run_tasks,
        }
        return outcome(
            dataset, query, **options, **(spark if engine == "spark" else {})
        )

    return run_query


def test_many_queries_of_several_files(spark, tmp_path):
    users = write_users(tmp_path)
    good = headrace.open(write_files(tmp_path), index=False)
    bad = headrace.open(write_bad_rows(tmp_path), index=False, max_line=2000)
    runs = [run_of(good, query) for query in QUERIES]
    for options in ({}, {"on_error": "collect"}, {"limit": 5, "on_error": "skip"}):
        runs += [run_of(bad, query, **options) for query in QUERIES]
    runs += [run_of(good, query, names={"users": users}) for query in JOINS]
    by_tasks = 0
    for query, (local, divided, ran) in zip(
        [*QUERIES * 4, *JOINS], together(spark, runs), strict=True
    ):
        assert divided == local, query
        by_tasks += ran
    assert by_tasks > len(runs) / 2


@pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not here")
def test_the_shared_cases(spark, tmp_path):
    cases = load(CASES)
    runs = []
    for number, case in enumerate(cases):
        path = tmp_path / f"{number}.jsonl"
        if case.get("mode"):
            path.write_bytes(case["input"].encode())
        else:
            document = json.dumps(case.get("input"), ensure_ascii=False).encode()
            path.write_bytes(document + b"\n" + document)
        options = case.get("options", {})
        runs.append(
            run_of(
                headrace.open(path, index=False),
                case["query"],
                nulls="emit",
                limit=options.get("limit"),
                distinct_by=options.get("key"),
                frame=options.get("separator"),
                null_payload=options.get("null_payload", "skip"),
            )
        )
    different, by_tasks = set(), 0
    for case, (local, divided, ran) in zip(cases, together(spark, runs), strict=True):
        by_tasks += ran
        if divided != local:
            different.add(case["id"])
    assert different == set(GAPS)
    assert by_tasks > 1000


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("$.id", {}),
        ("$.id", {"limit": 7}),
        ("$.rows().sum(x)", {}),
        ("$.rows().filter(id > 1).unique_by(k)", {}),
        ("$.rows().flat_map(t)", {"on_error": "collect"}),
        ("$.rows().sort(k)", {"on_error": "skip"}),
        ("$.rows().sort(-k, -x).flat_map([id, k])", {"on_error": "skip", "limit": 9}),
        ("$.rows().sort(k, -x).map(id)", {"on_error": "skip"}),
        ("$.rows().map(k).sort()", {"on_error": "skip", "nulls": "emit"}),
        ("$.rows().sort(60 / (id - 3))", {"on_error": "skip"}),
        ("$.rows().group_by(k)", {"on_error": "skip"}),
        ("$.rows().index_by(id)", {"on_error": "skip"}),
        ("$.rows().map(k ?? 'null').index_by(@)", {"on_error": "skip"}),
        ("$.rows().flat_map([k, k as string]).group_by(@)", {"on_error": "skip"}),
        ("$.rows().flat_map([id, id as string]).index_by(@)", {"on_error": "skip"}),
        ("$.rows().group_by(x).entries().map([@[0], @[1].len()])", {"limit": 3}),
        ("$.rows().group_by(k).transform_values(60 / (@.len() - 9))", {}),
        ("$.rows().group_by(k).values().map(@.len()).sort()", {"on_error": "skip"}),
    ],
)
def test_queries_with_jobs_of_their_own(spark, tmp_path, query, options):
    for paths in (write_files(tmp_path), write_bad_rows(tmp_path)):
        run_query = run_of(headrace.open(paths, index=False), query, 500, **options)
        assert run_query("spark") == run_query("local")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param(lambda path: path.unlink(), "no such file", id="gone"),
        pytest.param(
            lambda path: path.write_bytes(b'{"id": 3}\n'), "became shorter", id="cut"
        ),
        pytest.param(
            lambda path: path.write_bytes(b'{"id": 3}\n' * 30), "changed", id="other"
        ),
    ],
)
def test_files_that_change_before_they_are_read(spark, tmp_path, change, said):
    whole, path = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    for each in (whole, path):
        each.write_bytes(b'{"id": 1}\n{"id": 2}\n' * 10)
    run_query = run_of(headrace.open([whole, path], index=False), "$.id")
    change(path)
    found = run_query("spark")
    assert found == run_query("local")
    _lines, (_name, _facts, text), *_ = found
    assert said in text
    assert "2.jsonl" in text


def test_the_first_element_of_each_key_by_a_shuffle(spark, tmp_path):
    for paths in (write_files(tmp_path), write_bad_rows(tmp_path)):
        with headrace.open(paths, index=False, max_line=2000) as dataset:
            query = "$.rows().map({id, x}).unique_by(x).map(60 / (id - 3))"
            run_query = run_of(dataset, query, 90, on_error="skip")
            assert run_query("spark") == run_query("local")


@pytest.mark.parametrize(
    "query",
    [
        *LARGE_JOINS[:3],
        *LARGE_JOINS[7:10],
        "$.join(@rows, on: k == k)",
        "$.left_join(@rows.filter(id > 6), on: k == k)",
        "$.join(@rows, on: k == k, as: 'row').map(60 / (row.id - id))",
        "$.join(@rows, on: k == k).map({k, x}).sum(x)",
        "$.join(@rows, on: k == k, as: 'row').map([row.id, id]).sort(-@).take(4)",
        "$.flat_map([$, {k}]).left_join(@rows, on: k == k, as: 'row')",
    ],
)
def test_joins_with_a_large_side_by_a_shuffle(spark, tmp_path, query):
    few, many = tmp_path / "few.jsonl", tmp_path / "many.jsonl"
    few.write_bytes(ROWS + SPACED)
    many.write_bytes(ROWS * 5)
    with headrace.open(few, index=False) as dataset:
        run_query = run_of(dataset, query, 150, names={"rows": many}, on_error="skip")
        assert run_query("spark") == run_query("local")


@pytest.mark.parametrize("on_error", ["abort", "skip"])
def test_joins_of_bad_rows_by_a_shuffle(spark, tmp_path, on_error):
    bad, many = write_bad_rows(tmp_path), tmp_path / "many.jsonl"
    many.write_bytes(ROWS * 3)
    query = "$.join(@rows, on: k == k, as: 'row').map(row.id)"
    with headrace.open([many, *bad], index=False, max_line=2000) as dataset:
        run_query = run_of(dataset, query, 150, names={"rows": many}, on_error=on_error)
        assert run_query("spark") == run_query("local")


def test_a_row_with_many_partners_is_joined_in_several_batches(spark, tmp_path):
    few, many = tmp_path / "few.jsonl", tmp_path / "many.jsonl"
    few.write_bytes(b'{"k": 1, "id": 1}\n{"k": 1, "id": 2}\n{"k": 2, "id": 3}\n')
    many.write_bytes(b"".join(b'{"k": 1, "n": %d}\n' % n for n in range(15_000)))
    with headrace.open(few, index=False) as dataset:
        for query in (
            "$.join(@rows, on: k == k).map(n)",
            "$.left_join(@rows, on: k == k).sum(n)",
        ):
            run_query = run_of(dataset, query, 10_000, names={"rows": many})
            assert run_query("spark") == run_query("local")


def test_groups_of_many_elements_come_in_pieces(spark, tmp_path):
    path, written = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    row = b'{"id": %d, "k": %d, "x": "%s"}\n'
    path.write_bytes(b"".join(row % (n, n % 3, b"x" * 150) for n in range(12_000)))
    with headrace.open(path, index=False) as dataset:
        where = {"engine": "spark", "master": HERE, "partition_bytes": "1MiB"}
        for query, memory in (
            ("$.rows().group_by(k)", "1GiB"),
            ("$.rows().index_by(id)", "1MiB"),
        ):
            local = dataset.query(query)
            divided = dataset.query(query, memory=memory, **where)
            pieces = list(divided.pieces())
            assert b"".join(pieces) == b"".join(local.lines())
            assert len(pieces) > 3
            assert divided.write(written) == 1
            assert written.read_bytes() == b"".join(pieces)
            assert divided.to_list() == local.to_list()


def test_answers_have_the_order_of_the_rows_for_any_number_of_chunks(
    spark, tmp_path, monkeypatch
):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(b'{"id": %d}\n' % row for row in range(60_000)))
    # Several tasks for each run that is fetched together, and several runs.
    monkeypatch.setattr(launch, "_PART_BYTES", 300_000)
    with headrace.open(path, index=False) as dataset:
        run_query = run_of(dataset, "[$, $, $, $, $, $, $, $]", 100_000)
        assert run_query("spark") == run_query("local")


def test_answers_do_not_stay_in_the_heap_of_the_driver(spark, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id": 12345, "text": "%s"}\n' % (b"x" * 960) * 25_000)
    heap = spark._jvm.java.lang.Runtime.getRuntime()

    def used():
        for _ in range(3):
            spark._jvm.java.lang.System.gc()
        return heap.totalMemory() - heap.freeMemory()

    with headrace.open(path, index=False) as dataset:
        run_query = run_of(dataset, "{id, text, again: id}", "8MiB")
        run_query("spark")
        before = used()
        for _ in range(6):
            run_query("spark")
        # Each answer would stay in memory. What else the driver holds, it may free later.
        assert until(lambda: used() - before < 3 * path.stat().st_size)


def test_an_abandoned_result_ends_its_job(spark):
    tracker = spark.sparkContext.statusTracker()

    def rows():
        yield "the first"
        # This takes hours.
        numbers = spark.range(0, 10**14, 1, 4)
        yield from numbers.selectExpr("count_if(id % 7 = 3)").toLocalIterator()

    assert until(lambda: not tracker.getActiveJobsIds())
    fetched = job_rows(spark, rows)
    assert next(fetched) == "the first"
    assert until(tracker.getActiveJobsIds)
    fetched.close()
    assert until(lambda: not tracker.getActiveJobsIds())
    assert not list(spark.sparkContext.getJobTags())


def test_an_abandoned_result_can_be_read_again(spark, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id": 1}\n' * 50_000)
    with headrace.open(path, index=False) as dataset:
        result = dataset.query(
            "$.id", engine="spark", master=HERE, partition_bytes="50KiB"
        )
        lines = result.lines()
        assert next(lines).startswith(b"1\n1\n")
        lines.close()
        assert result.count() == 50_000


def test_an_error_of_spark_is_reported_in_one_line(spark, tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"1\n")
    monkeypatch.setattr(TaskQuery, "__reduce__", lambda _query: (int, ("no query",)))
    with headrace.open(path) as dataset, pytest.raises(SparkFailedError) as caught:
        dataset.query("$", engine="spark", master=HERE).to_list()
    assert str(caught.value).startswith(
        "Spark could not run the tasks: ValueError: invalid literal for int()"
    )
    assert "\n" not in str(caught.value)


def test_another_master_than_the_one_that_runs(spark, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"1\n")
    with headrace.open(path) as dataset:
        result = dataset.query("$", engine="spark", master="local[7]")
        with pytest.raises(UsageError, match="Spark already runs in this process"):
            result.to_list()


def test_without_pyspark(monkeypatch, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"1\n")
    monkeypatch.delitem(sys.modules, "headrace.engines.spark.query.launch")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with (
        headrace.open(path) as dataset,
        pytest.raises(MissingExtraError, match=r"headrace\[spark\]"),
    ):
        dataset.query("$", engine="spark").to_list()


def test_the_command_line(spark, tmp_path, capfdbinary):
    path, errors = tmp_path / "a.jsonl", tmp_path / "bad.jsonl"
    path.write_bytes(b'{"id": 1}\n{\n{"id": 2}\n')
    where = ["--engine", "spark", "--master", HERE]
    code = main(["query", "$.id", *where, "--errors", str(errors), str(path)])
    said = capfdbinary.readouterr()
    assert (code, said.out) == (0, b"1\n2\n")
    assert json.loads(errors.read_bytes())["line"] == 2
    code = main(["query", "$.rows().sum(id)", *where, str(path)])
    said = capfdbinary.readouterr()
    assert (code, said.out) == (1, b"")
    assert b"a.jsonl: line 2, byte 11: " in said.err
    parts = ["--partition-bytes", "4"]
    assert (
        main(["query", "$.id", *where, *parts, "--errors", str(errors), str(path)]) == 0
    )
    assert capfdbinary.readouterr().out == b"1\n2\n"
    code = main(["query", "$.rows().sum(id)", *where, "--explain"])
    assert b"on Spark\n" in capfdbinary.readouterr().out
    assert main(["query", "$", "--master", HERE, str(path)]) == 2
    assert b"master is for --engine spark" in capfdbinary.readouterr().err
    assert main(["query", "$", *parts, str(path)]) == 2
    assert b"partition_bytes is for --engine spark" in capfdbinary.readouterr().err


def test_the_default_master_tries_a_task_again():
    assert MASTER == "local[*,4]"


@pytest.mark.parametrize(
    "query",
    [
        "$.rows().group(k, {n: count(), total: sum(x), ids: @.map(id).unique(), top: @.max_by(id).id})",
        "$.rows().group(id, {n: count()}).sort(-n, id).take(5)",
        "$.rows().group_by(id).transform_values({n: @.count(), last: @.last(2)})",
        "$.rows().group(id, {n: 60 / (count() - 1)})",
        "$.rows().count_by(if id > 60 then '7' else id)",
    ],
)
def test_aggregates_beyond_the_memory_of_the_driver_by_a_shuffle(
    spark, tmp_path, query
):
    for name, keys in (("a.jsonl", "aab"), ("b.jsonl", "bcd")):
        rows = [
            {"id": n * 7 % 90, "k": keys[n % 3], "x": n / 7 if n % 5 else None}
            for n in range(600)
        ]
        lines = [json.dumps(row) for row in rows]
        lines[300] = "{"
        (tmp_path / name).write_text("\n".join(lines))
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    with headrace.open(paths, index=False) as dataset:
        expected = outcome(dataset, query, on_error="skip")
        where = {"engine": "spark", "master": HERE, "partition_bytes": 12_000}
        divided = outcome(dataset, query, memory=2000, on_error="skip", **where)
    assert divided == expected
