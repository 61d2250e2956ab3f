"""The shared cases of the language, if their file exists."""

from pathlib import Path

import pytest

from tests.conformance.cases import load, run

CASES = Path(__file__).parents[2].parent / "shared" / "conformance" / "jetro.jsonl"

ANSWERED_OTHERWISE = {
    "regression-rs-0197",
    "chain-write-rs-0037",
    "chain-write-rs-0045",
    "builtin-arg-forms-rs-0212",
    "builtin-arg-forms-rs-0213",
    "builtin-arg-forms-rs-0214",
    "observed-on-jetro-core-0-0458",
    "observed-on-jetro-core-0-0174",
    "observed-on-jetro-core-0-0701",
    "ndjson-basic-rs-fan-out--0002",
    "ndjson-basic-rs-first-st-0001",
    "ndjson-basic-rs-framed-p-0002",
    "ndjson-basic-rs-scalar-s-0001",
}
"""With the reason for each in docs/decisions/0005-conformance-exceptions.md."""


@pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not here")
def test_the_shared_cases():
    cases = load(CASES)
    assert len(cases) > 1600
    failed = {
        case["id"]: f"{case['query']}: {problem}"
        for case in cases
        if (problem := run(case).problem)
    }
    assert {
        name: problem
        for name, problem in failed.items()
        if name not in ANSWERED_OTHERWISE
    } == {}
    assert set(failed) == ANSWERED_OTHERWISE


def test_the_exceptions_have_their_reasons():
    decision = (
        Path(__file__).parents[2] / "docs/decisions/0005-conformance-exceptions.md"
    )
    text = decision.read_text()
    for name in ANSWERED_OTHERWISE:
        assert name in text or name.rpartition("-")[2] in text, name
