"""A query by tasks with key indexes gives the result of the query over all rows."""

import shutil
import warnings

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import headrace
from headrace.errors import HeadraceWarning
from tests.features.key_index.test_queries_by_key import (
    CONDITIONS,
    LINES,
    ODD,
    ROWS,
    SELDOM,
    WANTED_KEYS,
    indexed,
)
from tests.reference.compressed import FORMS
from tests.reference.engines import BY_TASKS, outcome
from tests.reference.shard_sets import write

SHUFFLED = [
    "$.rows().filter(C).sort(n)",
    "$.rows().filter(C).sort(10 / n)",
    "$.rows().filter(C).unique_by(n).map(10 / n)",
    "$.rows().filter(C).unique_by(n).count()",
    "$.rows().filter(C).group_by(l)",
    "$.rows().filter(C).index_by(n).values()",
    "$.rows().filter(C).join(@other, on: n)",
    "$.rows().filter(C).left_join(@other, on: l == k).map(10 / n)",
    "$.rows().filter(C).diff(@other, on: k).count()",
    "$.rows().filter(C).join($.rows().filter(l == W), on: n).count()",
    "$.rows().filter(C).zip_streams(@other)",
]
MATCHES = "C"
QUERIES = st.sampled_from([*ROWS, *SHUFFLED, MATCHES])
OPTIONS = st.fixed_dictionaries(
    {
        "limit": st.sampled_from([None, None, None, 0, 1, 3]),
        "on_error": st.sampled_from(["abort", "skip", "collect"]),
    }
)
FORM = st.sampled_from(["plain", "gzip, blocks of lines"])


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("by_key")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr("headrace.engines.spark.query.task.ROWS_LOOKED_UP", 3)


def filled(data, query):
    """Fill the placeholders of a query with conditions and values."""
    for name, some in [("C", CONDITIONS), ("V", WANTED_KEYS), ("W", WANTED_KEYS)]:
        query = query.replace(name, data.draw(st.sampled_from(some)))
    return query


def compare(monkeypatch, data, paths, other):
    """Compare one process that reads all rows with tasks, without and with indexes."""
    query, options = data.draw(QUERIES), data.draw(OPTIONS)
    if query == MATCHES:
        options["matches"] = True
    query = filled(data, query)
    names = {"other": other} if "@other" in query else {}
    hints = {"other": data.draw(st.sampled_from([1, 10**9]))} if names else {}
    common = {"names": names, "size_hints": hints, **options}
    spark = {**BY_TASKS, "partition_bytes": data.draw(st.integers(1, 300))}
    with headrace.open(paths) as dataset, warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadraceWarning)
        expected = outcome(dataset, query, index=False, **common)
        assert outcome(dataset, query, index=False, **common, **spark) == expected
        for few in (0, 2, 4096):
            monkeypatch.setattr(
                "headrace.engines.spark.query.indexed_rows.FEW_ROWS", few
            )
            for tasks in (0, 16):
                monkeypatch.setattr("headrace.engines.spark.query.run.FEW_TASKS", tasks)
                assert outcome(dataset, query, **common, **spark) == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_indexes_of_files_change_nothing(directory, monkeypatch, data):
    # Rows of small files count as far from each other.
    near = data.draw(st.sampled_from([0, 100, 1 << 18]))
    monkeypatch.setattr("headrace.engines.spark.source.partitions._NEAR", near)
    paths, form = [], data.draw(FORM)
    for number in range(data.draw(st.integers(1, 3))):
        lines = data.draw(LINES)
        if data.draw(SELDOM):
            lines.insert(data.draw(st.integers(0, len(lines))), data.draw(ODD))
        content = "".join(f"{line}\n" for line in lines).encode()
        path = directory / f"data-{number}.jsonl"
        path.write_bytes(FORMS[form](content))
        assume(form == "plain" or headrace.open(path).sources[0].seekable)
        # One file without an index, one whose index lacks the last rows.
        state = data.draw(st.sampled_from(["fresh", "fresh", "grown", "none"]))
        keys = data.draw(st.sampled_from([[("k",)], [("k",), ("l", "k")]]))
        indexed(path, [] if state == "none" else keys, data.draw(st.integers(1, 2)))
        if state == "grown" and form == "plain":
            with path.open("ab") as file:
                file.write(b'{"k":1,"n":0}\n')
        paths.append(path)
    other = directory / "other.jsonl"
    other.write_text("".join(f"{line}\n" for line in data.draw(LINES)))
    compare(monkeypatch, data, paths, other)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_the_index_of_a_set_changes_nothing(directory, monkeypatch, data):
    # A set has no blank rows.
    records = [line for line in data.draw(LINES) if line.strip()]
    assume(records)
    codec = data.draw(st.sampled_from(["zstd", "none"]))
    most = data.draw(st.integers(1, 8))
    where = directory / "set"
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir()
    shards = write(where, records, codec=codec, most=most, block_bytes=80)
    headrace.KeyIndex.build(where, "k")
    state = data.draw(st.sampled_from(["fresh", "fresh", "grown", "damaged"]))
    if state == "grown":
        write(where, records[:3], codec=codec)
    elif state == "damaged":
        (segment,) = (where / "rows.jnx.k").glob("*.jnx")
        content = bytearray(segment.read_bytes())
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1
        segment.write_bytes(content)
    other = directory / "other.jsonl"
    other.write_text("".join(f"{line}\n" for line in data.draw(LINES)))
    compare(monkeypatch, data, shards.path, other)
