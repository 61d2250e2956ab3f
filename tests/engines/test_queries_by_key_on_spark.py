"""When Spark tasks read only the ranges of rows found by a key index; they run without Spark.

The answers are compared in tests/features/key_index/test_queries_by_key_on_spark.py.
"""

import os
from pathlib import Path

import pytest

import headrace
from headrace.engines.spark.source.partitions import Range, ranges_holding
from headrace.errors import DamagedBlockError, HeadraceWarning, UnusableTableError
from headrace.store.files.opened import OpenedFile
from headrace.store.files.source import expand
from tests.reference.engines import in_process, outcome
from tests.reference.shard_sets import write

SEVEN = "$.rows().filter(id == 7)"
FEW_ROWS = "headrace.engines.spark.query.indexed_rows.FEW_ROWS"


class Jobs(list):
    """Runs tasks in this process, and keeps the fragments of each job."""

    def __call__(self, query, tasks, tell):
        self.append([each for task in tasks for each in task])
        yield from in_process(query, tasks, tell)


def lines_of(numbers):
    return [f'{{"id":{n},"city":"c{n % 7}","n":{n}}}' for n in numbers]


@pytest.fixture
def sent():
    return Jobs()


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines_of(range(200))))
    return path


@pytest.fixture
def shards(tmp_path):
    return write(tmp_path / "set", lines_of(range(1000)), most=100, block_bytes=100)


def index(path, key="id"):
    """Build an index that is trusted without reading the file again."""
    built = headrace.KeyIndex.build(path, key).path
    later = built.stat().st_mtime_ns + 10**9
    os.utime(built, ns=(later, later))
    return built


@pytest.fixture
def both(sent):
    """Run a query here without an index and by tasks with one; return the latter's outcome."""

    def run(paths, query, size=None, run_tasks=sent, **options):
        spark = {"engine": "spark", "_run_tasks": run_tasks, "partition_bytes": size}
        with headrace.open(paths) as dataset:
            expected = outcome(dataset, query, **{**options, "index": False})
            tasks = outcome(dataset, query, **spark, **options)
        assert tasks == expected
        return tasks

    return run


def explained(paths, query=SEVEN, **options):
    with headrace.open(paths) as dataset:
        return dataset.query(query, engine="spark", **options).explain()


@pytest.mark.parametrize(
    "query",
    [
        SEVEN,
        f"{SEVEN}.count()",
        f"{SEVEN}.sort(n)",
        f"{SEVEN}.group_by(city)",
        f"{SEVEN}.unique_by(n).take(1)",
        f"{SEVEN}.join(@people, on: n)",
        f"{SEVEN}.last()",
        "$.rows().find(id == 7)",
        "{a: $.rows().filter(id == 7).sum(n)}",
        "$ if id == 7 else null",
    ],
)
def test_few_rows_are_read_without_tasks(both, sent, people, query):
    index(people)
    names = {"people": people} if "@people" in query else {}
    both(people, query, names=names)
    assert sent == []
    # Without an index tasks read all rows, except for queries that read from the end.
    both(people, query, names=names, index=False)
    assert bool(sent) == ("last" not in query)


def test_matches_are_found_without_tasks(both, sent, people):
    index(people)
    both(people, "id == 7", matches=True)
    both(people, "id in [7, 9]", matches=True, limit=1)
    assert sent == []


def test_many_rows_are_read_by_tasks_from_their_ranges(both, sent, monkeypatch, shards):
    index_of_set = headrace.KeyIndex.build(shards.path, "id").path
    monkeypatch.setattr(FEW_ROWS, 2)
    answer, *_ = both(shards.path, "$.rows().filter(id in [7, 480, 481, 999]).map(n)")
    assert answer == b"7\n480\n481\n999\n"
    (fragments,) = sent
    parts = [Path(each.source.location).name for each in fragments]
    assert parts == sorted(parts)
    assert len(set(parts)) == 3
    read = sum(each.end - each.start for each in fragments)
    whole = sum(part.size for part in shards.sources())
    assert 20 * read < whole
    explanation = explained(shards.path, "$.rows().filter(id in [7, 480, 481, 999])")
    assert f"1 of 100 rows are read, found in {index_of_set}" in explanation
    assert (
        f"on Spark\n├─ tasks read {read} of {whole} bytes, which hold the 4 rows that "
        "key indexes lead to, and files without one\n└─ tasks answer their rows"
    ) in explanation


