"""``headrace graph``: output, events and exit codes."""

import json
import re
import signal
import subprocess
import sys

import pytest

import headrace as package
from headrace.errors import UsageError

EVENTS = "json"

ROWS = b"""\
{"from":"C123","pred":"subClassOf","to":"C456"}
{"from":"C123","pred":"partOf","to":"C900"}
oops
{"from":"C456","pred":"subClassOf","to":"C789"}
{"from":"C900","pred":"partOf","to":"C789"}
{"from":"C789","pred":"sameAs","to":"C789"}
{"from":"C789"}
{"from":"C789","pred":"sameAs","to":7}
{"from":"lone","pred":"knows","to":"other"}
"""
NODES = [
    b'{"id":"C123","level":0}',
    b'{"id":"C456","level":1,"via":"subClassOf"}',
    b'{"id":"C900","level":1,"via":"partOf"}',
    b'{"id":"C789","level":2,"via":"subClassOf"}',
]
SEVEN = b'{"id":"7","level":3,"via":"sameAs"}'


@pytest.fixture(autouse=True)
def edges(tmp_path):
    path = tmp_path / "edges.jsonl"
    path.write_bytes(ROWS)
    return path


@pytest.fixture
def graph(headrace):
    def run(command, *arguments):
        return headrace("graph", command, "--edges", "edges.jsonl", *arguments)

    return run


@pytest.fixture
def index(edges):
    def build(**options):
        return package.GraphIndex.build(edges, "from", "pred", "to", **options).path

    return build


def names(outcome):
    return [event["event"] for event in outcome.events]


def event_named(outcome, name):
    (event,) = [event for event in outcome.events if event["event"] == name]
    return event


def from_c123(graph, *arguments):
    return graph("expand", "--seed", "C123", *arguments)


# Output


def test_nodes_as_the_plan_shows_them(graph, index):
    index()
    done = from_c123(graph, "--hops", "2")
    assert (done.code, done.rows, done.err) == (0, NODES, "")
    assert from_c123(graph).rows == [*NODES, SEVEN]
    assert from_c123(graph, "--hops", "0").rows == NODES[:1]


def test_edges_as_the_plan_shows_them(graph):
    done = from_c123(graph, "--hops", "1", "--emit-edges", "--pred", "subClassOf")
    assert done.rows == [
        b'{"type":"node","id":"C123","level":0}',
        b'{"type":"edge","from":"C123","pred":"subClassOf","to":"C456"}',
        b'{"type":"node","id":"C456","level":1}',
    ]


def test_emit_edges_prints_all_edges_and_tree_only_those_to_new_nodes(graph):
    def ends(*arguments):
        rows = map(json.loads, from_c123(graph, *arguments).rows)
        return [(row["from"], row["to"]) for row in rows if row["type"] == "edge"]

    tree = [("C123", "C456"), ("C123", "C900"), ("C456", "C789"), ("C789", "7")]
    assert ends("--tree") == tree
    others = [("C900", "C789"), ("C789", "C789")]
    assert sorted(ends("--emit-edges")) == sorted(tree + others)


def test_edges_have_any_of_the_requested_predicates(graph):
    both = from_c123(graph, "--pred", "subClassOf,partOf").rows
    assert both == from_c123(graph, "--pred", "subClassOf", "--pred", "partOf").rows
    assert both == NODES
    assert from_c123(graph, "--pred", "partOf").rows == [
        NODES[0],
        NODES[2],
        b'{"id":"C789","level":2,"via":"partOf"}',
    ]


@pytest.mark.parametrize(
    ("direction", "found"),
    [("out", ["C789", "7"]), ("in", ["C789", "C456", "C900"]), ("both", None)],
)
def test_directions(graph, direction, found):
    done = graph("expand", "--seed", "C789", "--hops", "1", "--direction", direction)
    ids = [json.loads(row)["id"] for row in done.rows]
    assert ids == (found or ["C789", "C456", "C900", "7"])


