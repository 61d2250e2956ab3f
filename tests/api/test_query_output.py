"""Output of queries: formats, files, data frames, and rows without an answer."""

import base64
import csv
import gzip
import io
import json
import pickle
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import headrace
from headrace.api.formats import (
    CODECS,
    FORMATS,
    Layout,
    arrow,
    load,
    target,
)
from headrace.api.formats import (
    parquet as parquet_format,
)
from headrace.api.formats.arrow import MisfitError, TooManyColumnsError
from headrace.api.formats.first_rows import FIRST_ROWS, LateColumnError
from headrace.api.formats.table import columns_of
from headrace.errors import MissingExtraError, SpoolError, UsageError
from headrace.kernel.rows import codecs


@pytest.fixture
def ask(tmp_path):
    """Return a function that runs a query over rows [default: `$`]."""

    def ask(rows, query="$", **options):
        path = tmp_path / "rows.jsonl"
        lines = [
            row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows
        ]
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        return headrace.query(query, path, **options)

    return ask


def text(result, name):
    return b"".join(result.formatted(name)).decode()


def records(written):
    """Read CSV as Python does: the header, and the records."""
    return list(csv.reader(io.StringIO(written, newline="")))


def parquet(result):
    return pq.read_table(io.BytesIO(b"".join(result.formatted("parquet"))))


MANY = [{"n": n, "text": f"row {n}"} for n in range(3000)]


# The table of formats


def test_every_format_has_a_module_and_a_description():
    assert len(FORMATS) == len({each.name for each in FORMATS}) == 7
    for each in FORMATS:
        assert callable(load(each))
        assert each.doc[0].islower()


def test_every_codec_of_the_core_can_be_written():
    assert sorted(CODECS.values()) == sorted(set(codecs()) - {"none"})


@pytest.mark.parametrize(
    ("path", "format", "chosen"),
    [
        ("a.jsonl", None, ("ndjson", "none")),
        ("a.NDJSON", None, ("ndjson", "none")),
        ("a.json.xz", None, ("json", "xz")),
        ("a.csv.bz2", None, ("csv", "bzip2")),
        ("a.parquet", None, ("parquet", "none")),
        ("a.parquet", "csv", ("csv", "none")),
        ("a.gz", "table", ("table", "gzip")),
        ("a", "json", ("json", "none")),
    ],
)
def test_the_file_name_chooses_format_and_codec(path, format, chosen):
    found = target(path, format)
    assert (found.format.name, found.codec) == chosen


@pytest.mark.parametrize(
    ("path", "format", "said"),
    [
        ("a.xlsx", None, "which format"),
        ("a", None, "which format"),
        ("a.gz", None, "which format"),
        ("a.parquet.gz", None, "compressed inside"),
        ("a.csv", "xml", "there are ndjson, json, raw, table, csv, tsv, parquet"),
    ],
)
def test_a_file_name_without_a_known_format_is_refused(path, format, said):
    with pytest.raises(UsageError, match=said):
        target(path, format)


# JSON


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([], id="none"),
        pytest.param([{"a": [1, {"b": "é\n\u2028"}]}], id="one"),
        pytest.param([1, "x", None, [1], {"a": 1}, {"b": 2}], id="mixed"),
        pytest.param(MANY, id="many"),
    ],
)
def test_json_is_the_array_of_the_answers(ask, rows):
    result = ask(rows, nulls="emit")
    assert json.loads(text(result, "json")) == rows
    assert [json.loads(line) for line in text(result, "ndjson").splitlines()] == rows


def test_json_of_one_value_is_an_array_too(ask):
    assert text(ask(MANY, "$.count()", stream=True), "json") == "[\n3000\n]\n"


def test_values_that_pass_through_keep_their_text(ask):
    rows = [b'{"a":   1.50}', b'{"a": 12345678901234567890.10}']
    both = ",\n".join(row.decode() for row in rows)
    assert text(ask(rows), "json") == f"[\n{both}\n]\n"
    assert text(ask(rows), "csv") == "a\r\n1.50\r\n12345678901234567890.10\r\n"


