"""Runs of pipelines: output, repeated runs, and the state after a failure."""

import gzip
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import headrace
from headrace.engines.rows import step_tasks
from headrace.engines.rows.step_tasks import RowTasks
from headrace.errors import (
    BadRowError,
    BadSetError,
    DamagedSourceError,
    PipelineRunningError,
    RowFailedError,
    SourceChangedError,
    SourceNotFoundError,
    UnaccountedRowsError,
    UnwritableError,
    UsageError,
)
from headrace.pipeline import Join, Output, Pipeline, Source, Transform, Validate
from headrace.pipeline.plan.passes import passes
from headrace.pipeline.run.session import Session
from headrace.pipeline.state.layout import Layout
from headrace.store.rows.row_file import RowFile
from headrace.store.shards.job.job import Job


@pytest.fixture
def pipeline(tmp_path):
    """Return a function that makes a pipeline of some stages, which reads raw/*.jsonl."""

    def make(*stages, **others):
        source = Source("raw/*.jsonl", **others.pop("source", {}))
        return Pipeline("events", "out", source, stages, base=str(tmp_path), **others)

    return make


def result(pipeline):
    return headrace.open(Layout(pipeline).result).query("$").to_list()


def quarantined(pipeline):
    place = Layout(pipeline).quarantine
    files = sorted(place.glob("*.jsonl.zst"))
    return headrace.open(files).query("$").to_list() if files else []


def statuses(report):
    return [each.status for each in report.passes]


def test_every_line_is_in_the_result_or_in_the_quarantine(
    ran, rows, pipeline, tmp_path
):
    rows(
        tmp_path / "raw/a.jsonl",
        {"id": 1, "ms": 5},
        b"oops",
        b"",
        {"id": 2},
        {"id": "x", "ms": 7},
        b'{"id": 3, "ms": 0.5}  ',
    )
    rows(tmp_path / "raw/b.jsonl", {"ms": 4}, {"id": 9, "ms": 9})
    made = pipeline(
        Validate(required=["id"], types={"id": "integer"}),
        Transform("$.rows().filter(ms != null).map({id, ms: ms * 2})"),
        source={"partition_bytes": 30},
    )
    report = made.run()
    assert result(made) == [
        {"id": 1, "ms": 10},
        {"id": 3, "ms": 1.0},
        {"id": 9, "ms": 18},
    ]
    a, b = (str(tmp_path / "raw" / name) for name in ("a.jsonl", "b.jsonl"))
    assert quarantined(made) == [
        {
            "stage": "validate",
            "file": a,
            "line": 2,
            "offset": 19,
            "reason": "expected a value",
            "raw": "oops",
        },
        {
            "stage": "validate",
            "file": a,
            "line": 5,
            "offset": 35,
            "reason": "`id` is of type string, not integer",
            "raw": '{"id": "x", "ms": 7}',
        },
        {
            "stage": "validate",
            "file": b,
            "line": 1,
            "offset": 0,
            "reason": "`id` is missing",
            "raw": '{"ms": 4}',
        },
    ]
    assert report.adds_up
    (one,) = report.passes
    assert (one.status, one.inputs, one.tasks, one.rows) == ("made", 2, 4, 3)
    counts = one.in_all["validate"]
    assert (counts.read, counts.blank, counts.rejected, counts.kept) == (8, 1, 3, 4)
    counts = one.in_all["transform"]
    assert (counts.read, counts.filtered, counts.written) == (4, 1, 3)
    assert report.quarantine.reasons["validate: `id` is missing"] == 1


def test_a_second_run_does_nothing(ran, rows, pipeline, tmp_path):
    rows(tmp_path / "raw/a.jsonl", {"id": 1}, b"bad")
    made = pipeline()
    first = made.run()
    before = sorted(map(str, (tmp_path / "out").rglob("*")))
    ran.clear()
    again = made.run()
    assert (statuses(again), again.changed, ran) == (["up to date"], False, [])
    assert again.passes[0].in_all == first.passes[0].in_all
    assert again.passes[0].counts == {}
    assert (again.run, again.result, again.adds_up) == (2, first.result, True)
    new = set(map(str, (tmp_path / "out").rglob("*"))) - set(before)
    assert sorted(Path(path).name for path in new) == ["000002.html", "000002.json"]