def test_a_predicate_may_have_commas(graph, edges):
    edges.write_bytes(
        b'{"from":"C123","pred":"a,b","to":"1"}\n{"from":"C123","pred":"a","to":"2"}\n'
    )
    either = from_c123(graph, "--pred-raw", "a,b", "--pred", "c,d").rows
    assert [json.loads(row)["id"] for row in either] == ["C123", "1"]
    apart = from_c123(graph, "--pred", "a,b").rows
    assert [json.loads(row)["id"] for row in apart] == ["C123", "2"]


def test_several_seeds_are_one_graph_or_each_its_own(graph):
    seeds = ("--seed", "C456", "--seed", "C900", "--seed", "C456", "--hops", "1")
    assert graph("expand", *seeds).rows == [
        b'{"id":"C456","level":0}',
        b'{"id":"C900","level":0}',
        b'{"id":"C789","level":1,"via":"subClassOf"}',
    ]
    assert graph("expand", *seeds, "--per-seed").rows == [
        b'{"id":"C456","level":0,"seed":"C456"}',
        b'{"id":"C789","level":1,"via":"subClassOf","seed":"C456"}',
        b'{"id":"C900","level":0,"seed":"C900"}',
        b'{"id":"C789","level":1,"via":"partOf","seed":"C900"}',
        b'{"id":"C456","level":0,"seed":"C456"}',
        b'{"id":"C789","level":1,"via":"subClassOf","seed":"C456"}',
    ]


def test_other_fields_and_edges_without_predicates(headrace, edges):
    edges.write_bytes(b'{"a":1,"x":{"b":"two"},"why":"so"}\n')
    command = ("graph", "expand", "--edges", "edges.jsonl", "--seed", "1")
    ends = ("--from-field", "a", "--to-field", "x.b")
    done = headrace(*command, *ends, "--pred-field", "why")
    assert done.rows[1:] == [b'{"id":"two","level":1,"via":"so"}']
    assert headrace(*command, *ends).rows[1:] == [b'{"id":"two","level":1}']
    assert headrace(*command, *ends, "--emit-edges").rows[1:] == [
        b'{"type":"edge","from":"1","to":"two"}',
        b'{"type":"node","id":"two","level":1}',
    ]
    package.GraphIndex.build(edges, "a", "why", "x.b")
    indexed = headrace(*command)
    assert (indexed.rows, indexed.err) == (done.rows, "")


# Seeds


def test_seeds_on_standard_input(process):
    rows = b'{"id":"C456"}\n\n{"id":7.0}\noops\n{"no":1}\n{"id":"C900"}\n'
    arguments = ("graph", "expand", "--edges", "edges.jsonl", "--seed-field", "id")
    done = process(*arguments, "--hops", "0", stdin=rows)
    ids = [json.loads(row)["id"] for row in done.rows]
    assert (done.code, ids) == (0, ["C456", "7", "C900"])
    skipped = event_named(done, "seeds_skipped")
    assert skipped["skipped"] == 2
    assert [row["line"] for row in skipped["first_skipped"]] == [4, 5]


def test_strict_seeds(process, index):
    index()
    arguments = ("graph", "expand", "--edges", "edges.jsonl", "--seed-field", "id")
    done = process(*arguments, "--strict", stdin=b'{"id":"C456"}\noops\n')
    assert done.code == 1
    assert "line 2" in done.err


def test_each_seed_is_answered_when_it_comes(start, index):
    index()
    command = ("graph", "expand", "--edges", "edges.jsonl", "--seed-field", "id")
    child = start(*command, "--per-seed", "--hops", "0")
    for seed in ("C456", "C900"):
        child.stdin.write(b'{"id":"%s"}\n' % seed.encode())
        answer = json.loads(child.stdout.readline())
        assert answer == {"id": seed, "level": 0, "seed": seed}
    child.stdin.close()
    assert child.wait() == 0