# CSV


def test_csv(ask):
    result = ask(
        [
            {"a": 1, "b": 'x,"y"\r\nz', "c": [1, "two"]},
            {"a": None, "b": "", "d": {"e": None}},
            {},
            {"b": "恵美", "a": True, "c": -0.0},
        ]
    )
    written = text(result, "csv")
    assert written == (
        "a,b,c,d\r\n"
        '1,"x,""y""\r\nz","[1,""two""]",\r\n'
        ',"",,"{""e"":null}"\r\n'
        ",,,\r\n"
        "true,恵美,-0.0,\r\n"
    )
    assert records(written)[1][:2] == ["1", 'x,"y"\r\nz']


@pytest.mark.parametrize(
    ("rows", "query", "written"),
    [
        pytest.param([], "$", "", id="no answers, no columns"),
        pytest.param([], "{a, b}", "a,b\r\n", id="no answers, columns of the query"),
        pytest.param([1, "x", [2]], "$", "value\r\n1\r\nx\r\n[2]\r\n", id="scalars"),
        pytest.param([{}, {}], "$", 'value\r\n""\r\n""\r\n', id="empty objects"),
        pytest.param([{"a": ""}, {}], "$", 'a\r\n""\r\n""\r\n', id="one column"),
        pytest.param([{"a": 1}, 7], "$", "a,value\r\n1,\r\n,7\r\n", id="both"),
        pytest.param([{'a"b': 1, "": 2}], "$", '"a""b",""\r\n1,2\r\n', id="names"),
        pytest.param([{"a": 1}], "{b: a, a?}", "b,a\r\n1,1\r\n", id="order"),
    ],
)
def test_csv_columns(ask, rows, query, written):
    assert text(ask(rows, query), "csv") == written


def test_nulls_are_csv_rows_of_empty_cells(ask):
    result = ask([{"a": 1, "b": 2}, None, {"b": 3}], nulls="emit")
    assert text(result, "csv") == "a,b\r\n1,2\r\n,\r\n,3\r\n"


LATE = [*({"a": n} for n in range(FIRST_ROWS)), {"b": 1}, {"a": 2}]


def test_a_late_column_is_never_dropped(ask):
    written = []
    with pytest.raises(LateColumnError, match="answer 1001 has a column 'b'") as raised:
        written.extend(ask(LATE).formatted("csv"))
    assert b"".join(written).count(b"\r\n") == 1 + FIRST_ROWS, "those before it stand"
    assert "{id, name, size}" in str(raised.value)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("{a, b}", {}),
        ("{a, b} if true else null", {}),
        ("$.rows().map({a, b})", {}),
        ("$.map({a, b}).filter(true).take(5000)", {"stream": True}),
        ("$.map(x => {a: x.a, b: x.b}).sort(a)", {"stream": True}),
        ("{a: $.map(a).sum(), b: $.count()}", {"stream": True}),
    ],
)
def test_columns_that_the_query_names_are_known_from_the_start(ask, query, options):
    header, *rows = records(text(ask(LATE, query, **options), "csv"))
    assert header == ["a", "b"]
    assert {len(row) for row in rows} == {2}
    if "sum" not in query:
        assert len(rows) == len(LATE)
        assert ["", "1"] in rows


@pytest.mark.parametrize(
    "query", ["{a, ...$}", '{["a"]: 1}', "$.rows().map({a}).map($)", "{a} if a else $"]
)
def test_columns_not_named_by_the_query_come_from_the_rows(ask, query):
    rows = records(text(ask([{"a": 1, "b": 2}], query), "csv"))
    assert rows[0] == [name for name in ("a", "b") if name in rows[0]]


def test_an_array_of_a_row_is_one_answer(ask):
    for options in ({}, {"distinct_by": "xs"}):
        result = ask([{"xs": [{"a": 1}, 2]}], "$.xs", **options)
        assert text(result, "csv") == '"{""a"":1}",2\r\n'