def test_rows_of_new_files_are_appended(ran, rows, pipeline, tmp_path):
    rows(tmp_path / "raw/b.jsonl", {"id": 1}, b"bad")
    made = pipeline(output=Output(codec="gzip"))
    made.run()
    old = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("part-*")}
    # Its rows come after the old ones, even if its name sorts first.
    rows(tmp_path / "raw/a.jsonl", {"id": 2}, b"worse")
    ran.clear()
    report = made.run()
    assert (statuses(report), report.passes[0].why) == (["appended"], "1 new input")
    assert ran == [1, 1]
    assert result(made) == [{"id": 1}, {"id": 2}]
    bad = sorted((each["raw"], each["line"]) for each in quarantined(made))
    assert bad == [("bad", 2), ("worse", 2)]
    assert {path: path.stat().st_mtime_ns for path in old} == old
    assert report.passes[0].counts["validate"].read == 2
    assert report.passes[0].in_all["validate"].read == 4
    assert report.adds_up


def test_only_the_new_rows_of_a_growing_file_are_read(ran, rows, pipeline, tmp_path):
    path = rows(tmp_path / "raw/a.jsonl", {"id": 1}, b"bad 1", {"id": 2})
    rows(tmp_path / "raw/b.jsonl", {"id": 10})
    made = pipeline(source={"partition_bytes": 10})
    made.run()
    for number, more in enumerate([b'{"id": 3}\nbad 2\n{"id": 4}\n', b"bad 3\n"], 1):
        with path.open("ab") as file:
            file.write(more)
        assert "1 new input: " in made.explain()
        report = made.run()
        (one,) = report.passes
        assert (one.status, one.inputs, one.input_bytes) == ("appended", 1, len(more))
        assert one.counts["validate"].rejected == 1
        assert report.adds_up
        assert len(quarantined(made)) == number + 1
    assert [row["id"] for row in result(made)] == [1, 2, 10, 3, 4]
    bad = sorted((each["raw"], each["line"]) for each in quarantined(made))
    assert bad == [("bad 1", 2), ("bad 2", 5), ("bad 3", 7)]
    data = path.read_bytes()
    offsets = sorted(each["offset"] for each in quarantined(made))
    assert offsets == [data.index(b"bad %d" % n) for n in (1, 2, 3)]
    assert statuses(made.run()) == ["up to date"]
    # A change of its old end is not an append.
    path.write_bytes(data.replace(b"bad 3", b"new 3") + b'{"id": 5}\n')
    report = made.run()
    assert (statuses(report), report.passes[0].why) == (
        ["replaced"],
        f"{path.relative_to(tmp_path)} has changed",
    )
    assert [row["id"] for row in result(made)] == [1, 2, 3, 4, 5, 10]
    assert report.adds_up


def test_a_file_may_be_named_twice(ran, rows, pipeline, tmp_path):
    path = rows(tmp_path / "raw/a.jsonl", {"id": 1}, b"bad")
    rows(tmp_path / "raw/empty.jsonl")
    once = pipeline()
    once.run()
    with path.open("ab") as file:
        file.write(b'{"id": 2}\nworse\n')
    twice = replace(once, source=Source(["raw", "raw"]))
    report = twice.run()
    assert (statuses(report), report.adds_up) == (["replaced"], True)
    assert sorted(row["id"] for row in result(twice)) == [1, 1, 2, 2]
    bad = sorted((each["raw"], each["line"]) for each in quarantined(twice))
    assert bad == [("bad", 2), ("bad", 2), ("worse", 4), ("worse", 4)]
    assert statuses(twice.run()) == ["up to date"]


def test_names_of_files_may_be_anything(ran, pipeline, tmp_path):
    base = tmp_path / os.fsdecode(b"\xfe \n")
    names = [b"\xff\xfe.jsonl", "é [x] 'q' %41\n.jsonl".encode()]
    (base / "raw").mkdir(parents=True)
    for number, name in enumerate(names):
        path = base / "raw" / os.fsdecode(name)
        path.write_bytes(b'{"id": %d}\nbad\n' % number)
    made = replace(pipeline(), source=Source("raw"), base=str(base))
    report = made.run()
    assert (report.adds_up, report.quarantine.rows) == (True, 2)
    assert sorted(row["id"] for row in result(made)) == [0, 1]
    assert json.loads((base / "out/report.json").read_text())["adds_up"]
    with (base / "raw" / os.fsdecode(names[0])).open("ab") as file:
        file.write(b'{"id": 3}\n')
    assert "1 new input: 10 B" in made.explain()
    assert statuses(made.run()) == ["appended"]
    assert statuses(made.run()) == ["up to date"]