def test_missing_seeds_and_predicates_are_events(graph, index):
    index()
    done = graph("expand", "--seed", "absent", "--seed", "C123", "--pred", "no,partOf")
    assert done.code == 0
    assert done.rows[0] == b'{"id":"absent","level":0}'
    assert event_named(done, "seed_not_found")["id"] == "absent"
    assert event_named(done, "predicate_not_found")["pred"] == "no"
    apart = graph("expand", "--seed", "a", "--seed", "b", "--pred", "no", "--per-seed")
    assert names(apart).count("predicate_not_found") == 1


# Bounds


@pytest.mark.parametrize("command", [("expand", "--seed", "C123"), ("stats",)])
def test_a_file_without_edges_is_reported_with_its_fields(graph, command):
    done = graph(*command, "--from-field", "source", "--to-field", "target")
    assert done.code == 0
    event = event_named(done, "no_edges_indexed")
    assert (event["from"], event["pred"], event["to"]) == ("source", None, "target")
    assert event["message"].endswith("fields of the first rows: from, pred, to")


@pytest.mark.parametrize("command", ["stats", "expand"])
def test_an_index_without_edges_is_reported_with_the_fields_of_the_file(
    graph, edges, command
):
    package.GraphIndex.build(edges, "form", "pred", "to")
    seed = ["--seed", "C123"] if command == "expand" else []
    found = graph(command, "--json" if command == "stats" else "--emit-edges", *seed)
    assert found.code == 0
    assert "index_fallback" not in names(found)
    event = event_named(found, "no_edges_indexed")
    assert event["message"].endswith("fields of the first rows: from, pred, to")


def test_the_fields_of_an_unreadable_index_default_to_from_pred_and_to(graph, index):
    path = index()
    path.write_bytes(path.read_bytes()[:20])
    found = graph("expand", "--seed", "C123", "--hops", "1")
    assert found.rows == NODES[:3]
    event = event_named(found, "index_corrupt")
    assert (
        "edges are taken to be of from, pred, to: name the fields" in event["message"]
    )
    found = graph("expand", "--seed", "C123", "--hops", "1", "--from-field", "from", "--pred-field", "pred", "--to-field", "to")  # fmt: skip
    event = event_named(found, "index_corrupt")
    assert "taken to be" not in event["message"]


def test_a_predicate_without_a_predicate_field_is_explained(graph):
    done = from_c123(
        graph, "--from-field", "from", "--to-field", "to", "--pred", "pred"
    )
    assert (
        "--pred-field names its field"
        in event_named(done, "predicate_not_found")["message"]
    )


def test_limits_and_caps_are_reported(graph, index):
    index()
    done = from_c123(graph, "--limit", "2")
    assert done.rows == NODES[:2]
    assert event_named(done, "expand_truncated")["limit"] == 2
    capped = from_c123(graph, "--most-edges", "1")
    assert [json.loads(row)["id"] for row in capped.rows] == ["C123", "C456", "C789"]
    assert event_named(capped, "edges_capped")["nodes"] == 2
    assert names(from_c123(graph, "--limit", "5", "--most-edges", "2")) == []
    apart = graph("expand", "--seed", "C123", "--per-seed", "--limit", "1")
    assert event_named(apart, "expand_truncated")["seed"] == "C123"


# Accesses to edges


def scanned(outcome):
    return "index_fallback" in names(outcome)


def test_a_graph_index_comes_first_then_key_indexes_then_a_scan(graph, index, edges):
    def path(*arguments):
        done = from_c123(graph, "--stats", *arguments)
        assert done.rows[:4] == NODES
        stats = event_named(done, "graph_stats")
        assert stats["nodes"] == len(done.rows)
        planned = from_c123(graph, "--explain", *arguments)
        how = {"graph": "its graph index", "keys": "key indexes", "scan": "a scan"}
        assert f"by {how[stats['path']]}, since " in planned.out.decode()
        return stats["path"], scanned(done)

    assert path() == ("scan", True)
    package.KeyIndex.build(edges, "from")
    assert path() == ("keys", False)
    graph_index = index()
    assert path() == ("graph", False)
    assert path("--no-index") == ("scan", False)
    graph_index.unlink()
    assert path() == ("keys", False)


