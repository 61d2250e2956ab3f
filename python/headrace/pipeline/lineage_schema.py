"""The fields of a data set, as its first rows have them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from headrace.engines.fragment_rows import rows_of
from headrace.errors import HeadraceError
from headrace.kernel.columns import Inference
from headrace.physical.fragment import fragments

if TYPE_CHECKING:
    from headrace.kernel.columns import Shape
    from headrace.store.source import Source

_ROWS = 1000
_BYTES = 1 << 20
_MAX_LINE = 1 << 20


def schema_fields(source: Source) -> list[dict[str, object]]:
    """Return what the first rows of a file have; nothing if they cannot be read.

    It is told for people: who needs it exactly infers it from all rows.
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
    """Describe a field; what is in an array is called `_element`.

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
