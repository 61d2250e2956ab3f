"""Pipelines as TOML files: valid files, and errors for invalid ones."""

import tomllib

import pytest

from headrace.errors import SourceNotFoundError, UsageError
from headrace.pipeline import (
    Dedupe,
    GraphIndex,
    Join,
    KeyIndex,
    Output,
    Pipeline,
    SetIndex,
    Sort,
    Source,
    Transform,
    Validate,
)
from headrace.pipeline.spec import INDEX_KINDS, KINDS, fields_of
from headrace.pipeline.toml import pipeline_of, template

WHOLE = """
name = "events"
directory = "out"
memory = "64MiB"

[source]
paths = ["raw/*.jsonl", "more"]
max_line = "1MiB"
partition_bytes = "8MiB"
batch_bytes = 1_000_000
wait_for_newline = true

[names]
users = "users.jsonl"

[[stage]]
kind = "validate"
required = ["id", "user.name"]
types = { id = "integer", at = "timestamp" }
rules = ["ms >= 0"]
max_bytes = "64KiB"

[[stage]]
kind = "transform"
query = "{id, day: at[:10]}"

[[stage]]
kind = "join"
with = "users"
on = "user == id"
how = "lookup"
as = "who"
shuffle = true

[[stage]]
kind = "dedupe"
key = "id"
keep = "last"

[[stage]]
kind = "sort"
by = ["day", "id"]
descending = true

[output]
codec = "gzip"
level = 9
block_bytes = "128KiB"
max_bytes = "64MiB"
max_records = 1000
max_logical_bytes = "1GiB"
partition_by = "day"

[[index]]
kind = "key"
key = ["day", "id"]
unique = true
compact = true

[[index]]
kind = "set"
key = "id"
unique = true

[[index]]
kind = "graph"
from = "id"
to = "user"
pred = "day"
reverse = true
"""


def test_a_file_and_its_python_are_the_same(tmp_path):
    path = tmp_path / "events.toml"
    path.write_text(WHOLE)
    assert Pipeline.from_toml(path) == Pipeline(
        "events",
        "out",
        Source(["raw/*.jsonl", "more"], "1MiB", "8MiB", 1_000_000, True),
        [
            Validate(
                ["id", "user.name"],
                {"id": "integer", "at": "timestamp"},
                ["ms >= 0"],
                "64KiB",
            ),
            Transform("{id, day: at[:10]}"),
            Join("users", "user == id", "lookup", "who", shuffle=True),
            Dedupe("id", "last"),
            Sort(["day", "id"], descending=True),
        ],
        {"users": "users.jsonl"},
        Output("gzip", 9, "128KiB", "64MiB", 1000, "1GiB", "day"),
        "64MiB",
        str(tmp_path),
        [
            KeyIndex(["day", "id"], unique=True, compact=True),
            SetIndex("id", unique=True),
            GraphIndex("id", "user", "day", reverse=True),
        ],
    )


def test_every_field_is_in_that_file():
    table = tomllib.loads(WHOLE)
    assert set(table["source"]) == {field.name for field in fields_of(Source)}
    assert set(table["output"]) == {field.name for field in fields_of(Output)}
    stages = {stage["kind"]: set(stage) - {"kind"} for stage in table["stage"]}
    assert stages == {
        kind.name: {field.name for field in kind.fields} for kind in KINDS
    }
    indexes = {index["kind"]: set(index) - {"kind"} for index in table["index"]}
    assert indexes == {
        kind.name: {field.name for field in kind.fields} for kind in INDEX_KINDS
    }


def test_the_template_is_valid_with_and_without_its_comments():
    text = template("events")
    assert pipeline_of(tomllib.loads(text)).stages == [Validate()]
    begin, behind = text.split("\n[source]\n")
    shown = [line.removeprefix("# ") for line in behind.split("\n")]
    said = [line for line in shown if line[:1] == "[" or " = " in line]
    whole = pipeline_of(tomllib.loads(begin + "\n[source]\n" + "\n".join(said)))
    assert [type(stage) for stage in whole.stages] == [kind.make for kind in KINDS]
    kinds = [kind.make for kind in INDEX_KINDS]
    assert [type(index) for index in whole.indexes] == kinds