def test_the_plan_alone_reads_no_edges(graph, index, edges, monkeypatch):
    from headrace.engines.local import index_build

    def never(*_arguments):
        raise AssertionError

    monkeypatch.setattr(index_build, "scan_fragment", never)
    plan = from_c123(graph, "--explain")
    assert (plan.code, names(plan)) == (0, [])
    assert plan.out.startswith(b"edges.jsonl: edges are reached by a scan, since ")
    monkeypatch.undo()
    monkeypatch.chdir(edges.parent)
    path = index()
    with edges.open("ab") as file:
        file.write(b'{"from":"C123","pred":"p","to":"new"}\n')
    monkeypatch.setattr(index_build, "scan_fragment", never)
    reached, file = from_c123(graph, "--explain").out.decode().splitlines()
    assert "by its graph index, since" in reached
    assert "has grown" in reached
    assert file == f"index: {path.name}"


def test_strict_wants_an_index(graph, index):
    done = from_c123(graph, "--require-index")
    assert (done.code, done.out) == (1, b"")
    assert "--graph" in done.events[-1]["message"]
    index()
    assert from_c123(graph, "--require-index").rows == [*NODES, SEVEN]
    backwards = graph(
        "expand", "--seed", "C789", "--direction", "in", "--require-index"
    )
    assert backwards.code == 1
    assert "--incoming" in backwards.events[-1]["message"]


def test_stale_and_damaged_indexes_change_nothing(graph, index, edges):
    path = index()
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[at] ^= 1
        path.write_bytes(damaged)
        done = from_c123(graph, "--emit-edges")
        path.write_bytes(whole)
        again = from_c123(graph, "--emit-edges")
        assert (done.rows, again.err) == (again.rows, ""), at
        if done.err:
            assert names(done) == ["index_corrupt", "index_fallback"], at
    edges.write_bytes(ROWS.replace(b"C456", b"C457"))
    stale = from_c123(graph)
    assert names(stale) == ["index_stale", "index_fallback"]
    assert json.loads(stale.rows[1])["id"] == "C457"


@pytest.mark.parametrize(
    ("damage", "event"),
    [
        pytest.param(lambda index: index[:-1], "index_corrupt", id="damaged"),
        pytest.param(lambda index: index, "index_stale", id="stale"),
    ],
)
def test_an_unused_key_index_is_reported(graph, edges, damage, event):
    made = package.KeyIndex.build(edges, "from").path
    made.write_bytes(damage(made.read_bytes()))
    if event == "index_stale":
        edges.write_bytes(ROWS.replace(b"lone", b"LONE"))
    done = from_c123(graph)
    assert done.rows == [*NODES, SEVEN]
    assert names(done) == [event, "index_fallback"]
    assert event_named(done, event)["index"].endswith("edges.jsonl.jnx")


def test_a_scan_is_reported_before_it_begins(graph, monkeypatch):
    def no_scan(*_):
        raise UsageError("scanned")

    monkeypatch.setattr("headrace.api.graph.access.build_aside", no_scan)
    assert names(from_c123(graph)) == ["index_fallback", "error"]


def test_an_interrupt_on_the_way(start, edges):
    """All edges lead to the same node: nothing is printed on the way."""
    edges.write_bytes(b'{"from":"a","pred":"p","to":"b"}\n' * 1_000_000)
    package.GraphIndex.build(edges, "from", "pred", "to")
    seeds = ("--seed-field", "id", "--per-seed")
    child = start("graph", "expand", "--edges", edges, *seeds)
    for _ in range(2):
        child.stdin.write(b'{"id":"a"}\n')
        assert child.stdout.readline() == b'{"id":"a","level":0,"seed":"a"}\n'
        assert child.stdout.readline().startswith(b'{"id":"b","level":1')
    child.stdin.write(b'{"id":"a"}\n' * 1000)
    child.send_signal(signal.SIGINT)
    assert child.wait(60) == 130


