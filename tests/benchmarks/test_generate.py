"""Generated data sets have the promised properties, and the same bytes every time."""

import hashlib
import json
from collections import Counter

import pytest

from benchmarks.generate import DATASETS, Extent, data_file
from benchmarks.rows import USERS

SMALL = Extent(200_000)
ROWS = sorted(name for name in DATASETS if not name.startswith("sparse"))

# When one of these changes, so must `benchmarks.generate.REVISION`.
CHECKSUMS = {
    "customers": "e3f3e21a8b5e651a",
    "edges": "1028444298323c6f",
    "events": "eaf335e850c10fcc",
    "narrow": "46147c4af8e60a92",
    "nested": "f424040ddedc8e01",
    "orders": "19f5cb6fe2c5dfea",
    "sparse": "e325124e436898f3",
    "sparse-rows": "8c0f4f79ff8f3205",
    "tweets": "db322260f6c9b5c9",
    "users": "7457a4fa330a7922",
    "wide": "56ceabf5eea73d06",
}


def rows(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("name", DATASETS)
def test_a_data_set_is_the_same_bytes_every_time(name, tmp_path):
    path = data_file(name, SMALL, folder=tmp_path)
    assert hashlib.sha256(path.read_bytes()).hexdigest()[:16] == CHECKSUMS[name]


@pytest.mark.parametrize("name", DATASETS)
def test_another_seed_is_another_file(name, tmp_path):
    first = data_file(name, SMALL, seed=1, folder=tmp_path)
    second = data_file(name, SMALL, seed=2, folder=tmp_path)
    assert first != second
    assert first.read_bytes() != second.read_bytes()


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_about_as_long_as_promised(name, tmp_path):
    data = data_file(name, Extent(2_000_000), folder=tmp_path).read_bytes()
    mean = len(data) / data.count(b"\n")
    assert mean == pytest.approx(DATASETS[name].row_bytes, rel=0.12)


@pytest.mark.parametrize("name", ROWS)
def test_a_file_has_the_requested_size_to_within_a_row(name, tmp_path):
    data = data_file(name, SMALL, folder=tmp_path).read_bytes()
    wanted = SMALL.amount if name != "customers" else SMALL.amount // 10
    assert len(data) == pytest.approx(wanted, abs=3000)
    assert data.endswith(b"}\n")


@pytest.mark.parametrize("name", sorted(set(ROWS) - {"customers"}))
@pytest.mark.parametrize("count", [1, 4096, 5000])
def test_a_number_of_rows_can_be_requested(name, count, tmp_path):
    path = data_file(name, Extent(count, "rows"), folder=tmp_path)
    assert path.read_bytes().count(b"\n") == count


@pytest.mark.parametrize("name", sorted(set(ROWS) - {"edges"}))
def test_no_two_rows_are_equal(name, tmp_path):
    lines = data_file(name, SMALL, folder=tmp_path).read_bytes().splitlines()
    assert len(set(lines)) == len(lines)


def test_wide_rows_have_fifty_fields(tmp_path):
    assert {len(row) for row in rows(data_file("wide", SMALL, folder=tmp_path))} == {50}


def test_one_event_in_a_hundred_is_fatal_and_few_panic(tmp_path):
    events = rows(data_file("events", Extent(100_000, "rows"), folder=tmp_path))
    levels = Counter(event["level"] for event in events)
    assert levels["fatal"] == pytest.approx(1000, rel=0.05)
    assert 1 <= levels["panic"] <= 4
    assert len({event["country"] for event in events}) == 7
    assert len({event["user"] for event in events}) == pytest.approx(USERS, rel=0.2)
    assert len({event["trace"] for event in events}) == len(events)


def test_every_event_has_its_user(tmp_path):
    events = rows(data_file("events", SMALL, folder=tmp_path))
    known = rows(data_file("users", Extent(USERS, "rows"), folder=tmp_path))
    names = {user["user"] for user in known}
    assert len(names) == USERS
    assert {event["user"] for event in events} <= names


def test_one_status_in_a_hundred_has_the_high_level(tmp_path):
    found = rows(data_file("tweets", Extent(200, "rows"), folder=tmp_path))
    assert [each["filter_level"] for each in found].count("high") == 2


def test_every_order_has_its_customer(tmp_path):
    orders = rows(data_file("orders", SMALL, folder=tmp_path))
    customers = rows(data_file("customers", SMALL, folder=tmp_path))
    known = [customer["customer_id"] for customer in customers]
    assert len(set(known)) == len(known)
    assert {order["customer_id"] for order in orders} <= set(known)


def test_few_nodes_have_most_edges(tmp_path):
    edges = rows(data_file("edges", Extent(50_000, "rows"), folder=tmp_path))
    degrees = Counter(edge["from"] for edge in edges)
    busiest = sum(count for _, count in degrees.most_common(50))
    # The first 50 of 5,000 nodes: 1 % of the nodes have 0.01 ** 0.25 of the edges.
    assert busiest / len(edges) == pytest.approx(0.01**0.25, abs=0.03)


@pytest.mark.parametrize("name", ["sparse", "sparse-rows"])
def test_a_sparse_file_is_mostly_hole(name, tmp_path):
    size = 64_000_000
    path = data_file(name, Extent(size), folder=tmp_path)
    assert path.stat().st_size == size
    assert path.stat().st_blocks * 512 < size / 10
    with path.open("rb") as file:
        assert json.loads(file.readline())["id"] == 0
        file.seek(-1, 2)
        assert file.read() == b"\n"


def test_a_sparse_file_has_rows_at_both_ends_and_one_line_between(tmp_path):
    path = data_file("sparse", Extent(8_000_000), folder=tmp_path)
    holes = [line for line in path.read_bytes().splitlines() if b"\0" in line]
    lines = path.read_bytes().splitlines()
    assert len(holes) == 1
    assert holes[0].strip(b"\0") == b""
    numbers = [json.loads(line)["id"] for line in lines if line not in holes]
    assert numbers == list(range(len(numbers)))
    assert lines[-1] not in holes


def test_a_sparse_file_has_no_number_of_rows(tmp_path):
    with pytest.raises(ValueError, match="not in rows"):
        data_file("sparse", Extent(5, "rows"), folder=tmp_path)
    assert not list(tmp_path.glob("*.jsonl"))


def test_a_file_is_made_once(tmp_path):
    first = data_file("narrow", SMALL, folder=tmp_path)
    first.write_bytes(b"kept\n")
    assert data_file("narrow", SMALL, folder=tmp_path).read_bytes() == b"kept\n"


def test_the_table_of_data_sets_is_sorted_and_has_descriptions():
    assert list(DATASETS) == sorted(DATASETS)
    assert all(dataset.doc.endswith(".") for dataset in DATASETS.values())