def test_an_unterminated_line_can_wait(ran, rows, pipeline, tmp_path):
    path = rows(tmp_path / "raw/a.jsonl", {"id": 1})
    made = pipeline(source={"wait_for_newline": True})
    for more, ids, status in [
        (b'{"id"', [1], "made"),
        (b": 2", [1], "up to date"),
        (b'}\n{"id": 3}\n{"', [1, 2, 3], "appended"),
        (b'id": 4}\n', [1, 2, 3, 4], "appended"),
        (b"x" * 70_000, [1, 2, 3, 4], "up to date"),
    ]:
        with path.open("ab") as file:
            file.write(more)
        report = made.run()
        assert statuses(report) == [status]
        assert [row["id"] for row in result(made)] == ids
        assert report.adds_up
    assert quarantined(made) == []
    # By default, it is a line like others, and an append to it changes the file.
    made = replace(pipeline(), directory="else")
    assert made.run().quarantine.rows == 1
    with path.open("ab") as file:
        file.write(b"y\n")
    assert statuses(made.run()) == ["replaced"]


@pytest.mark.parametrize("what", ["changed", "gone", "stages", "output", "named"])
def test_a_changed_pipeline_or_input_makes_all_rows_again(
    ran, rows, pipeline, tmp_path, what
):
    rows(tmp_path / "raw/a.jsonl", {"id": 1}, b"bad")
    rows(tmp_path / "raw/b.jsonl", {"id": 2})
    rows(tmp_path / "users.jsonl", {"id": 1, "name": "Ada"})
    join = Join("users", "id", how="lookup")
    made = pipeline(join, names={"users": "users.jsonl"})
    assert statuses(made.run()) == ["made"]
    if what == "changed":
        rows(tmp_path / "raw/a.jsonl", {"id": 1}, {"id": 3})
        expected, why = [{"id": 1, "name": "Ada"}, {"id": 3}, {"id": 2}], "a.jsonl has changed"  # fmt: skip
    elif what == "gone":
        (tmp_path / "raw/a.jsonl").unlink()
        expected, why = [{"id": 2}], "a.jsonl is gone"
    elif what == "stages":
        made = replace(made, stages=[join, Transform("{id}")])
        expected, why = [{"id": 1}, {"id": 2}], "have changed"
    elif what == "output":
        made = replace(made, output=Output(codec="none"))
        expected, why = [{"id": 1, "name": "Ada"}, {"id": 2}], "have changed"
    else:
        rows(tmp_path / "users.jsonl", {"id": 2, "name": "Bob"})
        expected, why = [{"id": 1}, {"id": 2, "name": "Bob"}], "have changed"
    report = made.run()
    assert statuses(report) == ["replaced"]
    assert report.passes[0].why.endswith(why)
    assert result(made) == expected
    assert report.adds_up
    # Rows rejected before are not in the quarantine twice.
    assert len(quarantined(made)) == report.quarantine.rows
    assert statuses(made.run()) == ["up to date"]


@pytest.mark.parametrize("what", ["part", "short part", "quarantine", "result"])
def test_missing_parts_of_an_output_are_made_again(ran, rows, pipeline, tmp_path, what):
    rows(tmp_path / "raw/a.jsonl", {"id": 1}, b"bad")
    made = pipeline()
    made.run()
    place = Layout(made)
    (part,) = place.result.rglob("part-*.zst")
    if what == "part":
        part.unlink()
    elif what == "short part":
        part.write_bytes(part.read_bytes()[:-1])
    else:
        shutil.rmtree(place.quarantine if what == "quarantine" else place.result)
    said = made.explain()
    report = made.run()
    expected = "made" if what == "result" else "replaced"
    assert (statuses(report), report.adds_up) == ([expected], True)
    if what != "result":
        assert report.passes[0].why.endswith(" was changed")
    assert report.passes[0].why in said
    assert (result(made), len(quarantined(made))) == ([{"id": 1}], 1)
    assert statuses(made.run()) == ["up to date"]