@pytest.mark.parametrize("where", [-40, 20], ids=["its end", "its beginning"])
def test_a_damaged_delta_is_reported_and_its_rows_are_scanned(
    graph, index, edges, where
):
    with edges.open("ab") as file:
        file.write(b'{"from":"C123","pred":"partOf","to":"new"}\n')
    path = index()
    with edges.open("ab") as file:
        file.write(b'{"from":"C456","pred":"partOf","to":"newer"}\n')
    assert package.GraphIndex.update(edges).mode == "incremental"
    delta = path.with_name(f"{path.name}.delta")
    data = bytearray(delta.read_bytes())
    data[where] ^= 255
    delta.write_bytes(data)
    found = graph("expand", "--seed", "C456", "--hops", "1")
    assert found.rows[-1] == b'{"id":"newer","level":1,"via":"partOf"}'
    event = event_named(found, "index_corrupt")
    assert event["index"] == delta.name
    assert event_named(found, "index_stale")["kind"] == "grown"


def test_a_file_that_has_grown_needs_its_new_rows_only(graph, index, edges):
    index()
    with edges.open("ab") as file:
        file.write(b'{"from":"C123","pred":"partOf","to":"new"}\n')
    done = from_c123(graph, "--hops", "1")
    assert done.rows == [*NODES[:3], b'{"id":"new","level":1,"via":"partOf"}']
    assert event_named(done, "index_fallback")["message"].endswith(
        "new rows are scanned"
    )


# Forms


STRANGE = [
    'quo"te',
    "back\\",
    "a\\nb",
    "line\nfeed",
    "",
    " ",
    "nul\0",
    "\x1b[2J",
    "<b>&lt;&amp;</b>",
    "#35;",
    "`x`",
    "end",
    "é → 漢",
    "\u2028",
    "]}",
    "1. list",
    "%%{init}%%",
]


@pytest.fixture
def strange(edges):
    rows = [{"from": "s", "pred": name, "to": name} for name in STRANGE]
    edges.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.usefixtures("strange")
def test_graphviz_gets_any_name(graph):
    from headrace.api.formats.printable import printable

    first, *lines, last = (
        graph("expand", "--seed", "s", "--format", "dot").out.decode()[:-1].split("\n")
    )
    assert (first, last) == ("digraph {", "}")
    shown = []
    for line in lines:
        label = line.partition("[label=")[2].removesuffix("];") or '""'
        assert label.isprintable()
        # Graphviz reads first the quotes, then the escapes and entities of a label.
        assert label[0] == label[-1] == '"'
        inner = label[1:-1]
        text, at = "", 0
        while at < len(inner):
            assert inner[at] != '"'
            at += inner[at] == "\\"
            text += inner[at]
            at += 1
        shown.append(text.replace("&amp;", "&"))
    expected = ["s"]
    for name in STRANGE:
        expected += [printable(name)] * 2
    assert shown == expected
    assert len({line.split()[0] for line in lines}) == len(STRANGE) + 1


@pytest.mark.usefixtures("strange")
def test_mermaid_gets_any_name(graph):
    import re

    from headrace.api.formats.printable import printable

    done = graph("expand", "--seed", "s", "--format", "mermaid").out.decode()
    first, *lines = done[:-1].split("\n")
    assert first == "graph LR"
    line = (
        r'  n\d+(?:\["([^"#<>&`\\]|#\d+;)+"\]| -->(?:\|"([^"#<>&`\\]|#\d+;)+"\|)? n\d+)'
    )
    shown = []
    for each in lines:
        assert re.fullmatch(line, each), each
        text = each.partition('"')[2].rpartition('"')[0]
        shown.append(re.sub(r"#(\d+);", lambda code: chr(int(code[1])), text))
    expected = ["s"]
    for name in STRANGE:
        expected += [printable(name), printable(name) or " "]
    assert shown == expected


