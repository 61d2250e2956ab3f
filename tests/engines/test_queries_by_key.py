"""When a query reads only the rows found by a key index, and when all rows."""

import os

import pytest

import headrace
from headrace.errors import HeadraceWarning, KeyIndexError
from headrace.physical.explain import explain
from headrace.store.index import key_scan
from headrace.store.index.stored_index import Freshness

ROWS = b"".join(b'{"id":%d,"city":"c%d","n":%d}\n' % (n, n % 7, n) for n in range(200))


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.jsonl"
    path.write_bytes(ROWS)
    return path


def index(path, key="id", **options):
    """Build an index that is trusted without reading the file again."""
    built = headrace.KeyIndex.build(path, key, **options).path
    later = built.stat().st_mtime_ns + 10**9
    os.utime(built, ns=(later, later))
    return built


def explained(path, query, **options):
    with headrace.open(path) as dataset:
        return dataset.query(query, **options).explain().splitlines()[-1]


def rows_read(path, query, **options):
    """Return the number of rows that were read, and of rows in the account."""
    with headrace.open(path) as dataset:
        result = dataset.query(query, **options)
        result.to_list()
        return result.report.read.rows, result.stats.rows


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("$.rows().filter(id == 7)", (1, 200)),
        ("$.rows().filter(7 == $.id).map(n)", (1, 200)),
        ("$.rows().filter(id in [7, 8, 7])", (2, 200)),
        ("$.rows().filter(id == 7 or id == 8).count()", (2, 200)),
        ("$.rows().filter(n > 3 and id == 7)", (1, 200)),
        ("$.rows().filter(city == 'c1').filter(id == 8)", (1, 200)),
        ("$.rows().filter(r => r.id == 7)", (1, 200)),
        ("$.rows(){id == 7}", (1, 200)),
        ("$.rows()[* if id == 7].n", (1, 200)),
        ("$.rows().find(id == 7)", (1, 8)),
        ("$.rows().any(id == 7)", (1, 8)),
        ("$.rows().filter(id in [7, 9]).take(1)", (1, 8)),
        ("$.rows().filter(id in [7, 9]).last()", (1, 191)),
        ("$.rows().sort(n).filter(id == 7)", (200, 200)),
        ("$.rows().take(9).filter(id == 7)", (9, 9)),
        ("$.rows().filter(1 / n > 0 and id == 7)", None),
        ("$.rows().filter(id == 7 and 1 / n > 0)", (1, 200)),
        ("$.rows().filter(id == 7 or n == 8)", (200, 200)),
        ("$.rows().filter(id == null)", (200, 200)),
        ("$.rows().filter(id > 7)", (200, 200)),
        ("$.rows().filter(id.x == 7)", (200, 200)),
        ("$.rows().filter(id == 1e40)", (200, 200)),
        ("$ if id == 7 else null", (1, 200)),
        ("$ if id == 7 else n", (200, 200)),
    ],
)
def test_only_rows_that_can_match_are_read(people, query, rows):
    index(people)
    if rows is None:
        with pytest.raises(headrace.HeadraceError, match="line 1, "):
            rows_read(people, query)
        return
    assert rows_read(people, query) == rows


def test_matches_are_found(people):
    index(people, index_version=2)
    assert rows_read(people, "id == 7", matches=True) == (1, 200)
    assert rows_read(people, "id == 7", matches=True, limit=1) == (1, 8)
    assert rows_read(people, "id == 7", matches=True, reverse=True, limit=1) == (
        1,
        193,
    )
    assert rows_read(people, "id == 7") == (200, 200)
    assert rows_read(people, "$ if id == 7 else null", nulls="emit") == (200, 200)


def test_of_several_indexes_the_one_with_the_fewest_rows_is_taken(people):
    index(people, "city")
    assert rows_read(people, "$.rows().filter(city == 'c1' and id == 8)") == (29, 200)
    index(people, ["id", "city"])
    explanation = explained(people, "$.rows().filter(city == 'c1' and id == 8)")
    assert explanation == (
        f"└─ {people}: 1 of 200 rows are read, found in {people}.jnx.id+city, "
        "the key index of id,city (200 keys)"
    )
    assert rows_read(people, "$.rows().filter(id == 8)") == (200, 200)


