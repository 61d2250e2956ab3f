"""Lineage: the events of a run, compared with the tables of docs/formats/lineage.md."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from headrace.errors import SourceNotFoundError, UnwritableError, UsageError
from headrace.pipeline import Join, Pipeline, Source, Transform, Validate
from tests.docs.markdown import ROOT

TYPES = {"string": str, "object": dict, "array": list}


def table(first):
    """Return the rows of the table with this header in the description of the format."""
    text = (ROOT / "docs/formats/lineage.md").read_text()
    body = text.partition(f"| {first} |")[2].partition("\n\n")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in body.splitlines()[2:]
    ]
    assert len(rows) > 5
    return rows


SPEC = "https://openlineage.io/spec"

# Facets of OpenLineage 2-0-2: version, definition, required fields, optional fields.
DEFINED = {
    "schema": ("1-2-0", "SchemaDatasetFacet", {}, {"fields": list}),
    "version": ("1-0-1", "DatasetVersionDatasetFacet", {"datasetVersion": str}, {}),
    "inputStatistics": (
        "1-0-0",
        "InputStatisticsInputDatasetFacet",
        {},
        {"rowCount": int, "size": int, "fileCount": int},
    ),
    "outputStatistics": (
        "1-0-2",
        "OutputStatisticsOutputDatasetFacet",
        {},
        {"rowCount": int, "size": int, "fileCount": int},
    ),
    "errorMessage": (
        "1-0-1",
        "ErrorMessageRunFacet",
        {"message": str, "programmingLanguage": str},
        {"stackTrace": str},
    ),
    "jobType": (
        "2-0-4",
        "JobTypeJobFacet",
        {"processingType": str, "integration": str},
        {"jobType": str, "emissionPattern": dict},
    ),
}
PLACES = {
    "run.facets": {"errorMessage"},
    "job.facets": {"jobType"},
    "inputs[].facets": {"schema", "version"},
    "inputs[].inputFacets": {"inputStatistics"},
    "outputs[].facets": {"schema", "version"},
    "outputs[].outputFacets": {"outputStatistics"},
}


def check_defined(place, name, facet):
    """Raise unless a facet is defined by OpenLineage for this place, or by Headrace."""
    url = facet["_schemaURL"]
    if name.startswith("headrace_"):
        assert re.fullmatch(rf"urn:headrace:[0-9.]+:{name}", url)
        return
    assert name in PLACES[place], place
    version, definition, required, optional = DEFINED[name]
    assert url == f"{SPEC}/facets/{version}/{definition}.json#/$defs/{definition}"
    fields = {key: value for key, value in facet.items() if not key.startswith("_")}
    assert required.keys() <= fields.keys() <= required.keys() | optional.keys()
    for key, value in fields.items():
        wanted = (required | optional)[key]
        assert isinstance(value, wanted), (name, key)
        assert wanted is not int or value >= 0
    if name == "schema":
        check_columns(fields["fields"])


def check_columns(columns):
    for column in columns:
        assert {"name"} <= column.keys() <= {"name", "type", "description", "fields"}
        assert isinstance(column.get("type", ""), str)
        check_columns(column.get("fields", []))


def check_event(event):
    """Raise unless an event has the fields that OpenLineage requires of a run event."""
    assert event["schemaURL"] == f"{SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"
    known = {"eventType", "eventTime", "producer", "schemaURL", "run", "job", "inputs", "outputs"}  # fmt: skip
    assert event.keys() <= known
    assert event["eventType"] in ("START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER")  # fmt: skip
    for dataset in (event["job"], *event["inputs"], *event["outputs"]):
        assert dataset["namespace"]
        assert dataset["name"]


FIELDS = {name.strip("`"): TYPES[kind] for name, kind, _what in table("field")}
FACETS = {name.strip("`"): said for name, _of, said in table("facet")}


def fields_of(value, path=""):
    """Yield all fields of an event with their values, except those in facets."""
    for name, inner in value.items():
        here = f"{path}{name}"
        facets = name.lower().endswith("facets")
        is_inner = isinstance(inner, dict) and not facets
        if not is_inner:
            yield here, inner
        if is_inner:
            yield from fields_of(inner, f"{here}.")
        elif isinstance(inner, list):
            for each in inner:
                yield from fields_of(each, f"{here}[].")


def check(event):
    """Raise unless an event follows the format and OpenLineage."""
    check_event(event)
    found = list(fields_of(event))
    for name, value in found:
        wanted = FIELDS.get(name) or FIELDS[name.replace("outputs", "inputs").replace("output", "input")]  # fmt: skip
        assert isinstance(value, wanted), name
    assert {name for name in FIELDS if "[]" not in name} <= {name for name, _ in found}
    assert datetime.fromisoformat(event["eventTime"]).tzinfo == UTC
    UUID(event["run"]["runId"])
    assert re.fullmatch(r"urn:headrace:[0-9.]+", event["producer"])
    for place, facets in found:
        if not place.lower().endswith("facets"):
            continue
        for name, facet in facets.items():
            check_defined(place, name, facet)
            assert facet.pop("_producer") == event["producer"]
            del facet["_schemaURL"]
            for field in facet:
                assert f"`{field}`" in FACETS[name], (name, field)
    return event


@pytest.fixture
def lineage(tmp_path):
    return tmp_path / "lineage.jsonl"


@pytest.fixture
def events(lineage):
    def read():
        return [check(json.loads(line)) for line in lineage.read_text().splitlines()]

    return read


def some_pipeline(tmp_path, *stages, **more):
    return Pipeline("p", "out", Source("raw"), stages, base=str(tmp_path), **more)


def test_a_run_reports_its_inputs_and_outputs(ran, rows, tmp_path, lineage, events):
    row = {"id": 1, "at": {"x": [1.5]}, "word": "é"}
    rows(tmp_path / "raw/a.jsonl", row, b"bad")
    rows(tmp_path / "raw/b.jsonl", row, {"id": 2})
    rows(tmp_path / "users.jsonl", {"id": 1, "name": "Ann"})
    made = some_pipeline(
        tmp_path,
        Validate(),
        Join("users", "id", "lookup"),
        Transform("{id, name}"),
        names={"users": "users.jsonl"},
    )
    report = made.run(lineage=lineage)
    start, complete = events()
    assert [start["eventType"], complete["eventType"]] == ["START", "COMPLETE"]
    assert start["run"]["runId"] == complete["run"]["runId"]
    assert start["eventTime"] <= complete["eventTime"]
    raw, users = complete["inputs"]
    size = sum(path.stat().st_size for path in (tmp_path / "raw").iterdir())
    assert (raw["namespace"], raw["name"]) == ("file", str(tmp_path / "raw"))
    assert raw["inputFacets"] == {"inputStatistics": {"size": size, "fileCount": 2, "rowCount": 4}}  # fmt: skip
    assert raw["facets"]["headrace_files"] == {"files": 2, "bytes": size}
    assert not any("inputFacets" in each for each in (*start["inputs"], users))
    double = {"name": "_element", "type": "double"}
    assert raw["facets"]["schema"]["fields"] == [
        {"name": "id", "type": "long"},
        {
            "name": "at",
            "type": "struct",
            "fields": [{"name": "x", "type": "array", "fields": [double]}],
        },
        {"name": "word", "type": "string"},
    ]
    assert users["name"] == str(tmp_path / "users.jsonl")
    result, quarantine = complete["outputs"]
    assert result["name"] == str(tmp_path / "out/result")
    assert result["outputFacets"]["outputStatistics"] == {"rowCount": 3}
    assert result["facets"]["headrace_set"]["metadata"] == report.result.metadata
    assert result["facets"]["headrace_set"]["rows"] == 3
    assert result["facets"]["version"] == {"datasetVersion": "1"}
    named = [field["name"] for field in result["facets"]["schema"]["fields"]]
    assert named == ["id", "name"]
    assert quarantine["name"] == str(tmp_path / "out/quarantine")
    assert quarantine["outputFacets"]["outputStatistics"] == {"rowCount": 1}
    stages = complete["run"]["facets"]["headrace_stages"]["stages"]
    assert [(each["stage"], each["read"]) for each in stages] == [
        ("validate", 4),
        ("join", 3),
        ("transform", 3),
    ]


def test_a_second_run_reports_no_written_rows(ran, rows, tmp_path, lineage, events):
    rows(tmp_path / "raw/a.jsonl", {"id": 1})
    made = some_pipeline(tmp_path)
    made.run(lineage=lineage)
    made.run(lineage=lineage)
    *_first, start, complete = events()
    assert len(_first) == 2
    assert _first[0]["run"]["runId"] != start["run"]["runId"]
    (raw,), result = complete["inputs"], complete["outputs"][0]
    assert raw["inputFacets"]["inputStatistics"] == {"rowCount": 0, "size": 0, "fileCount": 0}  # fmt: skip
    assert raw["facets"]["headrace_files"]["files"] == 1
    assert result["outputFacets"]["outputStatistics"] == {"rowCount": 0}
    assert result["facets"]["headrace_set"]["rows"] == 1


@pytest.mark.parametrize(
    ("error", "what"),
    [(UsageError("it happens"), "FAIL"), (KeyboardInterrupt(), "ABORT")],
)
def test_a_run_that_ends_early(
    ran, rows, tmp_path, lineage, events, monkeypatch, error, what
):
    rows(tmp_path / "raw/a.jsonl", {"id": 1})

    def fail(*_arguments, **_named):
        raise error

    monkeypatch.setattr("headrace.pipeline.run.session.Session.run_each", fail)
    with pytest.raises(type(error)):
        some_pipeline(tmp_path).run(lineage=lineage)
    start, end = events()
    assert (start["eventType"], end["eventType"]) == ("START", what)
    said = "it happens" if what == "FAIL" else "KeyboardInterrupt"
    assert end["run"]["facets"]["errorMessage"]["message"] == said


def test_a_run_whose_lineage_cannot_be_written_does_nothing(ran, rows, tmp_path):
    rows(tmp_path / "raw/a.jsonl", {"id": 1})
    with pytest.raises(UnwritableError, match="nothing was done"):
        some_pipeline(tmp_path).run(lineage=tmp_path / "nowhere/lineage.jsonl")
    assert not (tmp_path / "out").exists()


def test_a_refused_run_writes_no_lineage(ran, tmp_path, lineage):
    with pytest.raises(SourceNotFoundError):
        some_pipeline(tmp_path).run(lineage=lineage)
    assert not lineage.exists()


def test_the_command_writes_lineage(
    headrace_command, rows, tmp_path, lineage, events, ran
):
    rows(tmp_path / "raw/a.jsonl", {"id": 1})
    text = 'name = "p"\ndirectory = "out"\n[source]\npaths = "raw"\n'
    Path(tmp_path / "p.toml").write_text(text)
    assert headrace_command("pipeline", "run", str(tmp_path / "p.toml"), "--lineage", str(lineage)) == 0  # fmt: skip
    assert [event["eventType"] for event in events()] == ["START", "COMPLETE"]


@pytest.fixture
def headrace_command():
    from headrace.cli.app import main

    return lambda *words: main(list(words))
