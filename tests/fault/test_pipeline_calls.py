"""Every system call of a pipeline run fails, is cut short, or ends the process, in turn.

The committed state is whole, and the next run continues: each row is in the output once,
each rejected row in the quarantine once, and no other file remains.
"""

import json
import re
from itertools import count

import pytest

import headrace
from headrace.errors import HeadraceError
from headrace.pipeline import Pipeline, Source, Transform, Validate
from headrace.pipeline.plan.passes import passes
from headrace.pipeline.run.session import Session
from headrace.pipeline.state.layout import Layout
from headrace.store.files import atomic
from tests.fault.failing_system import ENDS, FailingSystem, can_have, dying
from tests.fault.power_log import scratch
from tests.fault.test_writer_calls import refuse_unclear

FIRST, SECOND = range(20), range(20, 30)


def run_each(_session, do, count, tell=None):
    return [do(task) for task in range(count)]


@pytest.fixture
def root(monkeypatch):
    """Return a directory in memory; tasks run in this process."""
    monkeypatch.setattr(Session, "run_each", run_each)
    monkeypatch.setattr(atomic, "_LEFT_SECONDS", 0)
    with scratch() as directory:
        yield directory


def pipeline(directory, **options):
    stages = [Validate(required=["id"]), Transform("{id}")]
    return Pipeline("events", "out", Source("raw"), stages, base=str(directory))


def add(directory, name, ids):
    """Add a file with rows, and one row that is not JSON."""
    (directory / "raw").mkdir(exist_ok=True)
    lines = [*(json.dumps({"id": n}) for n in ids), "bad"]
    (directory / "raw" / name).write_text("\n".join(lines) + "\n")


def run(directory):
    return pipeline(directory).run(lineage=directory / "events.jsonl")


def ids(directory):
    """Return the ids in the output; the committed state must be whole."""
    made = pipeline(directory)
    place = Layout(made)
    (only,) = passes(made)
    found = place.current(only, made)
    if found is None:
        return []
    metadata, ledger = found
    assert place.gone(only, metadata, ledger) is None
    counts = list(ledger.counts().values())
    assert all(each.add_up for each in counts)
    assert counts[-1].written == metadata.total_records
    for job in ledger.jobs:
        for file in job.quarantine:
            lines = headrace.open(place.quarantine / file.name).count()
            assert lines == file.records
    return headrace.open(place.result).query("id").to_list()


def names(directory):
    """Return the names of files; a run that failed may have a report as well."""
    place = Layout(pipeline(directory))
    found = [path.relative_to(directory).as_posix() for path in place.root.rglob("*")]
    reports = [name for name in found if name.startswith("out/reports/")]
    assert all(name.endswith((".json", ".html")) for name in reports)
    others = set(found) - set(reports)
    return sorted(re.sub("-[0-9a-f]{12}-", "-job-", name) for name in others)


def first(directory):
    add(directory, "a.jsonl", FIRST)


def second(directory):
    first(directory)
    run(directory)
    add(directory, "b.jsonl", SECOND)


@pytest.mark.parametrize("fault", ENDS)
def test_the_first_run_killed_at_any_call(root, fault):
    run_with_faults(root, first, [], [*FIRST], fault)


@pytest.mark.parametrize("fault", ["error", "half", "short", *ENDS])
def test_a_run_that_adds_with_a_fault_at_any_call(root, fault):
    run_with_faults(root, second, [*FIRST], [*FIRST, *SECOND], fault)


def run_with_faults(root, begin, old, new, fault):
    in_peace = root / "in peace"
    in_peace.mkdir()
    begin(in_peace)
    system = FailingSystem(0)
    with dying(system):
        run(in_peace)
    left = names(in_peace)
    for at in count(1):
        directory = root / str(at)
        directory.mkdir()
        begin(directory)
        system, report = FailingSystem(at, fault), None
        with dying(system):
            try:
                report = run(directory)
            except HeadraceError as error:
                refuse_unclear(error, directory)
                assert fault not in ENDS
        found = ids(directory)
        assert found == new or (found == old and report is None)
        report = run(directory)
        assert report.adds_up
        assert report.quarantine.rows == 1 + (new != [*FIRST])
        assert ids(directory) == new
        assert names(directory) == left, system.log
        if system.failed is None:
            break
    hit = [each for each in system.log if can_have(each, fault)]
    assert at == len(hit) + 1