def test_columns_do_not_depend_on_how_the_rows_were_read(ask, tmp_path):
    """The first batch is small, and does not alone decide the header."""
    rows = [{"a": n} for n in range(500)] + [{"b": 1}]
    assert text(ask(rows), "csv").startswith("a,b\r\n")
    rows = [{"a": "x" * 3000} for _ in range(999)] + [{"b": 1}]
    with pytest.raises(LateColumnError, match="answer 1000 "):
        text(ask(rows), "csv")


# Tables


def test_table(ask):
    result = ask(
        [
            {"id": 1, "name": "恵美", "note": "a\x1b[2Jb\n"},
            {"id": 200, "name": "", "tags": [1]},
        ]
    )
    assert text(result, "table") == (
        " id  name  note         tags\n"
        "---  ----  -----------  ----\n"
        "  1  恵美  a\\x1b[2Jb\\n\n"
        '200  ""                 [1]\n'
    )
    assert result.notes == []


def test_a_table_without_rows_is_empty_text(ask):
    assert text(ask([]), "table") == ""


def test_columns_of_a_table_grow_with_later_values(ask):
    result = ask(
        [*({"a": 1, "b": 2} for _ in range(1000)), {"a": 12345, "b": 3}, {"a": 1}]
    )
    lines = text(result, "table").splitlines()
    assert lines[-3:] == ["1  2", "12345  3", "    1"]
    assert result.notes == []


def test_a_table_reports_what_it_does_not_show(ask):
    result = ask([{"a": "x" * 50}, *({"a": 1} for _ in range(999)), {"b": 1}])
    lines = text(result, "table").splitlines()
    assert lines[2] == "x" * 39 + "…"
    assert len(lines) == 2 + 1001
    assert result.notes == [
        "1 values are longer than shown",
        "not shown, because the first 1000 answers do not have them: b",
    ]


@pytest.mark.parametrize("width", [1, 5, 12, 20, 79])
def test_a_table_fits_its_terminal(ask, width):
    rows = [{f"column {n}": "wide 恵美 text " * n for n in range(12)}]
    later = [*({} for _ in range(1000)), {"column 0": "longer than before"}]
    result = ask([*rows, *later])
    shown = b"".join(result.formatted("table", width=width)).decode()
    assert max(map(columns_of, shown.splitlines())) <= width
    assert "for want of room: column " in "".join(result.notes)


# Arrow and Parquet


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        pytest.param([True, None], pa.bool_(), id="booleans"),
        pytest.param([1, None, -(1 << 63)], pa.int64(), id="integers"),
        pytest.param([1, 2.5], pa.float64(), id="numbers"),
        pytest.param(["", "é", None], pa.string(), id="text"),
        pytest.param([[1], [], None], pa.list_(pa.int64()), id="arrays"),
        pytest.param([[[]], [[1.5]]], pa.list_(pa.list_(pa.float64())), id="nested"),
        pytest.param(
            [{"x": 1, "y": None}, {"x": None, "y": "z"}],
            pa.struct([("x", pa.int64()), ("y", pa.string())]),
            id="objects",
        ),
    ],
)
def test_a_type_that_holds_every_value(ask, column, kind):
    rows = [{"c": value} for value in column]
    result = ask(rows)
    for table in (parquet(result), result.to_arrow()):
        assert table.schema.field("c").type == kind
        assert table.column("c").to_pylist() == column
    assert result.notes == []