def test_files_with_and_without_an_index_are_one_source(people, tmp_path):
    other = tmp_path / "q.jsonl"
    other.write_bytes(b'{"id":7,"n":-1}\n')
    index(people)
    with headrace.open([people, other, people]) as dataset:
        result = dataset.query("$.rows().filter(id == 7).map(n)")
        assert result.to_list() == [7, -1, 7]
        assert (result.report.read.rows, result.stats.rows) == (3, 401)
        assert result.stats.filtered == 398
        assert [line[:12] for line in result.explain().splitlines()[-4:]] == [
            "rows with id",
            f"├─ {people}"[:12],
            f"├─ {other}"[:12],
            f"└─ {people}"[:12],
        ]


def test_a_filter_before_a_join_uses_the_index(people, tmp_path):
    orders = tmp_path / "orders.jsonl"
    orders.write_bytes(b'{"user":7}\n')
    index(people)
    with headrace.open(orders) as dataset:
        result = dataset.query(
            "$.join(@people.filter(id == 7), on: user == id)", names={"people": people}
        )
        assert [row["n"] for row in result] == [7]
        ((name, counts),) = result.stats.named
        assert (name, counts.rows, counts.emitted) == ("people", 200, 1)


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        (ROWS + b"x\n", {}, "lines are bad, and a scan reports them"),
        (ROWS + b'{"id"', {}, "lines are bad, and a scan reports them"),
        (ROWS, {"max_depth": 300}, "it was built with larger limits"),
        (ROWS, {"max_line": "1GiB"}, "it was built with larger limits"),
        (
            ROWS + b'{"id":0.30000000000000001}\n',
            {},
            "it has numbers with more digits than it compares",
        ),
    ],
)
def test_rows_are_scanned_where_an_index_could_change_the_result(
    people, content, options, expected
):
    people.write_bytes(content)
    index(people, **options)
    assert expected in explained(people, "$.rows().filter(id == 7)")


def test_a_text_is_found_beside_numbers_that_are_rounded(people):
    people.write_bytes(b'{"id":"x"}\n{"id":0.30000000000000001}\n')
    index(people)
    assert rows_read(people, "$.rows().filter(id == 'x')") == (1, 2)
    assert rows_read(people, "$.rows().filter(id == 0.3)") == (2, 2)


def test_indexes_can_be_switched_off(people):
    index(people)
    query = "$.rows().filter(id == 7)"
    assert rows_read(people, query, index=False) == (200, 200)
    assert explained(people, query, index=False).endswith("all rows are read")
    framed = people.with_name("framed.jsonl")
    framed.write_bytes(b"".join(b"x:%s" % line for line in ROWS.splitlines(True)))
    assert rows_read(framed, "id == 7", matches=True, frame=":") == (200, 200)


def test_a_file_with_a_stale_index_is_scanned(people):
    built = index(people)
    query = "$.rows().filter(id == 7)"
    with people.open("ab") as file:
        file.write(b'{"id":7}\n')
    assert rows_read(people, query) == (201, 201)
    assert f"{built} is not used: source_grown" in explained(people, query)
    people.write_bytes(ROWS.replace(b'"id":7,', b'"id":8,'))
    assert "source_modified" in explained(people, query)
    assert rows_read(people, query) == (200, 200)


def test_a_touched_file_is_verified_only_by_queries_that_read_all_of_it(people):
    index(people)
    os.utime(people, ns=(1, 1))
    assert rows_read(people, "$.rows().filter(id == 7)") == (1, 200)
    assert rows_read(people, "$.rows().find(id == 7)") == (8, 8)
    assert "source_unproven" in explained(people, "$.rows().find(id == 7)")


def test_a_key_of_most_rows_is_scanned_for(people):
    people.write_bytes(b'{"id":1}\n' * 2000)
    index(people)
    assert rows_read(people, "$.rows().filter(id == 1).count()") == (2000, 2000)
    assert "so that a scan is faster" in explained(people, "$.rows().filter(id == 1)")


def test_too_many_keys_are_not_looked_up(people):
    index(people)
    listed = ", ".join(map(str, range(2000)))
    assert rows_read(people, f"$.rows().filter(id in [{listed}])") == (200, 200)


@pytest.mark.parametrize("version", [1, 2])
def test_a_damaged_index_is_reported(people, version):
    built = index(people, index_version=version)
    content = bytearray(built.read_bytes())
    content[100] ^= 1
    built.write_bytes(content)
    with pytest.warns(HeadraceWarning, match="checksum.*the file is scanned"):
        assert rows_read(people, "$.rows().filter(id == 7)") == (200, 200)


def believed(monkeypatch):
    monkeypatch.setattr(
        key_scan, "fitting", lambda stored, *_, **__: (stored, Freshness("fresh"))
    )