def damage_others(source, keys):
    """Change a byte of every block that has no row with these keys; keep the file times."""
    opened, path = OpenedFile(source), Path(source.location)
    rows = opened.data.read_at(0, opened.size)
    found = [opened.table.at_offset(rows.find(b'{"id":%d,' % key))[0] for key in keys]
    # The block before is read too, to see whether a row ends there.
    kept = {number - before for number in found for before in (0, 1)}
    blocks = {opened.table.at_offset(at) for at in range(opened.size)}
    assert len(blocks) > 30
    content = bytearray(path.read_bytes())
    for number, _start, end in blocks:
        content[end - 8] ^= number not in kept
    path.write_bytes(content)
    os.utime(path, ns=(source.mtime_ns, source.mtime_ns))


def test_tasks_do_not_read_other_blocks(sent, monkeypatch, shards):
    headrace.KeyIndex.build(shards.path, "id")
    monkeypatch.setattr(FEW_ROWS, 2)
    keys = [7, 480, 999]
    for number, source in enumerate(shards.sources()):
        damage_others(source, [key for key in keys if key // 100 == number])
    query = f"$.rows().filter(id in {keys}).map(n)"
    by_tasks = {"engine": "spark", "_run_tasks": sent}
    with headrace.open(shards.path) as dataset:
        with pytest.raises(DamagedBlockError):
            dataset.query(query, **by_tasks, index=False).to_list()
        result = dataset.query(query, **by_tasks)
        assert result.to_list() == keys
        stats = result.stats
        assert (stats.rows, stats.emitted, stats.filtered) == (1000, 3, 997)
    assert len(sent) == 2


def test_files_with_and_without_an_index_are_one_source(both, sent, people, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_bytes(b'{"id":7,"n":-1}\n')
    index(people)
    answer, _error, counts, *_ = both([people, other, people], f"{SEVEN}.map(n)")
    assert answer == b"7\n-1\n7\n"
    assert counts == (401, 3, 398, 0, 0)
    (fragments,) = sent
    locations = [each.source.location for each in fragments]
    assert locations == [str(people), str(other), str(people)]
    assert [each.end - each.start for each in fragments] == [1, 16, 1]


def test_a_file_without_matching_rows_is_skipped(
    both, sent, monkeypatch, people, tmp_path
):
    other = tmp_path / "other.jsonl"
    other.write_text("\n" + "".join(f"{line}\n" for line in lines_of(range(900, 950))))
    for path in (people, other):
        index(path)
    monkeypatch.setattr(FEW_ROWS, 0)
    _answer, _error, counts, *_ = both([other, people, other], SEVEN)
    assert counts == (302, 1, 299, 0, 2)
    # Rows after the last answer are not counted.
    *_, counts, _bad, _errors, _named = both([other, people, other], SEVEN, limit=1)
    assert counts == (59, 1, 57, 0, 1)
    assert [each.source.location for each in sent[-1]] == [str(people)]
    both(other, SEVEN)
    assert len(sent) == 2


def test_near_rows_are_read_together_and_divided_into_tasks(
    both, sent, monkeypatch, people
):
    index(people, "city")
    monkeypatch.setattr(FEW_ROWS, 0)
    both(people, "$.rows().filter(city == 'c1').map(n)", size=1000)
    (fragments,) = sent
    assert len(fragments) > 3
    assert all(each.end - each.start <= 1000 for each in fragments)


def test_rows_that_fail_are_named_by_their_lines(both, sent, monkeypatch, people):
    people.write_bytes(b"\n" + people.read_bytes() + b'\n{"id":7,"n":0}\n')
    index(people)
    monkeypatch.setattr(FEW_ROWS, 0)
    monkeypatch.setattr("headrace.engines.spark.source.partitions._NEAR", 0)
    for query in (f"{SEVEN}.map(1 / n)", f"{SEVEN}.unique_by(n).map(1 / n)"):
        for on_error in ("abort", "skip", "collect"):
            *_, errors, _named = both(people, query, on_error=on_error)
            said = "line 203, " in str(errors)
            assert said == (on_error != "abort")
    assert len(sent) >= 6


@pytest.mark.parametrize("damaged", ["index", "grown", "bad"])
def test_tasks_read_all_rows_with_a_doubtful_index(both, sent, people, damaged):
    built = index(people)
    content = bytearray(built.read_bytes())
    if damaged == "index":
        content[100] ^= 1
        built.write_bytes(content)
        with pytest.warns(HeadraceWarning, match="checksum.*the file is scanned"):
            both(people, SEVEN)
    else:
        with people.open("ab") as file:
            file.write(b'{"id":7}\n' if damaged == "grown" else b'{"id"\n')
        if damaged == "bad":
            index(people)
        both(people, SEVEN, on_error="skip")
    assert sum(each.end - each.start for each in sent[0]) == people.stat().st_size


@pytest.mark.parametrize("few", [0, 4096])
def test_a_missing_file_is_reported_at_its_position(
    sent, monkeypatch, people, tmp_path, few
):
    other = tmp_path / "other.jsonl"
    other.write_bytes(people.read_bytes())
    for path in (people, other):
        index(path)
    monkeypatch.setattr(FEW_ROWS, few)
    with headrace.open([people, other, people], index=False) as dataset:
        other.unlink()
        answers = [
            outcome(dataset, SEVEN, index=index, **where)
            for index in (False, True)
            for where in ({}, {"engine": "spark", "_run_tasks": sent})
        ]
    assert answers == [answers[0]] * 4
    lines, (error, *_), *_ = answers[0]
    assert (lines.count(b"\n"), error) == (1, "SourceNotFoundError")
    assert len(sent) == 2


def test_a_file_with_a_wrong_table_is_read_in_order_if_no_row_was_read(
    both, sent, monkeypatch, shards
):
    headrace.KeyIndex.build(shards.path, "id")
    monkeypatch.setattr(FEW_ROWS, 0)
    wrong = [UnusableTableError("x", 0, "no such block")]

    def failing(query, tasks, tell):
        for task, chunk in in_process(query, tasks, tell):
            chunk.failure = wrong.pop() if wrong else chunk.failure
            if chunk.failure is not None:
                chunk.rows, chunk.lines, chunk.counts = 0, b"", type(chunk.counts)()
            yield task, chunk

    with pytest.warns(HeadraceWarning, match="it is read in order"):
        both(
            shards.path,
            "$.rows().filter(id in [7, 480]).map(n)",
            run_tasks=failing,
        )


def test_explain_says_where_the_rows_are_queried(people, sent):
    built = index(people)
    assert explained(people).splitlines()[-4:] == [
        "rows with id == 7",
        f"└─ {people}: 1 of 200 rows are read, found in {built}, the key index of id "
        "(200 keys)",
        "on Spark",
        "└─ the driver queries the 1 row that key indexes lead to: too few for tasks",
    ]
    explanation = explained(people, index=False)
    assert "all rows are read" in explanation
    assert "└─ tasks answer their rows" in explanation
    assert sent == []


def test_ranges_contain_the_rows(people, monkeypatch):
    opened = OpenedFile(expand([str(people)])[0])
    assert ranges_holding(opened, []) == []
    assert ranges_holding(opened, [5, 300]) == [Range(5, 301)]
    monkeypatch.setattr("headrace.engines.spark.source.partitions._NEAR", 100)
    assert ranges_holding(opened, [5, 300, 350]) == [Range(5, 6), Range(300, 351)]