@pytest.mark.parametrize(
    ("column", "texts", "why"),
    [
        pytest.param([1, "x"], ["1", '"x"'], "c is integer and text", id="mixed"),
        pytest.param([1 << 63], ["9223372036854775808"], "more than 64 bits", id="big"),
        pytest.param(
            [(1 << 53) + 1, 0.5],
            ["9007199254740993", "0.5"],
            "c is 64-bit integer and decimal",
            id="no double",
        ),
        pytest.param([b"1e400"], ["1e400"], "beyond every double", id="no number"),
        pytest.param([{}], ["{}"], "an object without fields", id="empty"),
        pytest.param(
            [{"d": [1, True]}], ['{"d":[1,true]}'], "c.d[] is integer", id="inside"
        ),
        pytest.param(
            [{str(n): n for n in range(1001)}], None, "1000 fields", id="dictionary"
        ),
    ],
)
def test_a_column_without_a_type_is_json(ask, column, texts, why):
    rows = [
        b'{"c": %s}' % (each if isinstance(each, bytes) else json.dumps(each).encode())
        for each in column
    ]
    result = ask(rows)
    table = parquet(result)
    assert table.schema.field("c").type == pa.string()
    assert len(result.notes) == 1
    assert why in result.notes[0]
    if texts is not None:
        assert table.column("c").to_pylist() == texts
        assert result.to_arrow().column("c").to_pylist() == texts


@pytest.mark.parametrize("rows", [[], [{}], [None], [1, None], MANY])
def test_a_table_has_a_row_for_each_answer(ask, rows):
    result = ask(rows, nulls="emit")
    assert parquet(result).num_rows == result.to_arrow().num_rows == len(rows)


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(arrow, "BATCH_BYTES", 1000)


def test_row_groups_are_bounded(ask, small_batches, monkeypatch):
    monkeypatch.setattr(parquet_format, "GROUP_BYTES", 1000)
    result = ask(MANY)
    written = b"".join(result.formatted("parquet"))
    file = pq.ParquetFile(io.BytesIO(written))
    assert file.num_row_groups > 10
    assert file.read().to_pylist() == MANY
    assert result.to_arrow().to_pylist() == MANY
    assert pa.table(result).to_pylist() == MANY


INT, STRUCT = pa.int64(), pa.struct([("x", pa.int64())])


@pytest.mark.parametrize(
    ("value", "a", "o"),
    [
        pytest.param({"a": 1.5}, pa.float64(), STRUCT, id="decimal"),
        pytest.param({"a": "x"}, "JSON", STRUCT, id="text"),
        pytest.param(
            {"o": {"new": 1}}, INT, pa.struct([*STRUCT, ("new", INT)]), id="field"
        ),
        pytest.param({"o": {"x": [1]}}, INT, "JSON", id="element"),
        pytest.param({"b": {"c": [0]}}, INT, STRUCT, id="column"),
    ],
)
def test_types_fit_late_values_too(ask, small_batches, value, a, o):
    rows = [{"a": 1, "o": {"x": 2}} for _ in range(100)]
    result = ask([*rows, value])
    for table in (parquet(result), result.to_arrow(), pa.table(result)):
        assert table.num_rows == 101
        for name, of in (("a", a), ("o", o)):
            field = table.schema.field(name)
            assert field.type == (pa.string() if of == "JSON" else of)
            assert bool(field.metadata) == (of == "JSON")
        texts = {"a": "1", "o": '{"x":2}'}
        kept = {"a": 1, "o": {"x": 2} | dict.fromkeys(value.get("o", {}))}
        for name, of in (("a", a), ("o", o)):
            first = texts[name] if of == "JSON" else kept[name]
            if name == "o" and of == STRUCT:
                first = {"x": 2}
            assert table.column(name)[0].as_py() == first
    assert table.column_names == ["a", "o", *(name for name in value if name == "b")]
    mixed = [name for name, of in (("a", a), ("o", o)) if of == "JSON"]
    assert len(result.notes) == len(mixed)
    assert all("(answer 101)" in note for note in result.notes)


def test_a_column_that_is_null_in_all_answers(ask, small_batches):
    result = ask([{"a": n, "b": None, "c": {"d": None}} for n in range(500)])
    assert result.to_arrow().schema.field("b").type == pa.string()
    assert result.to_arrow().schema.field("c").type == pa.struct([("d", pa.null())])
    assert parquet(result).column("b").null_count == 500
    assert result.notes == []