def test_format_tree_draws_a_tree(graph):
    done = from_c123(graph, "--format", "tree", "-q")
    assert done.out.decode() == (
        "C123\n"
        "├─ subClassOf → C456\n"
        "│  └─ subClassOf → C789\n"
        "│     └─ sameAs → 7\n"
        "└─ partOf → C900\n"
    )
    back = graph(
        "expand", "--seed", "7", "--seed", "x", "--direction", "in", "--hops", "2"
    )
    assert len(back.rows) == 5
    tree = graph(
        *("expand", "--seed", "7", "--seed", "x", "--direction", "in", "--hops", "2"),
        *("--format", "tree"),
    )
    assert tree.out.decode() == (
        "7\n└─ sameAs ← C789\n   ├─ subClassOf ← C456\n   └─ partOf ← C900\nx\n"
    )


def test_a_deep_tree(graph, edges):
    rows = [b'{"from":%d,"pred":"p","to":%d}\n' % (n, n + 1) for n in range(3000)]
    edges.write_bytes(b"".join(rows))
    done = graph("expand", "--seed", "0", "--format", "tree")
    assert (done.code, len(done.rows)) == (0, 3001)


# Paths


WAY = [
    b'{"type":"node","id":"C123","level":0}',
    b'{"type":"edge","from":"C123","pred":"subClassOf","to":"C456"}',
    b'{"type":"node","id":"C456","level":1}',
    b'{"type":"edge","from":"C456","pred":"subClassOf","to":"C789"}',
    b'{"type":"node","id":"C789","level":2}',
]


def test_the_shortest_way(graph, index):
    index(incoming=True)
    done = graph("path", "C123", "C789", "--stats")
    assert (done.code, done.rows) == (0, WAY)
    assert event_named(done, "graph_stats")["edges"] == 2
    assert graph("path", "C123", "C123").rows == WAY[:1]
    back = graph("path", "C789", "C900", "--direction", "in", "--pred", "partOf")
    assert back.rows[1:2] == [
        b'{"type":"edge","from":"C900","pred":"partOf","to":"C789"}'
    ]
    drawn = graph("path", "C456", "C789", "--format", "tree")
    assert drawn.out.decode() == "C456\n└─ subClassOf → C789\n"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["C789", "C123"], id="against the edges"),
        pytest.param(["C123", "other"], id="another component"),
        pytest.param(["C123", "C789", "--hops", "1"], id="too far"),
        pytest.param(["C123", "C789", "--pred", "sameAs"], id="other predicates"),
    ],
)
def test_no_path_is_success_unless_a_match_is_required(graph, arguments):
    done = graph("path", *arguments, "--no-index")
    assert (done.code, done.out) == (0, b"")
    event = event_named(done, "no_path")
    assert [event["from"], event["to"]] == arguments[:2]
    assert "seed_not_found" not in names(done)
    assert graph("path", *arguments, "--require-match").code == 1


def test_no_path_to_a_missing_node(graph):
    done = graph("path", "C123", "absent")
    assert (done.code, done.out) == (0, b"")
    assert event_named(done, "seed_not_found")["id"] == "absent"
    itself = graph("path", "absent", "absent", "--format", "tree")
    assert itself.out == b"absent\n"
    assert event_named(itself, "seed_not_found")["id"] == "absent"


# Numbers


def test_stats_for_programs(graph, index):
    scanned = graph("stats", "--json")
    assert json.loads(scanned.out) == {
        "nodes": 7,
        "edges": 7,
        "loops": 1,
        "predicates": {"partOf": 2, "sameAs": 2, "subClassOf": 2, "knows": 1},
        "out": {"histogram": {"0": 2, "1": 3, "2": 2}, "most": 2, "most_node": "C123"},
        "in": {"histogram": {"0": 2, "1": 4, "2": 1}, "most": 3, "most_node": "C789"},
        "components": 2,
        "largest_component": 5,
    }
    index()
    indexed = graph("stats", "--json")
    assert (indexed.out, indexed.err) == (scanned.out, "")