def test_a_wrong_index_found_before_the_first_row_means_a_scan(people, monkeypatch):
    index(people)
    people.write_bytes(ROWS.replace(b'"id":7,', b'"id":8,'))
    believed(monkeypatch)
    with pytest.warns(HeadraceWarning, match="no row with that key"):
        assert rows_read(people, "$.rows().filter(id == 7)") == (200, 200)


def test_a_wrong_index_found_after_the_first_row_is_an_error(people, monkeypatch):
    index(people)
    people.write_bytes(ROWS.replace(b'"id":99,', b'"id":98,'))
    believed(monkeypatch)
    monkeypatch.setattr(key_scan, "_FIRST_ROWS", 1)
    with headrace.open(people) as dataset:
        lines = dataset.query("$.rows().filter(id in [7, 99])").lines()
        assert next(lines).startswith(b'{"id":7,')
        with pytest.raises(KeyIndexError, match="no row with that key"):
            next(lines)


def test_a_row_that_fails_is_named_by_its_line(people):
    people.write_bytes(b"\n" + ROWS)
    index(people)
    errors = []
    for used in (True, False):
        with (
            headrace.open(people) as dataset,
            pytest.raises(headrace.HeadraceError) as caught,
        ):
            dataset.query("$.rows().filter(id == 7).map(1 / 0)", index=used).to_list()
        errors.append(str(caught.value))
    assert errors[0] == errors[1]
    assert "line 9, " in errors[0]
    with headrace.open(people) as dataset:
        result = dataset.query("$ / 0 if id in [7, 5] else null", on_error="skip")
        assert result.to_list() == []
        assert [error.line for error in result.stats.errors] == [7, 9]
        assert (result.stats.rows, result.stats.blank) == (201, 1)


@pytest.mark.parametrize(
    ("rows", "query"),
    [
        ('{"id":123456789012345e4}', "$.rows().filter(id == 1234567890123450112)"),
        ('{"id":1234567890123450112}', "$.rows().filter(id == 1234567890123450112.0)"),
    ],
)
def test_a_large_number_is_found_however_it_is_written(tmp_path, rows, query):
    path = tmp_path / "large.jsonl"
    path.write_text(f"{rows}\n")
    index(path)
    assert len(headrace.open(path).query(query).to_list()) == 1


# Joins


def joined(people, tmp_path, query, rows=(b'{"who":7}', b'{"who":"x"}'), **options):
    """Return the answers, the number of right rows read, and of right rows in the account."""
    left = tmp_path / "left.jsonl"
    left.write_bytes(b"".join(row + b"\n" for row in rows))
    names = {"people": people}
    with headrace.open(left) as dataset:
        result = dataset.query(query, names=names, **options)
        answers = result.to_list()
        (scan,) = result.report.named_scans
        ((_name, counts),) = result.stats.named
        return answers, scan.read.rows, (counts.rows, counts.emitted)


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("$.join(@people, on: who == id)", 1),
        ("$.left_join(@people, on: who == id)", 2),
        ("$.lookup(@people, on: who, right_on: .id)", 2),
        ("$.diff(@people, on: who == 'id')", 1),
        ("$.intersect(@people, on: x => x.who, right_on: y => y.id)", 1),
        ("$.join(@people, on: [who] == [id])", 1),
    ],
)
def test_a_join_reads_only_the_matching_rows(people, tmp_path, query, count):
    index(people)
    answers, read, counts = joined(people, tmp_path, query)
    assert (len(answers), read, counts) == (count, 1, (200, 200))
    scanned = joined(people, tmp_path, query, index=False)
    assert scanned == (answers, 200, counts)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("$.join(@people.filter(n > 3), on: who == id)", [b'{"who":7}']),
        ("$.join(@people, on: who == id + 0)", [b'{"who":7}']),
        ("$.join(@people, on: who == n)", [b'{"who":7}']),
        ("$.join(@people, on: who == id)", [b'{"who":[7]}']),
        ("$.join(@people, on: who == id)", [b'{"who":%d}' % n for n in range(200)]),
    ],
)
def test_a_join_reads_all_rows_where_the_index_cannot_decide(
    people, tmp_path, query, rows
):
    index(people)
    assert joined(people, tmp_path, query, rows)[1] == 200


def test_the_plan_of_a_join_mentions_the_index():
    query = "$.join(@people, on: who == id)"
    assert "found in files with a key index" in explain(query, stream=True)
    assert "key index" not in explain(query, stream=True, indexes=False)
    assert "key index" not in explain("$.join(@p, on: a == b + 1)", stream=True)
