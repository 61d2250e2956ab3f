"""Row providers: rows of another format, through the public protocol."""

import io
import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace import compat
from headrace.api.results import evaluate
from headrace.errors import BadRowError, HeadraceError, NotNdjsonError, UsageError
from headrace.language.parser import parse
from headrace.logical.methods import fields_of
from tests.reference.csv_rows import CsvRows

TABLE = 'id,name,"long, one"\n1,Ada,x\n2,"Bob\nB",y\n3,Cy,z\n'
ROWS = [
    {"id": "1", "name": "Ada", "long, one": "x"},
    {"id": "2", "name": "Bob\nB", "long, one": "y"},
    {"id": "3", "name": "Cy", "long, one": "z"},
]


@pytest.mark.parametrize(
    ("query", "answers"),
    [
        ("$", ROWS),
        ("name", ["Ada", "Bob\nB", "Cy"]),
        ("$.rows().filter(id.to_number() > 1).map(name)", ["Bob\nB", "Cy"]),
        ("$.rows().last().name", ["Cy"]),
        ("$.rows().count()", [3]),
        ("$.rows().sort(-name).map(id)", ["3", "2", "1"]),
    ],
)
def test_a_provider_is_queried_like_a_file(query, answers):
    assert headrace.open(CsvRows(TABLE)).query(query).to_list() == answers
    assert compat.collect_ndjson(CsvRows(TABLE, lanes=False), query) == answers


