"""Lineage: OpenLineage events of a run, with its inputs and outputs.

Each event is one line of JSON that is appended to a file: START before anything is written, then
COMPLETE, FAIL, or ABORT if the user stopped the run. Format: docs/formats/lineage.md.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast
from uuid import uuid4

from headrace.engines.rows.fragment import rows_of
from headrace.errors import HeadraceError
from headrace.kernel.arrow.columns import Inference, Shape
from headrace.kernel.version import __version__
from headrace.physical.fragment import fragments
from headrace.store.files import system
from headrace.store.files.atomic import unwritable
from headrace.store.files.source import Source, is_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from headrace.pipeline.report.report import Report
    from headrace.pipeline.run.inputs import Inputs
    from headrace.pipeline.spec import Pipeline
    from headrace.pipeline.state.layout import Layout

    Facts: TypeAlias = dict[str, object]

_ROWS = 1000
_BYTES = 1 << 20
_MAX_LINE = 1 << 20


def schema_fields(source: Source) -> list[dict[str, object]]:
    """Return the fields of the first rows of a file; none if they cannot be read.

    The schema is for people: an exact one needs all rows.
    """
    with suppress(HeadraceError, OSError):
        for fragment in fragments(source, source.size or 1)[:1]:
            batch = rows_of(fragment, _MAX_LINE).next_batch(_ROWS, _BYTES)
            if batch is not None:
                found = Inference()
                found.add(batch)
                return [_field(name, shape) for name, shape in found.fields()[0]]
    return []


def _field(name: str, shape: Shape) -> dict[str, object]:
    """Describe a field; the elements of an array are called `_element`.

    >>> _field("ids", {"array": {"integer": 8}})
    {'name': 'ids', 'type': 'array', 'fields': [{'name': '_element', 'type': 'long'}]}
    """
    if isinstance(shape, str):
        return {"name": name, "type": shape}
    ((kind, inner),) = cast("dict[str, Any]", shape).items()
    match kind:
        case "struct":
            fields = [_field(each, of) for each, of in inner]
            return {"name": name, "type": "struct", "fields": fields}
        case "array":
            return {"name": name, "type": kind, "fields": [_field("_element", inner)]}
        case "decimal":
            return {"name": name, "type": f"decimal({inner[0]},{inner[1]})"}
        case _:
            return {"name": name, "type": "long"}


EventType: TypeAlias = Literal["START", "COMPLETE", "FAIL", "ABORT"]

PRODUCER = f"urn:headrace:{__version__}"
_SPEC = "https://openlineage.io/spec"
_EVENT = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS = {
    "schema": ("1-2-0", "SchemaDatasetFacet"),
    "version": ("1-0-1", "DatasetVersionDatasetFacet"),
    "inputStatistics": ("1-0-0", "InputStatisticsInputDatasetFacet"),
    "outputStatistics": ("1-0-2", "OutputStatisticsOutputDatasetFacet"),
    "errorMessage": ("1-0-1", "ErrorMessageRunFacet"),
    "jobType": ("2-0-4", "JobTypeJobFacet"),
}
"""The facets that OpenLineage defines; the names of others begin with `headrace_`."""


@contextmanager
def recording(
    path: str | os.PathLike[str] | None,
    pipeline: Pipeline,
    layout: Layout,
    inputs: Inputs,
    named: Mapping[str, Inputs],
) -> Iterator[Callable[[Report], None]]:
    """Write the events of the run in the block; yields a function to call with its report."""
    if path is None:
        yield lambda _report: None
        return
    events = _Run(Path(path), pipeline, layout, inputs, named)
    events.append("START", "nothing was done")
    try:
        yield events.complete
    except BaseException as error:
        # The error of the run is raised, even if the event cannot be written.
        with suppress(OSError, HeadraceError):
            events.fail(error)
        raise


class _Run:
    def __init__(
        self,
        path: Path,
        pipeline: Pipeline,
        layout: Layout,
        inputs: Inputs,
        named: Mapping[str, Inputs],
    ) -> None:
        self._path = path
        self._name = pipeline.name
        self._layout = layout
        self._main = _datasets(inputs)
        self._others = [each for found in named.values() for each in _datasets(found)]
        self._id = str(uuid4())

    def complete(self, report: Report) -> None:
        """Write the COMPLETE event."""
        stages = [
            {"stage": stage, **{name: getattr(count, name) for name in count.__slots__}}
            for each in report.passes
            for stage, count in each.counts.items()
        ]
        first = report.passes[0]
        if len(self._main) == 1:
            self._main[0]["inputFacets"] = _facet(
                "inputStatistics",
                rowCount=sum(count.read for count in list(first.counts.values())[:1]),
                size=first.input_bytes,
                fileCount=first.inputs,
            )
        result, rejected = self._outputs()
        last = report.passes[-1].counts.values()
        written = [count.written for count in last][-1:] or [0]
        result["facets"] = {
            **_schema(self._layout.result),
            **_facet("version", datasetVersion=str(report.result.generation)),
            **_facet(
                "headrace_set",
                metadata=report.result.metadata,
                rows=report.result.rows,
                parts=report.result.parts,
                bytes=report.result.bytes,
            ),
        }
        result["outputFacets"] = _facet("outputStatistics", rowCount=written[0])
        rejected["outputFacets"] = _facet(
            "outputStatistics",
            rowCount=sum(
                count.rejected
                for each in report.passes
                for count in each.counts.values()
            ),
        )
        left = "the output is committed"
        facets = _facet("headrace_stages", stages=stages)
        self.append("COMPLETE", left, facets, [result, rejected])

    def fail(self, error: BaseException) -> None:
        """Write the FAIL or ABORT event."""
        message = str(error) or type(error).__name__
        facets = _facet("errorMessage", message=message, programmingLanguage="python")
        what: EventType = "FAIL" if isinstance(error, Exception) else "ABORT"
        self.append(what, "the run has failed", facets)

    def _outputs(self) -> tuple[Facts, Facts]:
        return _dataset(str(self._layout.result)), _dataset(
            str(self._layout.quarantine)
        )

    def append(
        self,
        what: EventType,
        left: str,
        facets: Facts | None = None,
        outputs: Iterable[Facts] | None = None,
    ) -> None:
        """Append an event; `left` describes the state if that fails."""
        kind = _facet(
            "jobType",
            processingType="BATCH",
            integration="HEADRACE",
            jobType="PIPELINE",
        )
        event = {
            "eventType": what,
            "eventTime": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "producer": PRODUCER,
            "schemaURL": _EVENT,
            "run": {"runId": self._id, "facets": facets or {}},
            "job": {"namespace": "headrace", "name": self._name, "facets": kind},
            "inputs": [*self._main, *self._others],
            "outputs": list(self._outputs() if outputs is None else outputs),
        }
        # The names of files may be bytes that are no text.
        line = f"{json.dumps(event, ensure_ascii=False)}\n".encode(
            errors="backslashreplace"
        )
        with unwritable(self._path, left):
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            with system.closing(system.calls.open(self._path, flags)) as descriptor:
                system.write_all(descriptor, line)


def _datasets(inputs: Inputs) -> list[Facts]:
    """Return the data sets of files: a directory with several files is one."""
    groups: dict[str, list[Source]] = {}
    for _input, source in inputs:
        groups.setdefault(_parent(source), []).append(source)
    found = []
    for parent, sources in groups.items():
        dataset = _dataset(parent if len(sources) > 1 else _location(sources[0]))
        size = sum(source.size for source in sources)
        dataset["facets"] = {
            **_schema_of(sources[0]),
            **_facet("headrace_files", files=len(sources), bytes=size),
        }
        found.append(dataset)
    return found


def _location(source: Source) -> str:
    location = source.location
    return location if is_url(location) else str(Path(location).absolute())


def _parent(source: Source) -> str:
    return _location(source).rpartition("/")[0]


def _dataset(location: str) -> Facts:
    """Name a data set as OpenLineage does: by its namespace, and its name in it.

    >>> _dataset("s3://bucket/raw/a.jsonl")
    {'namespace': 's3://bucket', 'name': 'raw/a.jsonl'}
    >>> _dataset("/data/raw")
    {'namespace': 'file', 'name': '/data/raw'}
    """
    if not is_url(location):
        return {"namespace": "file", "name": location}
    scheme, _slashes, rest = location.partition("://")
    host, _slash, name = rest.partition("/")
    return {"namespace": f"{scheme}://{host}", "name": name or "/"}


def _facet(name: str, **facts: object) -> Facts:
    url = f"{PRODUCER}:{name}"
    if name in _FACETS:
        version, called = _FACETS[name]
        url = f"{_SPEC}/facets/{version}/{called}.json#/$defs/{called}"
    return {name: {"_producer": PRODUCER, "_schemaURL": url, **facts}}


def _schema(directory: Path) -> Facts:
    from headrace.store.files.source import expand

    with suppress(HeadraceError, OSError):
        for source in expand(directory):
            return _schema_of(source)
    return {}


def _schema_of(source: Source) -> Facts:
    fields = schema_fields(source)
    return _facet("schema", fields=fields) if fields else {}
