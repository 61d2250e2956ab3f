"""Arrow tables of any answers equal those of a slow construction."""

import json
import re

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.api.formats import Layout, arrow
from headrace.api.formats.arrow import MisfitError
from tests.reference.slow_tables import (
    first_misfit,
    has_empty_objects,
    same_json,
    slow_table,
)

NAMES = ["a", "b", "value", "é\n", "", "long name of a field", *"cdefghij"]
TEXTS = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(
    ["NaN", "1.5", "2024-01-01", "null", "{}"]
)


def written(text):
    return json.dumps(text, ensure_ascii=False)


strings = TEXTS.map(written) | TEXTS.map(json.dumps)
small = st.integers(-5, 5).map(str)
wide = st.sampled_from([1 << 53, (1 << 53) + 1, -(1 << 63), (1 << 63) - 1]).map(str)
decimals = st.sampled_from(
    [
        "0.5",
        "-0.0",
        "1e3",
        "1E-7",
        "123456789.123456789",
        "1.7976931348623157e308",
        "-0",
    ]
) | st.floats(allow_nan=False, allow_infinity=False).map(repr)
huge = st.sampled_from([str(1 << 63), "9" * 50, "1e400", "-1e309"])
scalars = {
    "boolean": st.sampled_from(["true", "false"]),
    "small": small,
    "wide": small | wide,
    "decimal": decimals | small,
    "string": strings,
}
spaces = st.sampled_from(["", "", " ", "\t"])


def arrays_of(values):
    return st.lists(values, max_size=3).map(lambda parts: f"[{', '.join(parts)}]")


def objects_of(pairs):
    """Objects of some of these pairs of key and value, in any order, with repeated keys."""
    some = st.lists(st.one_of(pairs), max_size=len(pairs) + 1)
    return st.tuples(some, spaces).map(
        lambda parts: "{" + f",{parts[1]}".join(parts[0]) + parts[1] + "}"
    )


def pair(name, values):
    key = st.sampled_from([written(name), json.dumps(name)])
    return st.tuples(key, spaces, values).map(
        lambda parts: f"{parts[0]}:{parts[1]}{parts[2]}"
    )


def containers(values):
    pairs = [pair(name, values) for name in NAMES[:4]]
    return arrays_of(values) | objects_of(pairs)


anything = st.recursive(
    st.one_of(st.just("null"), huge, *scalars.values()), containers, max_leaves=5
)


@st.composite
def kinds(draw, depth=0):
    """Values that usually have a common type."""
    choice = draw(st.sampled_from([*scalars, "array", "object", "null", "any"]))
    if choice == "null":
        return st.just("null")
    if choice == "any" or (depth > 2 and choice in ("array", "object")):
        return anything
    if choice == "array":
        return arrays_of(draw(kinds(depth + 1)))
    if choice == "object":
        names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=4))
        pairs = [pair(name, draw(kinds(depth + 1))) for name in names]
        return objects_of(pairs) if pairs else st.just("{}")
    common = scalars[choice]
    return st.one_of(common, common, common, st.just("null"))


