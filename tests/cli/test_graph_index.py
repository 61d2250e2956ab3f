"""``headrace index ... --graph``: output, events and exit codes."""

import json

import pytest

EVENTS = "json"

ROWS = b"""\
{"from":"C123","pred":"subClassOf","to":"C456"}
oops
{"from":"C456","pred":"subClassOf","to":"C1"}
{"from":"C1","to":"C2"}
{"from":"C9","pred":"partOf","to":"C1"}
{"from":"C9","pred":"partOf","to":"C8"}
{"from":"C9","pred":"partOf","to":"C7"}
"""
FIELDS = ("--from-field", "from", "--pred-field", "pred", "--to-field", "to")


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.jsonl"
    path.write_bytes(ROWS)
    return path


@pytest.fixture
def index(headrace, edges):
    done = headrace("index", "build", "edges.jsonl", "--graph", *FIELDS, "--incoming")
    assert done.code == 0
    return edges.with_name("edges.jsonl.jnx.graph")


def run(headrace, command, *arguments):
    return headrace("index", command, "edges.jsonl", "--graph", *arguments)


def append(path, data):
    with path.open("ab") as file:
        file.write(data)


def test_build_reports_indexed_and_skipped_lines(headrace, edges):
    done = run(headrace, "build", *FIELDS, "--errors", "left.jsonl")
    assert (done.code, done.out) == (0, b"")
    start, complete = done.events
    assert (start["event"], start["source"]) == ("build_start", "edges.jsonl")
    assert (start["from"], start["pred"], start["to"]) == ("from", "pred", "to")
    assert complete["event"] == "build_complete"
    assert complete["index"] == "edges.jsonl.jnx.graph"
    assert (complete["records"], complete["nodes"], complete["predicates"]) == (5, 6, 2)
    assert complete["causes"] == {"bad": 1, "missing": 1}
    size = edges.with_name("edges.jsonl.jnx.graph").stat().st_size
    assert (complete["version"], complete["size_bytes"]) == (1, size)
    left = edges.with_name("left.jsonl").read_text().splitlines()
    assert [json.loads(row)["line"] for row in left] == [2, 4]


def test_a_mistyped_field_is_reported_with_the_fields_of_the_file(headrace, edges):
    assert edges.exists()
    done = run(headrace, "build", "--from-field", "form", "--to-field", "to")
    assert done.code == 0
    assert done.events[1]["event"] == "no_edges_indexed"
    assert "from, pred, to" in done.events[1]["message"]


def test_a_larger_version_is_chosen_and_reported(headrace, edges):
    append(edges, b'{"from":"%s","pred":"p","to":"x"}\n' % (b"y" * 70_000))
    done = run(headrace, "build", *FIELDS)
    upgraded = done.events[1]
    assert upgraded["event"] == "format_upgraded"
    assert (upgraded["from"], upgraded["to"]) == (1, 2)
    assert upgraded["reason"] == "id_length"
    assert run(headrace, "build", *FIELDS, "--index-version", "1").code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["build", "--graph"], "--from-field FIELD", id="no fields"),
        pytest.param(
            ["build", "--graph", "--from-field", "a"], "--to-field FIELD", id="no end"
        ),
        pytest.param(
            ["build", "--on", "a", "--from-field", "b"], "--graph", id="of a key"
        ),
        pytest.param(
            ["build", "--graph", "--on", "a", *FIELDS], "leave --graph out", id="both"
        ),
        pytest.param(
            ["build", "--graph", "--from-field", "a", "--to-field", "a"],
            "each field once",
            id="one",
        ),
        pytest.param(["check", "--graph", "--on", "a"], "leave --on out", id="key"),
    ],
)
def test_invalid_command_lines(headrace, edges, arguments, said):
    command, *rest = arguments
    done = headrace("index", command, str(edges), *rest)
    assert done.code == 2
    assert said in done.err


def test_strict_building_names_the_bad_line(headrace, edges):
    done = run(headrace, "build", *FIELDS, "--strict")
    assert done.code == 1
    assert "line 2" in done.err
    assert not edges.with_name("edges.jsonl.jnx.graph").exists()