def test_fresh_makes_all_of_it_again(ran, rows, pipeline, tmp_path):
    rows(tmp_path / "raw/a.jsonl", {"id": 1}, b"bad")
    made = pipeline()
    first = made.run()
    again = made.run(fresh=True)
    assert statuses(again) == ["replaced"]
    assert again.result.generation == first.result.generation + 1
    assert (result(made), len(quarantined(made))) == ([{"id": 1}], 1)


def test_an_interrupted_run_continues_after_its_last_commit(
    ran, rows, pipeline, tmp_path, monkeypatch
):
    for name in "abcde":
        rows(tmp_path / f"raw/{name}.jsonl", {"id": name}, f"bad {name}".encode())
    made = pipeline(source={"batch_bytes": 1})
    commit, left = Job.commit, [2]

    def interrupted(job, *arguments):
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        return commit(job, *arguments)

    monkeypatch.setattr(Job, "commit", interrupted)
    for expected in ("ab", "abcd"):
        left[0] = 2
        with pytest.raises(KeyboardInterrupt):
            made.run()
        assert [each["id"] for each in result(made)] == list(expected)
        assert sorted(each["raw"] for each in quarantined(made)) == [
            f"bad {name}" for name in expected
        ]
    left[0] = 9
    ran.clear()
    report = made.run()
    assert ran == [1, 1]
    assert (statuses(report), report.adds_up) == (["appended"], True)
    assert [each["id"] for each in result(made)] == list("abcde")
    assert sorted(each["raw"] for each in quarantined(made)) == [
        f"bad {name}" for name in "abcde"
    ]
    assert list((tmp_path / "out").rglob(".*")) == []