def test_tables_and_files_go_together(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id": "3", "x": 1}\n{"id": "9", "x": 2}\n')
    both = [path, CsvRows(TABLE), io.BytesIO(b'{"id": "0"}\n')]
    assert compat.collect_ndjson_multi(both, "id") == ["3", "9", "1", "2", "3", "0"]
    ds = headrace.open(path)
    joined = ds.query("$.join(@t, on: id).map([x, name])", names={"t": CsvRows(TABLE)})
    assert joined.to_list() == [[1, "Cy"]]
    ours = headrace.open(CsvRows(TABLE)).query(
        "$.intersect(@f, on: id).map(name)", names={"f": path}
    )
    assert ours.to_list() == ["Cy"]


@pytest.mark.parametrize(
    ("query", "options", "fields", "scan", "selective"),
    [
        ("name", {}, {"name"}, None, False),
        ("{id, n: name.len()}", {}, {"id", "name"}, None, False),
        ("$", {}, None, None, False),
        ("id == '2'", {"matches": True}, None, {"id"}, True),
        ("$.rows().filter(id > '1').map(name)", {}, {"id", "name"}, {"id"}, True),
        ("$.rows().filter(id > '1')", {}, None, {"id"}, True),
        ("$.rows().count(name == 'Cy')", {}, {"name"}, {"name"}, True),
        ("$.rows().count()", {}, set(), set(), False),
        ("name", {"distinct_by": "id"}, {"id", "name"}, {"id"}, True),
    ],
)
def test_lanes_are_requested_once_before_the_first_row(
    query, options, fields, scan, selective
):
    rows = CsvRows(TABLE)
    headrace.open(rows).query(query, **options).to_list()
    (lanes,) = rows.requested
    assert lanes.fields == fields
    assert lanes.selective == selective
    if scan is not None:
        assert lanes.scan == scan
    if fields is not None:
        # Only these fields were decoded.
        assert rows.decoded == 3 * len(fields)


def test_a_provider_is_cancelled_at_the_limit():
    rows = CsvRows("n\n" + "".join(f"{n}\n" for n in range(1000)))
    assert headrace.open(rows).query("$.rows().first().n").to_list() == ["0"]
    assert rows.taken == 1
    assert rows.cancelled >= 1
    rows.cancel()
    assert rows.next_row() is None


def test_a_failure_ends_the_provider_too():
    rows = CsvRows(TABLE)
    with pytest.raises(HeadraceError):
        headrace.open(rows).query("1 / (id.to_number() - 1)").to_list()
    assert rows.cancelled >= 1


@pytest.mark.parametrize("positions", [True, False])
def test_errors_are_where_the_provider_says(positions):
    rows = CsvRows(TABLE, positions=positions)
    with pytest.raises(HeadraceError) as caught:
        headrace.open(rows).query("1 / (id.to_number() - 3)").to_list()
    assert caught.value.path == "table.csv"
    if positions:
        # The second record has two lines.
        assert (caught.value.line, caught.value.offset) == (5, TABLE.index("3,Cy"))
    else:
        assert caught.value.line == 3


def test_rows_of_a_provider_are_checked():
    class Bad(headrace.RowProvider):
        location = "bad"

        def __init__(self):
            self.rows = [b'{"a": 1}', b"nonsense", b'{"a": 3}']

        def next_row(self):
            return self.rows.pop(0) if self.rows else None

    with pytest.raises(BadRowError, match="bad: line 2"):
        headrace.open(Bad()).query("a").to_list()
    result = headrace.open(Bad()).query("a", on_error="skip")
    assert result.to_list() == [1, 3]
    counts = result.report.counts
    assert (counts.rows, counts.emitted, counts.skipped) == (3, 2, 1)


def test_reused_memory_of_a_provider_is_copied():
    class Scratch(headrace.RowProvider):
        location = "scratch"

        def __init__(self):
            self.memory = bytearray(3)
            self.number = 100

        def next_row(self):
            self.number += 1
            self.memory[:] = b"%d" % self.number
            return memoryview(self.memory) if self.number < 600 else None

    assert headrace.open(Scratch()).query("$").to_list() == list(range(101, 600))


def test_a_provider_may_begin_at_the_end():
    class Numbers(headrace.RowProvider):
        location = "numbers"

        def __init__(self, numbers):
            self.numbers = list(numbers)
            self.left = list(numbers)

        def capabilities(self):
            return headrace.Capabilities(reverse=True, tail=True)

        def next_row(self):
            return b"%d" % self.left.pop(0) if self.left else None

        def backwards(self):
            return Numbers(self.numbers[::-1])

    ten = headrace.open(Numbers(range(10)))
    assert ten.query("$", reverse=True, limit=3).to_list() == [9, 8, 7]
    assert headrace.open(Numbers(range(10))).query("$.rows().last(2)").to_list() == [
        8,
        9,
    ]
    with pytest.raises(UsageError, match="no end to begin from"):
        headrace.open(CsvRows(TABLE)).query("$", reverse=True)


def test_rows_of_a_provider_have_no_numbers():
    ds = headrace.open(CsvRows(TABLE))
    with pytest.raises(UsageError, match="only once, in order"):
        len(ds)
    assert list(headrace.open(CsvRows(TABLE))) == ROWS
    assert headrace.open(CsvRows(TABLE)).head(2) == ROWS[:2]


def test_rows_of_a_provider_are_read_once():
    result = headrace.open(CsvRows(TABLE)).query("id")
    assert result.to_list() == ["1", "2", "3"]
    with pytest.raises(UsageError, match="only once"):
        result.count()


@pytest.mark.parametrize(
    ("row", "error"),
    [("text", UsageError), ({"a": 1}, UsageError), (b"[1,\n2]", NotNdjsonError)],
)
def test_a_row_with_a_line_ending_is_refused(row, error):
    class Odd(headrace.RowProvider):
        location = "odd"

        def next_row(self):
            return row

    with pytest.raises(error, match="odd: "):
        headrace.open(Odd()).query("$").to_list()


# Lanes never change an answer

ROW = st.fixed_dictionaries(
    {},
    optional={
        name: st.one_of(
            st.none(),
            st.integers(-3, 3),
            st.sampled_from(["a", "b"]),
            st.lists(st.fixed_dictionaries({}, optional={"a": st.integers(0, 3)})),
            st.fixed_dictionaries({}, optional={"a": st.integers(), "b": st.none()}),
        )
        for name in "abcdx"
    },
)
QUERIES = [
    "$", "a", "$.a", "@.a", ".a", "{a, b}", "{a, c: b ?? d}", "{...@, x: 1}", "{...a}", "[a, b]",
    'f"{a} {b:>5}"', "$.a.set(b)", "$.a.set(1) | $.b.set(2)", "a.map(@.a)", "a.map(a + 1)",
    "a.filter(a > 1).len()", "a.map(x => x.a ?? b)", "has(a)", "missing(a, b)", "pick(a, b)",
    "pick(n: a)", "omit(a)", "keys()", "len()", "$.keys()", "let y = a in {y, b}", "a | @.a | len",
    "match a with {null -> b, _ -> c}", "match @ with {{a: 1, ...*r} -> r, _ -> d}", "[y.a for y in a if y.a]",
    "[a for a in b]", "$..a", "a..a", "$['a']", "$[x]", "a[b]", "try a + b else c", "a if b else c",
    "$.a.a", "a has 'x'", "b in ['a', x]", "$.entries().len()", "$ has 'a'", "get_path('a.b')",
    "patch $ { a: 1 }", "$.update({a: b})", "$.has('a')", "a == $.b", "$.a.map($.b)", "a.map([@, $.c])",
    "coalesce(a, b)", "type(a)", "a as string", "not a", "-a", "a and b or c", "[...a, b]", "{[b]: a}",
]  # fmt: skip


def outcome(query, row):
    try:
        return json.loads(evaluate(query, json.dumps(row).encode()))
    except HeadraceError:
        return "failed"


@given(row=ROW, query=st.sampled_from(QUERIES))
def test_a_row_without_the_other_fields_gives_the_same_answer(row, query):
    fields = fields_of(parse(query))
    if fields is None:
        return
    bare = {name: value for name, value in row.items() if name in fields}
    assert outcome(query, bare) == outcome(query, row)


def test_fields_are_found():
    found = {query: fields_of(parse(query)) for query in QUERIES}
    assert sum(fields is not None for fields in found.values()) >= 35
    assert found["a.map(x => x.a ?? b)"] == {"a"}
    assert found["$.a.set(b)"] is None


# Readers


def test_a_reader_must_give_bytes():
    with pytest.raises(NotNdjsonError, match="returns str, not bytes"):
        compat.collect_ndjson(io.StringIO("1\n"), "$")


def test_a_failure_of_a_reader_is_raised():
    class Failing(io.RawIOBase):
        def read(self, size=-1):
            raise ValueError("out of order")

    with pytest.raises(ValueError, match="out of order"):
        compat.collect_ndjson(Failing(), "$")


def test_a_reader_may_return_more_bytes_than_requested():
    class Generous:
        def __init__(self):
            self.pieces = [b"1\n2\n" * 100_000, b"3\n"]

        def read(self, size):
            return self.pieces.pop(0) if self.pieces else b""

    assert compat.collect_ndjson(Generous(), "$.rows().sum()") == [300_003]


def test_a_live_reader_is_not_read_beyond_the_limit():
    script = (
        "import sys, time\nprint(1, flush=True)\nprint(2, flush=True)\ntime.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE
    ) as live:
        answers = []
        compat.for_each_ndjson(live.stdout, "$ + 1", answers.append, limit=2)
        live.kill()
    assert answers == [2, 3]
