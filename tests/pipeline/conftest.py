"""Pipelines whose tasks run in this process, one after the other."""

import json
import pickle

import pytest

from headrace.pipeline.run.session import Session


@pytest.fixture
def ran(monkeypatch):
    """Run tasks in this process, pickled as for another one; return the task counts."""
    counts = []

    def run_each(_session, do, count, tell=None):
        do = pickle.loads(pickle.dumps(do))
        counts.append(count)
        results = []
        for task in range(count):
            results.append(pickle.loads(pickle.dumps(do(task))))
            if tell is not None:
                tell(task + 1, count)
        return results

    monkeypatch.setattr(Session, "run_each", run_each)
    return counts


@pytest.fixture
def rows():
    """Write rows to a file, as JSON or as they are."""

    def write(path, *several):
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [
            each if isinstance(each, bytes) else json.dumps(each).encode()
            for each in several
        ]
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        return path

    return write