def test_stats_with_key_indexes_report_the_scan(graph, edges):
    for field in ("from", "to"):
        package.KeyIndex.build(edges, field)
    found = graph("stats", "--json")
    event = event_named(found, "index_fallback")
    assert event["message"] == "edges.jsonl: there is no graph index, so it is scanned"
    assert found.out == graph("stats", "--json", "--no-index").out


def test_a_count_of_one_is_singular(headrace, edges):
    edges.write_bytes(b'{"from":"a","pred":"p","to":"a"}\n')
    fields = ("--from-field", "from", "--pred-field", "pred", "--to-field", "to")
    built = headrace("index", "build", "edges.jsonl", "--graph", *fields)
    event = event_named(built, "build_complete")
    assert event["message"].startswith("edges.jsonl.jnx.graph: 1 edge, 1 node, 1 predicate, ")  # fmt: skip
    stats = headrace("graph", "stats", "--edges", "edges.jsonl")
    assert stats.rows[0].endswith(b"the largest of 1 node")


def test_stats_for_people(graph):
    lines = graph("stats", "-q").out.decode().splitlines()
    assert lines[0] == (
        "nodes 7 / edges 7 / loops 1 / components 2, the largest of 5 nodes"
    )
    assert "incoming edges: at most 3, of C789" in lines
    assert f"              1         4 {'#' * 40}" in lines


def test_stats_of_an_empty_graph(graph, edges):
    edges.write_bytes(b"")
    done = graph("stats", "--json")
    assert json.loads(done.out)["nodes"] == 0
    assert graph("stats").code == 0


# Intact indexes that do not fit the query


@pytest.mark.parametrize(
    ("arguments", "reason", "build"),
    [
        (
            ["--from-field", "from", "--to-field", "pred"],
            "it is of the fields from, pred, to",
            "--graph --from-field from --to-field pred --force",
        ),
        (
            ["--direction", "in"],
            "it has no incoming edges",
            "--graph --from-field from --pred-field pred --to-field to --incoming",
        ),
    ],
)
def test_a_good_index_that_does_not_fit_the_question_is_not_called_damaged(
    graph, index, arguments, reason, build
):
    index()
    done = from_c123(graph, *arguments)
    assert done.code == 0
    assert "index_unfit" in names(done)
    assert not {"index_corrupt", "index_stale"} & {*names(done)}
    assert event_named(done, "index_fallback")["reason"] == "other"
    assert reason in event_named(done, "index_unfit")["message"]
    strict = from_c123(graph, *arguments, "--require-index")
    assert strict.code == 1
    advice = f"run `headrace index build edges.jsonl {build}`"
    assert advice in event_named(strict, "error")["message"]


def test_the_advised_command_builds_the_required_index(headrace, graph, index):
    index()
    strict = from_c123(graph, "--direction", "in", "--require-index")
    command = re.search("`headrace (.*)`", event_named(strict, "error")["message"])[1]
    assert headrace(*command.split()).code == 0
    assert from_c123(graph, "--direction", "in", "--require-index").code == 0


def test_both_ends_named_as_in_the_index_are_the_edges_of_the_index(graph, index):
    index()
    ends = ("--from-field", "from", "--to-field", "to")
    done = from_c123(graph, *ends, "--require-index")
    assert (done.code, done.rows) == (0, [*NODES, SEVEN])


# With others