@pytest.mark.usefixtures("edges")
@pytest.mark.parametrize("command", ["check", "stats", "update", "compact"])
def test_check_and_stats_report_a_missing_index(headrace, command):
    as_json = ["--json"] * (command in ("check", "stats"))
    done = run(headrace, command, *as_json)
    assert done.code == 1
    assert [json.loads(row) for row in done.rows] == (command == "check") * [
        {
            "valid": False,
            "fresh": False,
            "reason": "missing",
            "detail": "there is no graph index",
            "index": "edges.jsonl.jnx.graph",
        }
    ]
    assert "there is no graph index" in done.err
    assert "--graph --from-field" in done.err


def test_check_reports_the_state_of_the_index(headrace, edges, index):
    done = run(headrace, "check", "--deep", "--json")
    assert done.code == 0
    assert json.loads(done.out) == {
        "valid": True,
        "fresh": True,
        "index": index.name,
        "edges": 5,
        "nodes": 6,
        "size_bytes": index.stat().st_size,
    }
    edges.write_bytes(ROWS.replace(b"C8", b"C9"))
    done = run(headrace, "check", "--json")
    assert (done.code, json.loads(done.out)["reason"]) == (1, "source_modified")
    index.write_bytes(index.read_bytes()[:-1])
    done = run(headrace, "check", "--json")
    assert (done.code, json.loads(done.out)["reason"]) == (1, "corrupt")


@pytest.mark.usefixtures("edges")
def test_stats(headrace, index):
    found = json.loads(run(headrace, "stats", "--json").out)
    assert (found["type"], found["version"], found["reverse"]) == ("graph", 1, True)
    assert [found[name] for name in ("from", "pred", "to")] == ["from", "pred", "to"]
    assert (found["edges"], found["nodes"], found["predicates"]) == (5, 6, 2)
    assert found["skipped"] == {"bad": 1, "missing": 1}
    assert found["index_size_bytes"] == index.stat().st_size


def test_new_edges_are_indexed_and_both_become_one(headrace, edges, index):
    append(edges, b'{"from":"C7","pred":"partOf","to":"C1"}\n')
    done = run(headrace, "update")
    (event,) = done.events
    assert (done.code, event["mode"], event["new_records"]) == (0, "incremental", 1)
    found = json.loads(run(headrace, "stats", "--json").out)
    assert (found["edges"], found["nodes"], found["delta"]["edges"]) == (6, None, 1)
    assert run(headrace, "update").events[0]["mode"] == "none"
    compacted = run(headrace, "compact").events[0]
    assert compacted["event"] == "index_compacted"
    assert (compacted["records"], compacted["nodes"]) == (6, 6)
    assert run(headrace, "compact").events[0]["mode"] == "none"
    assert not index.with_name(index.name + ".delta").exists()


def test_compact_has_a_memory_limit(headrace, edges, index):
    append(edges, b'{"from":"C7","pred":"partOf","to":"C1"}\n')
    run(headrace, "update")
    done = run(headrace, "compact", "--memory", "1MiB")
    assert done.events[0]["event"] == "index_compacted"
    one = index.read_bytes()
    run(headrace, "build", *FIELDS, "--incoming")
    assert index.read_bytes() == one
    keys = headrace("index", "compact", "edges.jsonl", "--memory", "1MiB")
    assert (keys.code, "is for --graph" in keys.err) == (2, True)


@pytest.mark.usefixtures("index")
def test_index_get_advises_graph_expand(headrace):
    done = run(headrace, "get", "--eq", "C1")
    assert done.code == 2
    assert "headrace graph expand --edges FILE --seed ID --hops 1" in done.err


def test_a_file_that_was_changed_needs_more(headrace, edges, index):
    edges.write_bytes(ROWS.replace(b"C8", b"C9"))
    done = run(headrace, "update")
    (event,) = done.events
    assert (done.code, event["mode"]) == (1, "full_required")
    assert "update edges.jsonl --graph --full" in event["message"]
    before = index.read_bytes()
    done = run(headrace, "update", "--full")
    assert (done.code, done.events[0]["mode"]) == (0, "full")
    assert index.read_bytes() != before
