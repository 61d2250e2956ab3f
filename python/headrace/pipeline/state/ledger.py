"""Ledger: the finished jobs of a pass, and the inputs that are left.

The *ledger* of a pass is in the metadata of the set that it makes, so it changes atomically with
the rows: an interrupted pass has finished a job or not begun it. Each *job* records its inputs, the
counts of their rows, and the files of rejected rows.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from headrace.engines.rows.row_steps import StepCounts
from headrace.errors import BadSetError
from headrace.store.shards.metadata import Metadata

_KEY = "pipeline"


class Input(NamedTuple):
    """A file that a pass reads, from `start` to `size`; another stamp means another content."""

    path: str
    size: int
    stamp: str
    start: int = 0

    @property
    def length(self) -> int:
        """The bytes to read."""
        return self.size - self.start


def stamp_of(mtime_ns: int, ends: tuple[str, str]) -> str:
    """Return the stamp of a file: its time, and hashes of both its ends."""
    return f"{mtime_ns}-{ends[0]}-{ends[1]}"


class QuarantineFile(NamedTuple):
    """A file of rejected rows."""

    name: str
    records: int


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One job; `counts` are those of the stages, by name.

    `reasons` counts rejected rows by reason.
    """

    id: str
    inputs: tuple[Input, ...]
    counts: Mapping[str, StepCounts]
    quarantine: tuple[QuarantineFile, ...] = ()
    reasons: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ledger:
    """All jobs whose rows are in a set."""

    name: str
    fingerprint: str
    generation: int
    jobs: tuple[JobRecord, ...]

    @property
    def inputs(self) -> list[Input]:
        """All files that were read."""
        return [each for job in self.jobs for each in job.inputs]

    def counts(self) -> dict[str, StepCounts]:
        """Return the counts of all jobs together."""
        return added(job.counts for job in self.jobs)

    def reasons(self) -> Counter[str]:
        """Count rejected rows by reason."""
        together: Counter[str] = Counter()
        for job in self.jobs:
            together.update(job.reasons)
        return together


def added(several: Iterable[Mapping[str, StepCounts]]) -> dict[str, StepCounts]:
    """Add up the counts of stages."""
    together: dict[str, StepCounts] = {}
    for counts in several:
        for stage, count in counts.items():
            together[stage] = together.get(stage, StepCounts()) + count
    return together


class Todo(NamedTuple):
    """The inputs to read; all of them if the set is replaced."""

    inputs: tuple[Input, ...]
    why: str
    replace: bool = False


def left_to_do(
    done: Ledger | None,
    fingerprint: str,
    inputs: Sequence[Input],
    *,
    appends: bool,
    gone: str | None = None,
    fresh: bool = False,
) -> Todo:
    """Compare the ledger with the present inputs.

    `gone` is a file of the pass that was removed or changed.

    >>> a, b = Input("a", 1, "x"), Input("b", 1, "y")
    >>> made = Ledger("p", "f", 1, (JobRecord("1", (a,), {}),))
    >>> left_to_do(made, "f", [a, b], appends=True)
    Todo(inputs=(Input(path='b', size=1, stamp='y', start=0),), why='1 new input', replace=False)
    >>> left_to_do(made, "f", [b], appends=True).why
    'a is gone'
    """
    if done is None:
        return Todo(tuple(inputs), "for the first time", replace=True)
    if fresh:
        return Todo(tuple(inputs), "everything is made again", replace=True)
    if done.fingerprint != fingerprint:
        return Todo(
            tuple(inputs), "the stages or named sources have changed", replace=True
        )
    if gone is not None:
        return Todo(tuple(inputs), f"{gone} was changed", replace=True)
    before, now = Counter(done.inputs), Counter(inputs)
    if lost := before - now:
        path = next(iter(lost)).path
        what = "has changed" if any(each.path == path for each in inputs) else "is gone"
        return Todo(tuple(inputs), f"{path} {what}", replace=True)
    new = now - before
    if not new:
        return Todo((), "up to date")
    added_inputs = []
    for each in inputs:
        if new[each] > 0:
            new[each] -= 1
            added_inputs.append(each)
    count = len(added_inputs)
    why = f"{count} new input{'s' if count != 1 else ''}"
    if not appends:
        return Todo(tuple(inputs), why, replace=True)
    return Todo(tuple(added_inputs), why)


def job_id(
    fingerprint: str, done: Ledger | None, inputs: Sequence[Input], *, overwrite: bool
) -> str:
    """Return the id of a job, by which a set knows it."""
    generation = 0 if done is None else done.generation
    facts = [fingerprint, generation, overwrite, [tuple(each) for each in inputs]]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


def written(
    name: str, fingerprint: str, record: JobRecord, run: Mapping[str, object]
) -> dict[str, object]:
    """Return the `run` entry of a set: the jobs in `run`, and one more."""
    before = run.get(_KEY)
    jobs = before.get("jobs") if isinstance(before, dict) else None
    entry = asdict(record)
    entry["inputs"] = [list(each) for each in record.inputs]
    entry["quarantine"] = [list(each) for each in record.quarantine]
    return {
        **run,
        _KEY: {
            "name": name,
            "fingerprint": fingerprint,
            "jobs": [*(jobs if isinstance(jobs, list) else []), entry],
        },
    }


def read(metadata: Metadata, where: str) -> Ledger:
    """Read the ledger of a set; raises if no pipeline made the set."""
    try:
        facts = (metadata.run or {})[_KEY]
        jobs = facts["jobs"]  # type: ignore[index]
        return Ledger(
            facts["name"],  # type: ignore[index]
            facts["fingerprint"],  # type: ignore[index]
            metadata.generation,
            tuple(map(_job, jobs)),
        )
    except (KeyError, TypeError, ValueError):
        reason = (
            "no pipeline made this set, so none may replace it; "
            "give the pipeline its own directory"
        )
        raise BadSetError(where, reason) from None


def _job(entry: Mapping[str, object]) -> JobRecord:
    inputs, counts = entry["inputs"], entry["counts"]
    quarantine, reasons = entry["quarantine"], entry["reasons"]
    return JobRecord(
        str(entry["id"]),
        tuple(Input(*each) for each in inputs),  # type: ignore[attr-defined]
        {stage: StepCounts(**each) for stage, each in counts.items()},  # type: ignore[attr-defined]
        tuple(QuarantineFile(*each) for each in quarantine),  # type: ignore[attr-defined]
        dict(reasons),  # type: ignore[call-overload]
    )