def test_the_output_of_expand_can_be_joined(headrace, edges, on_path):
    nodes = edges.with_name("nodes.jsonl")
    nodes.write_bytes(b'{"id":"C456","name":"cat"}\n{"id":7,"name":"seven"}\n')
    line = (
        "headrace graph expand --edges edges.jsonl --seed C123 -q"
        " | headrace join nodes.jsonl --on id --text-keys"
    )
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=edges.parent,
        env=on_path,
        capture_output=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        b'{"id":"C456","level":1,"via":"subClassOf","name":"cat"}',
        b'{"id":"7","level":3,"via":"sameAs","name":"seven"}',
    ]


def test_edges_in_shards(headrace, edges):
    with package.ShardWriter(edges.with_name("one")) as writer:
        writer.write_lines(ROWS.replace(b"oops", b"[]"))
    done = headrace("graph", "expand", "--edges", "one", "--seed", "C123")
    assert done.rows == [*NODES, SEVEN]


def test_edges_in_several_shards(headrace, edges):
    with package.ShardWriter(
        edges.with_name("set"), max_bytes=100, block_bytes=50
    ) as writer:
        for line in ROWS.replace(b"oops", b"[]").splitlines(keepends=True):
            writer.write_lines(line)
    assert len(package.open(edges.with_name("set")).sources) > 3
    done = headrace("graph", "expand", "--edges", "set", "--seed", "C123")
    assert done.rows == [*NODES, SEVEN]
    assert names(done) == ["index_fallback"]
    assert event_named(done, "index_fallback")["reason"] == "several"
    strict = headrace(
        "graph", "expand", "--edges", "set", "--seed", "1", "--require-index"
    )
    assert strict.code == 1
    assert "set: a graph index is of one file" in strict.err
    assert "headrace query '$' set > edges.jsonl" in strict.err
    plan = headrace("graph", "expand", "--edges", "set", "--seed", "1", "--explain")
    assert b"by a scan" in plan.out


def test_edges_in_a_log(headrace, edges):
    with package.LogWriter(edges.with_name("log")) as log:
        for line in ROWS.splitlines():
            if line.startswith(b"{"):
                log.append(line)
    done = headrace("graph", "expand", "--edges", "log", "--seed", "C123")
    assert done.rows == [*NODES, SEVEN]


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_compressed_edges_without_seeking_are_scanned(headrace, compressed, codec):
    path = compressed(codec, ROWS, "packed.jsonl")
    done = headrace("graph", "expand", "--edges", path, "--seed", "C123")
    assert done.rows == [*NODES, SEVEN]
    assert scanned(done)


def test_a_closed_pipe_is_not_a_failure(edges):
    rows = [b'{"from":0,"pred":"p","to":%d}\n' % n for n in range(50_000)]
    edges.write_bytes(b"".join(rows))
    script = (
        "python -m headrace graph expand --edges edges.jsonl --seed 0 -q | head -n 1"
    )
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", script.replace("python", sys.executable, 1)],
        cwd=edges.parent,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b'{"id":"0","level":0}\n'


# Command lines


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["expand", "--seed", "a"], "--edges"),
        (["expand", "--edges", "edges.jsonl"], "--seed"),
        (
            ["expand", "--edges", "edges.jsonl", "--seed", "a", "--from-field", "f"],
            "both ends",
        ),
        (
            [
                "expand",
                "--edges",
                "edges.jsonl",
                "--seed",
                "a",
                "--require-index",
                "--no-index",
            ],
            "--no-index",
        ),
        (
            [
                *("expand", "--edges", "edges.jsonl", "--seed", "a"),
                *("--per-seed", "--format", "dot"),
            ],
            "one picture",
        ),
        (["expand", "--edges", "-", "--seed", "a"], "save it"),
        (["expand", "--edges", "edges.jsonl", "--seed", "\udcff"], "UTF-8"),
    ],
)
def test_invalid_command_lines(headrace, arguments, said):
    done = headrace("graph", *arguments)
    assert done.code == 2
    assert said in done.err


def test_a_missing_file(headrace):
    done = headrace("graph", "expand", "--edges", "none.jsonl", "--seed", "a")
    assert done.code == 1
    assert "none.jsonl" in done.err