@st.composite
def answers(draw):
    """Lines of answers, usually with columns of one kind each."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=9))
    pairs = [pair(name, draw(kinds())) for name in names]
    rows = objects_of(pairs)
    odd = st.one_of(st.just("null"), st.just("{}"), draw(kinds()), anything)
    lines = draw(st.lists(st.one_of(rows, rows, rows, odd), max_size=10))
    return [line.encode() for line in lines]


def table_of(lines, **options):
    notes = []
    layout = Layout(notes.append, **options)
    return arrow.as_table(iter([line + b"\n" for line in lines]), layout), notes


def is_json(field):
    return (field.metadata or {}).get(b"headrace") == b"json"


def expect(table, lines):
    """Compare a table with the slow one: columns, types, values."""
    table.validate(full=True)
    fields, rows = slow_table(lines)
    assert table.column_names == [name for name, _of in fields]
    assert table.num_rows == len(lines)
    texts = set()
    for (name, of), field in zip(fields, table.schema, strict=True):
        # A column of nulls is JSON text, which has no value then.
        texts |= {name} if of is None or of == pa.null() else set()
        assert is_json(field) == (name in texts)
        assert field.type == (pa.string() if name in texts else of), name
    for found, wanted in zip(table.to_pylist(), rows, strict=True):
        for name, value in wanted.items():
            if name in texts and value is not None:
                assert same_json(found[name], value)
            else:
                assert repr(found[name]) == repr(value)


@given(lines=answers(), size=st.sampled_from([1, 20, 100, 10_000]))
@example([b'{"a":1}', b'{"a":9007199254740993}', b'{"a":0.5}'], 1)
@example([b'{"a":{}}', b'{"a":{"b":null}}', b'{"a":{"b":{}}}', b'{"a":null}'], 1)
@example(
    [b'{"a":null}', b"7", b'{"value":"x"}', b"null", b'{"b":[]}', b'{"b":[[1]]}'], 1
)
@example([b'{"a":1,"a":"x"}', b'{"a":"y","\\u0061":2,"b":{"c":"x","c":1}}'], 1)
@example([b"[" * n + b"]" * n for n in (1, 32, 33)], 1)
@example([b'{"a":"x"}', b'{"a":{"b":"\\u00e9\\/","b":1}}'], 1)
def test_tables_of_any_answers(lines, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrow, "BATCH_BYTES", size)
        table, notes = table_of(lines)
        expect(table, lines)
        for kept in (0, 30, 1000):
            made_notes = []
            found = arrow.batches(
                iter([line + b"\n" for line in lines]),
                Layout(made_notes.append),
                kept_bytes=kept,
            )
            assert pa.Table.from_batches(found[1], found[0]).equals(table)
            assert made_notes == notes
    named = [
        re.fullmatch(
            r"the column (.+) is written as JSON text: .* \(answer (\d+)\)",
            note,
            re.DOTALL,
        )
        for note in notes
    ]
    mixed = [name for name, of in slow_table(lines)[0] if of is None]
    assert [each[1] for each in named] == list(map(repr, mixed))
    if not has_empty_objects(lines):
        firsts = [first_misfit(lines, name) for name in mixed]
        assert [int(each[2]) for each in named] == firsts


@given(lines=answers())
def test_a_table_of_its_own_schema_is_the_same(lines):
    table, _notes = table_of(lines)
    again, notes = table_of(lines, schema=table.schema)
    assert again.equals(table)
    assert notes == []


@given(lines=answers(), other=answers())
def test_a_given_schema_stores_values_exactly_or_refuses_them(lines, other):
    schema = table_of(lines)[0].schema
    try:
        table, _notes = table_of(other, schema=schema)
    except MisfitError as error:
        before = other[: error.answer - 1]
        table, _notes = table_of(before, schema=schema)
        with pytest.raises(MisfitError):
            table_of([other[error.answer - 1]], schema=schema)
        other = before
    assert table.schema.equals(schema, check_metadata=True)
    # Accepted values equal those of inferred types, where types agree.
    own, _notes = table_of(other)
    for field in own.schema:
        column = own.column(field.name)
        if field.name in schema.names and schema.field(field.name).equals(
            field, check_metadata=True
        ):
            assert table.column(field.name).equals(column)
        elif field.name not in schema.names:
            assert column.null_count == len(column), "a value was lost"


@given(
    lines=st.lists(st.integers(0, 10**6).map(lambda n: b"%d\n" % n), max_size=30),
    cuts=st.lists(st.integers(0, 30)),
    size=st.integers(1, 40),
)
def test_batches_do_not_depend_on_the_pieces(lines, cuts, size):
    cuts = sorted(cuts)
    pieces = [
        b"".join(lines[start:end])
        for start, end in zip([0, *cuts], [*cuts, len(lines)], strict=True)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrow, "BATCH_BYTES", size)
        groups = list(arrow._groups(iter(pieces)))
        assert groups == list(arrow._groups(iter(lines)))
    assert b"".join(groups) == b"".join(lines)
    assert all(group.endswith(b"\n") for group in groups)
    assert all(len(group) >= size for group in groups[:-1])