def test_leftovers_of_a_killed_run_are_removed_by_the_next(
    ran, rows, pipeline, tmp_path, monkeypatch
):
    rows(tmp_path / "raw/a.jsonl", {"id": 1}, b"bad")
    made = pipeline()
    # A killed process does not clean up.
    with monkeypatch.context() as killed:
        killed.setattr(Job, "close", lambda _job: None)
        killed.setattr("shutil.rmtree", lambda *_a, **_k: None)
        killed.setattr(Layout, "sweep", lambda *_a: None)
        killed.setattr(
            Job, "commit", lambda *_a: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        with pytest.raises(KeyboardInterrupt):
            made.run()
    place = Layout(made)
    assert len(list(place.quarantine.glob("*.zst"))) == 1
    assert list(place.result.glob(".rows.staging-*"))
    (tmp_path / "raw/a.jsonl").unlink()
    rows(tmp_path / "raw/b.jsonl", {"id": 2})
    report = made.run()
    assert (result(made), quarantined(made), report.adds_up) == ([{"id": 2}], [], True)
    assert list((tmp_path / "out").rglob(".*")) == []


def test_a_task_that_is_done_twice_counts_once(
    ran, rows, pipeline, tmp_path, monkeypatch
):
    rows(tmp_path / "raw/a.jsonl", {"id": 1}, b"bad", {"id": 2})
    do = RowTasks.__call__

    def twice(tasks, task):
        do(tasks, task)
        return do(tasks, task)

    monkeypatch.setattr(RowTasks, "__call__", twice)
    made = pipeline()
    assert made.run().adds_up
    assert (result(made), len(quarantined(made))) == ([{"id": 1}, {"id": 2}], 1)


def test_rows_that_do_not_add_up_are_not_committed(
    ran, rows, pipeline, tmp_path, monkeypatch
):
    rows(tmp_path / "raw/a.jsonl", {"id": 1}, {"id": 2})
    do = RowTasks.__call__

    def one_less(tasks, task):
        done = do(tasks, task)
        counts = tuple(replace(each, kept=each.kept - 1) for each in done.counts)
        return replace(done, counts=counts)

    monkeypatch.setattr(RowTasks, "__call__", one_less)
    made = pipeline()
    with pytest.raises(UnaccountedRowsError, match="nothing was committed"):
        made.run()
    assert not list(tmp_path.rglob("*.meta-*"))


def test_rows_that_are_too_long_are_rejected(ran, rows, pipeline, tmp_path):
    long = json.dumps({"id": "x" * 100}).encode()
    rows(tmp_path / "raw/a.jsonl", {"id": 1}, long, {"id": 2})
    made = pipeline(Validate(max_bytes=50))
    assert made.run().adds_up
    (bad,) = quarantined(made)
    assert (bad["line"], bad["raw"]) == (2, long.decode())
    assert bad["reason"] == f"{len(long)} bytes long, over the limit of 50"
    # A still longer row is not even read.
    made = pipeline(Validate(max_bytes=50), source={"max_line": 60})
    assert made.run().adds_up
    (bad,) = quarantined(made)
    assert (bad["line"], bad["offset"], "raw" in bad) == (2, 10, False)
    assert bad["reason"] == f"{len(long)} bytes long, over the limit that max_line sets"


def test_the_number_of_distinct_reasons_is_limited(
    ran, rows, pipeline, tmp_path, monkeypatch
):
    monkeypatch.setattr(step_tasks, "_MOST_REASONS", 30)
    for name in "ab":
        several = [{"id": f"{name}{n // 2}"} for n in range(100)]
        rows(tmp_path / f"raw/{name}.jsonl", *several)
        made = pipeline(Transform("id + 1"))
        report = made.run()
    reasons = report.quarantine.reasons
    assert (report.quarantine.rows, sum(reasons.values())) == (200, 200)
    assert (len(reasons), list(reasons)[-1]) == (21, "other reasons")
    (ledger,) = [Layout(made).current(one, made)[1] for one in passes(made)]
    assert [len(job.reasons) for job in ledger.jobs] == [21, 21]


def test_partitions_codecs_and_sizes_are_those_of_the_output(
    ran, rows, pipeline, tmp_path
):
    rows(tmp_path / "raw/a.jsonl", *({"id": n, "day": n % 2} for n in range(100)))
    made = pipeline(output=Output(codec="gzip", partition_by="day", max_records=20))
    report = made.run()
    assert (report.result.partitions, report.result.parts) == (2, 6)
    names = {path.parent.name for path in Layout(made).result.rglob("*.jsonl.gz")}
    assert names == {"day=0", "day=1"}
    assert sorted(each["id"] for each in result(made)) == list(range(100))


def test_rows_that_belong_in_no_partition_are_rejected(ran, rows, pipeline, tmp_path):
    long = "/" * 84  # each is written with three bytes
    days = ["a", long, None, [1], "b", {"x": 1}, long[1:], "a", True, 7]
    rows(tmp_path / "raw/a.jsonl", *({"id": n, "day": d} for n, d in enumerate(days)))
    made = pipeline(
        Transform("{n: id, day: day} if id != 0 else null"),
        output=Output(partition_by="day"),
    )
    report = made.run()
    assert report.adds_up
    counts = report.passes[0].counts["partition"]
    assert (counts.read, counts.rejected, counts.written) == (9, 3, 6)
    assert sorted(row["n"] for row in result(made)) == [2, 4, 6, 7, 8, 9]
    assert [
        (each["stage"], each["line"], json.loads(each["raw"])["id"])
        for each in quarantined(made)
    ] == [("partition", 2, 1), ("partition", 4, 3), ("partition", 6, 5)]
    assert report.quarantine.reasons == {
        "partition: day is an object or array, which no directory can be named after": 2,
        "partition: day is too long for the name of a directory": 1,
    }


def test_a_row_nested_too_deeply_by_a_stage_is_rejected_with_partitions(
    ran, rows, pipeline, tmp_path
):
    deep = json.loads("[" * 255 + "]" * 255)
    rows(tmp_path / "raw/a.jsonl", {"v": deep, "day": 1}, {"v": 1, "day": 2})
    made = pipeline(Transform("{v: {v}, day: day}"), output=Output(partition_by="day"))
    report = made.run()
    assert (report.adds_up, report.quarantine.rows) == (True, 1)
    assert [row["day"] for row in result(made)] == [2]


def test_a_join_adds_fields_of_a_named_source(ran, rows, pipeline, tmp_path):
    rows(tmp_path / "raw/a.jsonl", {"user": 1}, {"user": 2}, {"user": 3})
    rows(tmp_path / "users.jsonl", {"id": 1, "n": "Ada"}, {"id": 3, "n": "Eve"})
    for how, as_, expected in (
        ("join", "who", [{"user": 1, "who": {"id": 1, "n": "Ada"}}, {"user": 3, "who": {"id": 3, "n": "Eve"}}]),
        ("diff", None, [{"user": 2}]),
        ("left_join", None, [{"user": 1, "id": 1, "n": "Ada"}, {"user": 2}, {"user": 3, "id": 3, "n": "Eve"}]),
    ):  # fmt: skip
        made = pipeline(
            Join("users", "user == id", how, as_), names={"users": "users.jsonl"}
        )
        assert made.run().adds_up
        assert result(made) == expected


def test_bad_rows_of_a_named_source_end_the_run(ran, rows, pipeline, tmp_path):
    rows(tmp_path / "raw/a.jsonl", {"user": 1})
    rows(tmp_path / "users.jsonl", {"id": 1}, b"bad")
    made = pipeline(Join("users", "user == id"), names={"users": "users.jsonl"})
    with pytest.raises(BadRowError, match=r"users.jsonl: line 2, byte 10"):
        made.run()
    assert not list(tmp_path.rglob("*.meta-*"))
    # So do those that have no key.
    rows(tmp_path / "users.jsonl", {"id": 1}, {"id": 0})
    made = replace(made, stages=[Join("users", "user == 1 / id")])
    with pytest.raises(RowFailedError, match=r"users.jsonl: .*division by zero"):
        made.run()
    assert not list(tmp_path.rglob("*.meta-*"))


def test_a_file_that_changes_while_it_is_read_ends_the_run(
    ran, rows, pipeline, tmp_path, monkeypatch
):
    path = rows(tmp_path / "raw/a.jsonl", *({"id": n} for n in range(10)))
    do = RowTasks.__call__

    def changed(tasks, task):
        rows(path, {"id": 0})
        return do(tasks, task)

    monkeypatch.setattr(RowTasks, "__call__", changed)
    with pytest.raises(SourceChangedError):
        pipeline().run()
    assert not list(tmp_path.rglob("*.meta-*"))


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_sets_and_compressed_files_are_sources_too(
    ran, rows, pipeline, tmp_path, codec
):
    with headrace.ShardWriter(tmp_path / "set", codec=codec, block_bytes=64) as shards:
        shards.write_many([{"id": n} for n in range(50)] + [{"no": 1}])
    made = replace(
        pipeline(Validate(required=["id"])),
        source=Source("set", partition_bytes=100),
    )
    report = made.run()
    assert report.adds_up
    assert report.passes[0].tasks > 1
    assert result(made) == [{"id": n} for n in range(50)]
    (bad,) = quarantined(made)
    assert bad["line"] == 51


def test_tasks_share_the_right_side_of_a_join(
    ran, rows, pipeline, tmp_path, monkeypatch
):
    rows(tmp_path / "raw/a.jsonl", *({"id": n} for n in range(9)))
    users = rows(tmp_path / "users.jsonl", {"id": 1, "name": "Ada"})
    opened = []
    batches = RowFile.batches

    def counted(file, **options):
        opened.append(file.source.location)
        return batches(file, **options)

    monkeypatch.setattr(RowFile, "batches", counted)
    made = pipeline(
        Join("users", "id"),
        names={"users": "users.jsonl"},
        source={"partition_bytes": 10},
    )
    report = made.run()
    assert report.passes[0].tasks > 5
    assert opened == [str(users)]
    assert report.adds_up


def test_a_report_that_cannot_be_written_leaves_the_output_committed(
    ran, rows, pipeline, tmp_path
):
    rows(tmp_path / "raw/a.jsonl", {"id": 1})
    (tmp_path / "out/report.html").mkdir(parents=True)
    made = pipeline()
    with pytest.raises(
        UnwritableError, match=r"report.html: .*the output is committed"
    ):
        made.run()
    assert result(made) == [{"id": 1}]
    (tmp_path / "out/report.html").rmdir()
    assert statuses(made.run()) == ["up to date"]


def test_an_input_without_rows_gives_an_empty_set(ran, rows, pipeline, tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw/a.jsonl").touch()
    made = pipeline(Validate())
    report = made.run()
    assert (report.result.rows, report.result.parts, report.adds_up) == (0, 0, True)
    assert statuses(made.run()) == ["up to date"]


def test_two_runs_at_once_are_refused(ran, rows, pipeline, tmp_path):
    rows(tmp_path / "raw/a.jsonl", {"id": 1})
    made = pipeline()
    with (
        Layout(made).locked(),
        pytest.raises(
            PipelineRunningError, match=f"process {os.getpid()} on .* is running"
        ),
    ):
        made.run()
    assert made.run().adds_up


def test_a_run_that_waited_skips_the_inputs_of_the_other_run(
    ran, rows, pipeline, tmp_path, monkeypatch
):
    rows(tmp_path / "raw/a.jsonl", {"id": 1})
    made = pipeline()
    locked = Layout.locked

    def later(place):
        monkeypatch.undo()
        monkeypatch.setattr(Session, "run_each", run_each)
        rows(tmp_path / "raw/b.jsonl", {"id": 2})
        made.run()
        return locked(place)

    run_each = Session.run_each
    monkeypatch.setattr(Layout, "locked", later)
    assert statuses(made.run()) == ["up to date"]
    assert result(made) == [{"id": 1}, {"id": 2}]


def test_a_run_that_fails_at_once_leaves_no_file(ran, rows, pipeline, tmp_path):
    made = replace(pipeline(), directory="new/out")
    with pytest.raises(SourceNotFoundError, match="raw"):
        made.run()
    assert list(tmp_path.iterdir()) == []
    path = rows(tmp_path / "raw/a.jsonl.gz", {"id": 1})
    path.write_bytes(gzip.compress(path.read_bytes())[:-4])
    with pytest.raises(DamagedSourceError):
        replace(made, source=Source("raw")).run()
    assert not (tmp_path / "new").exists()


def test_a_set_of_another_writer_is_not_replaced(ran, rows, pipeline, tmp_path):
    rows(tmp_path / "raw/a.jsonl", {"id": 1})
    made = pipeline()
    with headrace.ShardWriter(Layout(made).result) as shards:
        shards.write({"precious": True})
    with pytest.raises(BadSetError, match="no pipeline made this set"):
        made.run()
    assert result(made) == [{"precious": True}]
    other = replace(made, directory="else")
    other.run()
    with pytest.raises(BadSetError, match="the pipeline events made it"):
        replace(other, name="others").run()


def test_a_pipeline_does_not_read_its_own_output(ran, rows, pipeline, tmp_path):
    rows(tmp_path / "raw/a.jsonl", {"id": 1})
    made = replace(pipeline(), source=Source("raw"), directory="raw/out")
    made.run()
    (tmp_path / "link").symlink_to("raw/out")
    for path in ("raw/out/result", "raw/../raw/out/result", "link/result"):
        for again in (
            replace(made, source=Source(["raw", path])),
            replace(made, names={"own": path}),
        ):
            with pytest.raises(UsageError, match="the pipeline itself writes there"):
                again.run()


def test_runs_report_progress(ran, rows, pipeline, tmp_path):
    rows(tmp_path / "raw/a.jsonl", {"id": 1}, {"id": 2})
    progress = []
    pipeline(source={"partition_bytes": 10}).run(tell=progress.append)
    assert [(each.title, each.done, each.tasks) for each in progress] == [
        ("validate", 0, 0),
        ("validate", 1, 2),
        ("validate", 2, 2),
    ]


def test_explain_prints_the_remaining_work(ran, rows, pipeline, tmp_path):
    rows(tmp_path / "raw/a.jsonl", {"id": 1})
    made = pipeline(Validate(required=["id"]), Transform("{id}"))
    said = made.explain()
    assert "transform: {id}" in said
    assert "for the first time: 10 B in 1 task" in said
    assert not (tmp_path / "out").exists()
    made.run()
    assert made.explain().endswith("up to date")


@pytest.mark.filterwarnings("ignore:.*are not committed")
def test_a_log_is_read_as_far_as_it_is_committed(ran, pipeline, tmp_path):
    log = tmp_path / "log"

    def append(first, last):
        with headrace.LogWriter(log, rotate_rows=40) as writer:
            writer.append_many([{"id": n} for n in range(first, last)])

    append(0, 100)
    with max(log.glob("*.jsonl")).open("ab") as file:
        file.write(b'{"id":100}\n{"half')
    made = replace(pipeline(Transform("{id}")), source=Source("log"))
    assert made.run().passes[0].rows == 100
    assert [row["id"] for row in result(made)] == list(range(100))
    append(101, 150)
    report = made.run()
    assert report.passes[0].rows == 150
    assert [row["id"] for row in result(made)] == list(range(150))