GIVEN = pa.schema(
    [("t", pa.timestamp("us", "UTC")), ("n", pa.int32()), ("x", pa.decimal128(5, 2))]
)


def test_given_types(ask, tmp_path, small_batches):
    rows = [b'{"n": 7, "t": "2024-02-29T12:00:00Z", "x": 1.50}', b"{}"] * 200
    result = ask(rows)
    table = result.to_arrow(GIVEN)
    assert table.schema == GIVEN
    assert str(table.to_pylist()[0]["t"]) == "2024-02-29 12:00:00+00:00"
    assert str(table.column("x")[0]) == "1.50"
    assert table.to_pylist()[1] == {"t": None, "n": None, "x": None}
    assert result.write(tmp_path / "given.parquet", schema=GIVEN) == 400
    assert pq.read_table(tmp_path / "given.parquet").equals(table)
    with pytest.raises(UsageError, match="csv has no types"):
        result.write(tmp_path / "given.csv", schema=GIVEN)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"n": 1 << 31}, "n is 2147483648, which does not fit int"),
        ({"n": "1"}, 'n is "1", which does not fit int'),
        ({"x": 1.505}, "x is 1.505, which does not fit decimal"),
        ({"t": "yesterday"}, 't is "yesterday", which does not fit timestamp'),
        ({"new": None}, "no column has the field new"),
        (7, "it is no object, and there is no column value"),
    ],
)
def test_a_value_outside_of_the_given_types_is_an_error(ask, small_batches, row, said):
    result = ask([*({"n": n} for n in range(300)), row, {"n": "x"}])
    with pytest.raises(MisfitError, match="answer 301 ") as raised:
        result.to_arrow(GIVEN)
    assert said in str(raised.value)
    with pytest.raises(MisfitError, match="answer 301 "):
        result.write(io.BytesIO(), "parquet", schema=GIVEN)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_a_given_column_may_refuse_nulls_or_be_json(ask):
    whole = pa.schema([pa.field("n", pa.int64(), nullable=False)])
    with pytest.raises(MisfitError, match=r"answer 2 .*column n is not nullable"):
        ask([{"n": 1}, {}]).to_arrow(whole)
    text = pa.schema([pa.field("n", pa.string(), metadata={"headrace": "json"})])
    rows = [{"n": 1}, {"n": "x"}, {"n": [None]}]
    texts = ["1", '"x"', "[null]"]
    assert ask(rows).to_arrow(text).column("n").to_pylist() == texts
    with pytest.raises(UsageError, match="column n cannot be"):
        ask(rows).to_arrow(pa.schema([("n", pa.time64("us"))]))


def test_lines_that_do_not_stay_in_memory_are_in_a_file(ask, tmp_path, monkeypatch):
    rows = [{"a": n} for n in range(300)] + [{"a": "x"}]

    def made():
        lines = iter([b"%s\n" % json.dumps(row).encode() for row in rows])
        schema, parts = arrow.batches(lines, Layout(print), kept_bytes=500)
        return pa.Table.from_batches(parts, schema)

    monkeypatch.setattr(arrow, "BATCH_BYTES", 200)
    assert made().equals(ask(rows).to_arrow())
    monkeypatch.setenv("HEADRACE_SPOOL_DIR", str(tmp_path / "missing"))
    with pytest.raises(SpoolError, match=r"missing: .*HEADRACE_SPOOL_DIR"):
        made()


def test_too_many_columns_are_refused(ask, monkeypatch):
    monkeypatch.setattr(arrow, "MOST_COLUMNS", 3)
    with pytest.raises(TooManyColumnsError, match="4 columns"):
        ask([{"a": 1, "b": 1, "c": 1, "d": 1}]).to_arrow()


def test_polars(ask):
    polars = pytest.importorskip("polars")
    frame = ask(MANY).to_polars()
    assert frame.to_dicts() == MANY
    assert polars.DataFrame(ask(MANY)).equals(frame)


