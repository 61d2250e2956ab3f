"""Pipelines on Spark: shuffled rows, failed tasks, added files."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

import headrace
from headrace.engines.rows.step_tasks import RowTasks
from headrace.errors import SparkFailedError
from headrace.pipeline import (
    Dedupe,
    Join,
    Output,
    Pipeline,
    SetIndex,
    Sort,
    Source,
    Transform,
    Validate,
)
from headrace.pipeline.run import job
from headrace.pipeline.spec import HOW
from headrace.pipeline.state.layout import Layout

pytestmark = pytest.mark.spark


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines))


def result(pipeline):
    return headrace.open(Layout(pipeline).result).query("$").to_list()


def some_rows(seed, count=300):
    """Rows with some bad rows and many duplicate keys."""
    choose = random.Random(seed)
    values = [
        None,
        True,
        1,
        1.0,
        -3,
        2**60,
        2**60 + 1,
        0.5,
        "a",
        "B",
        "",
        [1],
        {"x": 1},
    ]
    for number in range(count):
        kind = choose.random()
        if kind < 0.05:
            yield "not JSON"
        elif kind < 0.1:
            yield {"no": number}
        else:
            yield {"id": choose.choice(values), "n": f"{seed}-{number}"}


def rank(value):
    """Return the rank of a value in the order of values, slowly."""
    kinds = [type(None), bool, (int, float), str, list, dict]
    kind = next(at for at, each in enumerate(kinds) if isinstance(value, each))
    inner = value
    if isinstance(value, list):
        inner = [rank(each) for each in value]
    elif isinstance(value, dict):
        inner = (sorted(value), [rank(value[key]) for key in sorted(value)])
    return (kind, 0 if value is None else inner)


def good(files):
    return [
        row for rows in files for row in rows if isinstance(row, dict) and "n" in row
    ]


def deduped(rows, keep):
    order = rows if keep == "first" else reversed(rows)
    seen, left = [], []
    for row in order:
        key = rank(row["id"])
        if key not in seen:
            seen.append(key)
            left.append(row)
    return left if keep == "first" else left[::-1]


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("keep", ["first", "last"])
def test_rows_are_deduped_and_sorted(spark, tmp_path, adaptive, keep):
    files = [list(some_rows(seed)) for seed in range(3)]
    for number, rows in enumerate(files):
        write(tmp_path / f"raw/{number}.jsonl", rows)
    made = Pipeline(
        "events",
        "out",
        Source("raw", partition_bytes=4000),
        [
            Validate(required=["n"]),
            Dedupe("id", keep),
            Sort("[id]", descending=keep == "last"),
        ],
        base=str(tmp_path),
    )
    before = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        report = made.run(spark=spark)
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", before)
    rows = deduped(good(files), keep)
    expected = sorted(rows, key=lambda row: rank(row["id"]), reverse=keep == "last")
    assert result(made) == expected
    assert report.adds_up
    counts = {stage: count for one in report.passes for stage, count in one.in_all.items()}  # fmt: skip
    assert list(counts) == ["validate", "sort key", "dedupe", "sort"]
    assert counts["dedupe"].filtered == len(good(files)) - len(rows)
    assert (counts["validate"].read, counts["validate"].rejected) == (
        900,
        900 - len(good(files)),
    )


def test_all_rows_stay_when_they_are_sorted_and_equal_ones_as_they_were(
    spark, tmp_path
):
    files = [list(some_rows(seed, 500)) for seed in range(2)]
    for number, rows in enumerate(files):
        write(tmp_path / f"raw/{number}.jsonl", rows)
    for descending in (False, True):
        made = Pipeline(
            "events",
            "out",
            Source("raw", partition_bytes=3000),
            [Validate(required=["n"]), Sort("id", descending)],
            base=str(tmp_path),
        )
        report = made.run(spark=spark)
        assert report.adds_up
        assert report.passes[1].tasks > 3
        key = [rank(row["id"]) for row in good(files)]
        order = sorted(range(len(key)), key=key.__getitem__, reverse=descending)
        # Python's sort is stable, in reverse too.
        assert result(made) == [good(files)[at] for at in order]


def test_rows_of_new_files_are_deduplicated_against_the_output(spark, tmp_path):
    write(
        tmp_path / "raw/a.jsonl", [{"id": n % 7, "f": "a", "n": n} for n in range(20)]
    )
    made = Pipeline(
        "events",
        "out",
        Source("raw"),
        [Dedupe("id"), Transform("{id, f}"), Sort("id", descending=True)],
        base=str(tmp_path),
    )
    made.run(spark=spark)
    parts = set((tmp_path / "out/work/2").rglob("part-*"))
    write(tmp_path / "raw/b.jsonl", [{"id": n, "f": "b"} for n in range(4, 10)] * 2)
    report = made.run(spark=spark)
    statuses = [each.status for each in report.passes]
    assert statuses == ["appended", "appended", "appended", "replaced"]
    assert report.adds_up
    # Rows of earlier runs are not written again.
    assert parts < set((tmp_path / "out/work/2").rglob("part-*"))
    dedupe = report.passes[1]
    new, every = dedupe.counts["dedupe"], dedupe.in_all["dedupe"]
    assert (new.read, new.written, every.read, every.written) == (12, 3, 32, 10)
    expected = [{"id": n, "f": "b"} for n in (9, 8, 7)]
    expected += [{"id": n, "f": "a"} for n in range(6, -1, -1)]
    assert result(made) == expected
    statuses = [each.status for each in made.run(spark=spark).passes]
    assert statuses == ["up to date"] * 4


def test_sorted_rows_are_not_divided_into_jobs_and_may_grow(spark, tmp_path):
    for name in "ab":
        write(tmp_path / f"raw/{name}.jsonl", [{"id": n} for n in range(20)])
    made = Pipeline(
        "events",
        "out",
        Source("raw", max_line=20, partition_bytes=100, batch_bytes=1),
        [
            Transform("{id, x: 'xxxxxxxxxxxxxxxxxxxx'}"),
            Dedupe(["id", "x"]),
            Transform("{id: -id, x}"),
            Sort("id"),
        ],
        base=str(tmp_path),
    )
    report = made.run(spark=spark)
    assert report.adds_up
    assert [each.jobs > 1 for each in report.passes] == [True, True, True, False]
    assert [row["id"] for row in result(made)] == list(range(-19, 1))


def test_a_row_whose_key_fails_is_rejected_with_its_place(spark, tmp_path):
    rows = [{"id": "3"}, {"id": "x"}, {"id": "1"}, {"id": "x"}]
    write(tmp_path / "raw/a.jsonl", rows)
    made = Pipeline(
        "events",
        "out",
        Source("raw"),
        [Sort("id.parse_int() / 1")],
        base=str(tmp_path),
    )
    report = made.run(spark=spark)
    assert report.adds_up
    bad = headrace.open(tmp_path / "out/quarantine").query("[stage, line]").to_list()
    assert bad == [["sort key", 2], ["sort key", 4]]
    assert result(made) == [{"id": "1"}, {"id": "3"}]


def test_a_pipeline_gives_the_same_bytes_whatever_the_tasks(spark, tmp_path):
    for seed in range(2):
        write(tmp_path / f"raw/{seed}.jsonl", some_rows(seed))
    write(
        tmp_path / "users.jsonl", [{"key": "a", "name": "Ada"}, {"key": 1, "name": 2}]
    )
    stages = [
        Validate(required=["n"]),
        Join("users", "id == key", "lookup", "who"),
        Dedupe(["id", "n"]),
        Sort("id"),
    ]
    lines = []
    for number, size in enumerate(("1MiB", 2000)):
        made = Pipeline(
            "events",
            f"out{number}",
            Source("raw", partition_bytes=size),
            stages,
            {"users": "users.jsonl"},
            base=str(tmp_path),
        )
        assert made.run(spark=spark).adds_up
        with headrace.open(Layout(made).result, raw=True) as rows:
            lines.append(list(rows))
    assert lines[0] == lines[1]
    assert len(lines[0]) > 400


def test_rows_are_sorted_by_fields_of_a_shuffled_join(spark, tmp_path):
    write(tmp_path / "raw/a.jsonl", [{"user": n % 4} for n in range(8)])
    users = [{"id": n, "rank": n - 1} for n in range(3)]
    write(tmp_path / "users.jsonl", users)
    made = Pipeline(
        "events",
        "out",
        Source("raw"),
        [Join("users", "user == id", shuffle=True), Sort("1 / rank")],
        {"users": "users.jsonl"},
        base=str(tmp_path),
    )
    report = made.run(spark=spark)
    assert report.adds_up
    assert [row["user"] for row in result(made)] == [0, 0, 2, 2]
    assert report.passes[2].in_all["sort key"].rejected == 4


@pytest.mark.parametrize("how", HOW)
def test_a_join_by_a_shuffle_gives_the_lines_of_one_that_is_held(spark, tmp_path, how):
    lefts = [row for seed in range(2) for row in some_rows(seed, 150)] + ["null", "[]"]
    rights = [row for row in some_rows(7, 60) if isinstance(row, dict)]
    write(tmp_path / "raw/a.jsonl", lefts)
    write(tmp_path / "other.jsonl", [{"key": row.get("id"), **row} for row in rights])
    under = None if how in ("diff", "intersect") else "of"
    lines, counts = [], []
    for shuffle in (False, True):
        made = Pipeline(
            "events",
            f"out{shuffle}",
            Source("raw", partition_bytes=2000),
            [
                Validate(rules=["n != null or $.type() != 'object'"]),
                Join("other", "id == key", how, under, shuffle=shuffle),
                Transform("$"),
            ],
            {"other": "other.jsonl"},
            base=str(tmp_path),
        )
        report = made.run(spark=spark)
        assert report.adds_up
        with headrace.open(Layout(made).result, raw=True) as rows:
            lines.append(list(rows))
        every = [each.in_all for each in report.passes]
        counts.append({name: found for one in every for name, found in one.items()})
    assert lines[0] == lines[1]
    assert len(lines[0]) > 10
    assert counts[0] == counts[1]


def test_a_report_has_the_counters_of_spark(spark, tmp_path):
    write(tmp_path / "raw/a.jsonl", [{"id": n % 50} for n in range(200)])
    made = Pipeline(
        "events",
        "out",
        Source("raw", partition_bytes=500),
        [Validate(), Dedupe("id"), Sort("id")],
        base=str(tmp_path),
    )
    spark.range(10).collect()  # this is not part of the pipeline
    first, second, third = made.run(spark=spark).passes
    (rows,) = first.spark
    assert (rows.tasks, rows.failed_tasks, rows.attempts) == (first.tasks, 0, 1)
    assert (rows.shuffle_read_bytes, rows.shuffle_written_bytes) == (0, 0)
    for moved in (second, third):
        written = sum(stage.shuffle_written_bytes for stage in moved.spark)
        read = sum(stage.shuffle_read_bytes for stage in moved.spark)
        assert read == written > 0
    assert sum(stage.peak_memory_bytes for stage in third.spark) > 0
    kept = json.loads((tmp_path / "out/report.json").read_text())
    assert [stage["tasks"] for stage in kept["passes"][0]["spark"]] == [rows.tasks]
    assert "Stages of Spark" in (tmp_path / "out/report.html").read_text()
    again = made.run(spark=spark)
    assert [each.spark for each in again.passes] == [(), (), ()]
    assert "Stages of Spark" not in (tmp_path / "out/report.html").read_text()
    assert set(spark.sparkContext.getJobTags()) == set()


def test_tasks_index_all_of_the_output(spark, tmp_path):
    write(tmp_path / "raw/a.jsonl", [{"id": n} for n in range(300)])
    made = Pipeline(
        "events",
        "out",
        Source("raw"),
        output=Output(max_records=50),
        base=str(tmp_path),
        indexes=[SetIndex("id")],
    )
    (report,) = made.run(spark=spark).indexes
    assert (report.built, report.kept, report.rows) == (6, 0, 300)
    write(tmp_path / "raw/b.jsonl", [{"id": n} for n in range(300, 320)])
    (report,) = made.run(spark=spark).indexes
    assert (report.built, report.kept, report.rows) == (1, 6, 20)
    said = headrace.KeyIndex.check(tmp_path / "out/result", "id", deep=True)
    assert (said["valid"], said["fresh"], said["records"]) == (True, True, 320)


def test_a_task_that_fails_is_tried_again(spark, tmp_path, monkeypatch):
    write(tmp_path / "raw/a.jsonl", [{"id": n} for n in range(40)] + ["bad"])
    marks = tmp_path / "marks"
    marks.mkdir()
    made = Pipeline(
        "events",
        "out",
        Source("raw", partition_bytes=100),
        [Validate()],
        base=str(tmp_path),
    )
    monkeypatch.setattr(job, "RowTasks", failing(marks, 3))
    report = made.run(spark=spark)
    assert report.adds_up
    assert result(made) == [{"id": n} for n in range(40)]
    assert len(list(marks.iterdir())) == 3 * report.passes[0].tasks
    assert sum(stage.failed_tasks for stage in report.passes[0].spark) == len(
        list(marks.iterdir())
    )
    write(tmp_path / "raw/b.jsonl", [{"id": 40}])
    monkeypatch.setattr(job, "RowTasks", failing(marks, 99))
    with pytest.raises(SparkFailedError, match="it happens"):
        made.run(spark=spark)
    assert result(made) == [{"id": n} for n in range(40)]
    assert list((tmp_path / "out").rglob(".*")) == []


def failing(marks, times):
    """Return tasks that fail `times` times after they have written all rows."""

    # A class made here goes to Spark's workers with its code.
    class Failing(RowTasks):
        def __call__(self, task):
            done = RowTasks.__call__(self, task)
            for time in range(times):
                mark = Path(marks, f"{self.job.home.token}-{task}-{time}")
                if not mark.exists():
                    mark.touch()
                    raise OSError("it happens")
            return done

    return Failing


def test_partitions_hold_sorted_rows(spark, tmp_path):
    write(
        tmp_path / "raw/a.jsonl", [{"id": n * 7 % 50, "day": n % 2} for n in range(50)]
    )
    made = Pipeline(
        "events",
        "out",
        Source("raw", partition_bytes=300),
        [Sort("id")],
        output=Output(partition_by="day", max_records=10),
        base=str(tmp_path),
    )
    report = made.run(spark=spark)
    assert report.result.partitions == 2
    rows = result(made)
    for day in (0, 1):
        ids = [row["id"] for row in rows if row["day"] == day]
        assert (ids, len(ids)) == (sorted(ids), 25)
    assert replace(made, directory="again").run(spark=spark).adds_up


def test_rows_that_belong_in_no_partition_are_rejected_whatever_moves_them(
    spark, tmp_path
):
    days = [{"k": n, "day": [1, "mon", None][n % 3]} for n in range(9)]
    write(tmp_path / "days.jsonl", [*days, {"k": 9, "day": [9]}])
    write(tmp_path / "raw/a.jsonl", [{"id": n, "day": {}} for n in range(20)])
    made = Pipeline(
        "events",
        "out",
        Source("raw", partition_bytes=100),
        [Join("days", "id == k", "lookup", shuffle=True), Sort("id")],
        names={"days": "days.jsonl"},
        output=Output(partition_by="day"),
        base=str(tmp_path),
    )
    report = made.run(spark=spark)
    assert report.adds_up
    assert [each.title for each in report.passes] == ["validate", "join", "sort", "partition"]  # fmt: skip
    assert sorted(row["id"] for row in result(made)) == list(range(9))
    # A row that was joined with an array, and an unmatched row with an object.
    assert report.quarantine.rows == 11