SMALL = 'name = "p"\ndirectory = "o"\n[source]\npaths = "a"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name", "it is not TOML: Expected '=' after a key"),
        ('directory = "o"', "`name` is missing"),
        ('name = "p"\ndirectory = "o"', "`source` is missing"),
        ('name = "p"\ndirectory = "o"\nsource = 1', "source is 1; must be a table"),
        (
            'name = 1\ndirectory = "o"\n[source]\npaths = "a"',
            "name is 1; must be a text",
        ),
        (
            SMALL.replace('"p"', '"1 p"'),
            "name '1 p': must have letters, digits, - and _",
        ),
        (SMALL.replace('"o"', '""'), "directory is empty"),
        (
            SMALL.replace('"o"', '"s3://bucket/o"'),
            "directory is s3://bucket/o; a pipeline needs one on a file system",
        ),
        (SMALL.replace('paths = "a"', ""), "source: `paths` is missing: files, globs"),
        (SMALL.replace('"a"', "[]"), "paths is empty; there is nothing to read"),
        (SMALL.replace('"a"', "[1]"), "source: paths is 1; must be a text"),
        (SMALL + 'path = "b"', "source: there is no `path`; there are paths, max_line"),
        (SMALL + 'max_line = "big"', "source: max_line: not a size: 'big'"),
        (SMALL + "max_line = true", "max_line is True; must be a size such as '64MiB'"),
        (SMALL + 'max_line = "0"', "source: max_line is 0; must be at least 1"),
        ("stages = []\n" + SMALL, "there is no `stages`; there are name, directory"),
        (SMALL + "[[index]]", "index 1: has no `kind`; there are key, set, graph"),
        (
            SMALL + '[[index]]\nkind = "key"\nkey = []',
            "index 1: name at least one field",
        ),
        (
            SMALL + '[[index]]\nkind = "graph"\nfrom = "a"\nto = "a"',
            "index 1: name at least one field, each only once",
        ),
        (
            SMALL + '[[index]]\nkind = "key"\nkey = "a"\n' * 2,
            "index 2: an earlier index is the same",
        ),
        (SMALL + "[[stage]]", "stage 1: has no `kind`; there are validate, transform"),
        (SMALL + '[[stage]]\nkind = "mend"', "stage 1: kind 'mend' is not known"),
        (SMALL + '[[stage]]\nkind = "transform"', "stage 1 (transform): `query` is mi"),
        (
            SMALL + '[[stage]]\nkind = "transform"\nquery = "{id"',
            "stage 1 (transform): line 1, column 4: a query cannot end here",
        ),
        (
            SMALL + '[[stage]]\nkind = "transform"\nquery = "$.rows().sort(a)"',
            "it needs more than one row at a time",
        ),
        (
            SMALL + '[[stage]]\nkind = "transform"\nquery = "$.rows().join(@u, on: a)"',
            "@u is not one of [names]; there is none",
        ),
        (
            SMALL + '[[stage]]\nkind = "validate"\ntypes = { a = "text" }',
            "types.a is 'text'; must be one of string, number",
        ),
        (
            SMALL + '[[stage]]\nkind = "validate"\nrequired = ["a..b"]',
            "'a..b' is no path",
        ),
        (
            SMALL + '[[stage]]\nkind = "validate"\nrules = ["a >"]',
            "stage 1 (validate): line 1, column 4: a query cannot end here",
        ),
        (
            SMALL + '[[stage]]\nkind = "dedupe"\nkey = "id"\nkeep = "any"',
            "stage 1 (dedupe): keep is 'any'; must be one of first, last",
        ),
        (SMALL + '[[stage]]\nkind = "dedupe"\nkey = []', "a key is missing"),
        (
            SMALL + '[[stage]]\nkind = "sort"\nby = "a"\ndescending = 1',
            "stage 1 (sort): descending is 1; must be true or false",
        ),
        (
            SMALL + '[output]\ncodec = "lz4"',
            "output: codec is 'lz4'; must be one of zstd",
        ),
        (SMALL + "[output]\nmax_records = 0", "output: max_records 0"),
        (SMALL + '[output]\npartition_by = "a..b"', "output: partition_by 'a..b'"),
        (SMALL + '[output]\nlevel = "9"', "output: level is '9'; must be an integer"),
        (SMALL + '[names]\n"a b" = "c"', "'a b' cannot be used as @a b in a query"),
        (SMALL + "[names]\na = []", "names: a is empty; there is nothing to read"),
        (
            SMALL + '[stage]\nkind = "sort"\nby = "a"',
            "stage must be an array of tables; write [[stage]]",
        ),
        (
            SMALL + '[[stage]]\nkind = "validate"\ntypes.user.name = "string"',
            'types.user is a table; write a path in quotes: "user.name"',
        ),
        (
            SMALL + '[[stage]]\nkind = "validate"\nrequired = "$.a"',
            "'$.a' is no path; write a field, or user.name",
        ),
        (
            SMALL + '[[stage]]\nkind = "sort"\nby = ["a", ""]',
            "stage 1 (sort): line 1, column 1: the query is empty",
        ),
        (
            SMALL + '[[stage]]\nkind = "join"\nwith = "u"\non = "a"',
            "stage 1 (join): 'u' is not one of [names]; there is none",
        ),
        (
            SMALL
            + '[names]\nu = "u"\n[[stage]]\nkind = "join"\nwith = "u"\n'
            + 'on = "a).filter(b"\nshuffle = true',
            "stage 1 (join): on is 'a).filter(b'; must be a key, or `left == right`",
        ),
    ],
)
def test_mistakes_are_reported_with_their_place(tmp_path, text, said):
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        Pipeline.from_toml(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file(tmp_path):
    with pytest.raises(SourceNotFoundError):
        Pipeline.from_toml(tmp_path / "nothing.toml")