def test_a_data_set_is_an_arrow_stream(ask, tmp_path):
    ask(MANY)
    rows = headrace.open(tmp_path / "rows.jsonl")
    assert pa.table(rows).to_pylist() == MANY
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(rows).to_dicts() == MANY
    assert polars.from_arrow(rows).struct.unnest().to_dicts() == MANY


def test_duckdb_reads_variables(ask, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    result = ask(MANY)
    rows = headrace.open(tmp_path / "rows.jsonl")
    assert len(rows) == result.count()
    for name in ("rows", "result"):
        sums = duckdb.sql(f"select sum(n), count(*) from {name}").fetchall()
        assert sums == [(4498500, 3000)]
        texts = duckdb.sql(f"select text from {name} where n = 7").fetchall()
        assert texts == [("row 7",)]


def test_pandas(ask):
    pandas = pytest.importorskip("pandas")
    frame = ask([{"a": (1 << 53) + 1}, {"a": None}]).to_pandas()
    assert frame["a"].dtype == pandas.Int64Dtype()
    assert frame["a"][0] == (1 << 53) + 1


@pytest.mark.parametrize(
    ("package", "use", "cure"),
    [
        ("pandas", lambda result: result.to_pandas(), "headrace[pandas]"),
        ("polars", lambda result: result.to_polars(), "headrace[polars]"),
        ("pyarrow", lambda result: result.to_arrow(), "headrace[arrow]"),
        ("pyarrow", lambda result: result.formatted("parquet"), "headrace[arrow]"),
    ],
)
def test_a_missing_package_is_named_with_its_cure(ask, monkeypatch, package, use, cure):
    monkeypatch.setitem(sys.modules, package, None)
    for name in ("headrace.api.formats.arrow", "headrace.api.formats.parquet"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(MissingExtraError) as raised:
        use(ask([1]))
    assert str(raised.value) == (
        f"{package} is not installed; run: pip install '{cure}'"
    )


# Files


@pytest.mark.parametrize("ending", ["", *CODECS])
def test_a_file_is_compressed_as_its_name_says(ask, tmp_path, ending):
    path = tmp_path / f"out.jsonl{ending}"
    result = ask(MANY)
    assert result.write(path) == 3000
    assert headrace.open(path).sources[0].codec == CODECS.get(ending, "none")
    assert list(headrace.open(path)) == MANY
    first = path.read_bytes()
    result.write(path)
    assert path.read_bytes() == first


def test_compressed_files_are_read_by_other_tools(ask, tmp_path):
    ask(MANY).write(tmp_path / "a.csv.gz")
    ask(MANY).write(tmp_path / "a.json.zst")
    lines = gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).split(b"\r\n")
    assert len(lines) == 1 + 3000 + 1
    packed = (tmp_path / "a.json.zst").read_bytes()
    assert json.loads(zstandard.ZstdDecompressor().stream_reader(packed).read()) == MANY


def test_a_file_appears_whole_or_not_at_all(ask, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(LateColumnError):
        ask(LATE).write(folder / "out.csv")
    assert list(folder.iterdir()) == []
    (folder / "out.csv").write_text("before")
    with pytest.raises(LateColumnError):
        ask(LATE).write(folder / "out.csv")
    assert [path.read_text() for path in folder.iterdir()] == ["before"]


def test_the_source_of_a_query_can_be_its_output(ask, tmp_path):
    path = tmp_path / "rows.jsonl"
    assert ask(MANY, "$.n").write(path) == 3000
    assert list(headrace.open(path)) == list(range(3000))


def test_a_link_stays_a_link(ask, tmp_path):
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "file.jsonl")
    ask([1]).write(tmp_path / "link.jsonl")
    assert (tmp_path / "link.jsonl").is_symlink()
    assert (tmp_path / "file.jsonl").read_bytes() == b"1\n"


@pytest.mark.parametrize("path", ["/dev/null", "."])
def test_a_path_that_is_not_a_regular_file_is_refused(ask, path):
    with pytest.raises(UsageError, match="name a file"):
        ask([1]).write(path, "ndjson")


def test_a_full_disk_is_reported_and_leaves_no_file(ask, tmp_path):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    (tmp_path / "out").mkdir()
    result = ask(MANY)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        with pytest.raises(OSError, match="too large") as raised:
            result.write(tmp_path / "out/out.jsonl")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert raised.value.filename == str(tmp_path / "out/out.jsonl")
    assert list((tmp_path / "out").iterdir()) == []


# Rows that have no answer


BAD = [
    b'{"a": 1}',
    b'{"a": ',
    b'{"a": "x"}',
    b'"\xff"',
    b"",
    b'"' + b"y" * 2000 + b'"',
    b'{"a": 2}',
]


def test_bad_rows_go_to_a_file(ask, tmp_path):
    ask(BAD)
    path, bad = tmp_path / "rows.jsonl", tmp_path / "bad.jsonl"
    dataset = headrace.open(path, max_line=1000)
    for reverse in (False, True):
        result = dataset.query("a * 2", on_error="collect", errors=bad, reverse=reverse)
        assert sorted(result.to_list()) == [2, 4]
        rows = list(headrace.open(bad))
        if reverse:
            rows.reverse()
        assert [(row["line"], row["offset"]) for row in rows] == [
            (2, 15),
            (3, 16),
            (4, 28),
            (6, 32),
        ]
        assert {row["file"] for row in rows} == {str(path)}
        assert rows[0]["raw"] == '{"a": '
        assert rows[1] == {
            "file": str(path),
            "line": 3,
            "offset": 16,
            "reason": rows[1]["reason"],
            "column": 1,
            "raw": '{"a": "x"}',
        }
        assert base64.b64decode(rows[2]["raw_base64"]) == b'"\xff"'
        assert not {"raw", "raw_base64"} & set(rows[3])
        stats = result.stats
        assert (stats.bad, stats.skipped, len(stats.errors)) == (4, 4, 4)
        assert stats.rows == 7 == stats.emitted + stats.skipped + stats.blank


def test_bad_rows_go_to_a_function(ask):
    met = []
    result = ask([b"bad"] * 50, on_error="collect", errors=met.append)
    assert result.count() == 0
    assert [row.error.line for row in met] == list(range(1, 51))
    assert {row.raw for row in met} == {b"bad"}
    assert (result.stats.bad, len(result.stats.errors)) == (50, 10), "few are held"


def test_a_run_that_fails_leaves_no_file_of_bad_rows(ask, tmp_path):
    bad = tmp_path / "bad.jsonl"
    result = ask([b"bad", *({"a": n} for n in range(2000)), {"b": 1}],
                 on_error="collect", errors=bad)  # fmt: skip
    with pytest.raises(LateColumnError):
        text(result, "csv")
    del result
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_errors_without_on_error_collect_is_refused(ask, tmp_path):
    with pytest.raises(UsageError, match="collect"):
        ask([1], errors=tmp_path / "bad.jsonl")


# The result


def test_a_result_explains_itself(ask):
    result = ask(MANY, "$.rows().take(3)")
    assert result.explain().startswith("all rows, from the first to the last")
    assert result.stats.rows == 0
    assert result.count() == 3
    assert result.stats.emitted == 3


def test_an_answer_may_be_deeper_than_rows(ask):
    (answer,) = ask([b"[" * 256 + b"]" * 256], "[[$]]")
    assert json.dumps(answer) == "[" * 258 + "]" * 258


def test_query_is_the_function_whatever_was_imported():
    import headrace.language.parser

    assert headrace.query is headrace.api.query.query


@pytest.mark.parametrize(
    "query",
    ["$.rows().map(n)", "$.rows().filter(n > 9)", "$.rows()", "$.rows().sort(n)"],
)
def test_json_of_a_stream_is_one_array(ask, query):
    rows = [b'{"n": 1}', b'{"n": 2}']
    text = b"".join(
        headrace.open(io.BytesIO(b"\n".join(rows))).query(query).formatted("json")
    )
    assert json.loads(text) == ask(rows, query).to_list()
