"""The manifest of a set index: the parts that it covers, and its segment files.

Reading trusts nothing: every count must add up, and file names must be those of segments.
Format: docs/formats/set-index.md.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from headrace.errors import HeadraceError
from headrace.kernel.checksum import digest
from headrace.kernel.index_meta import Lines
from headrace.kernel.rows import File, reading
from headrace.kernel.values import InvalidJsonError, parse
from headrace.store.files.checked_json import dumped, encoded, has_checksum

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.store.files.source import Source
    from headrace.store.shards.metadata import Part

VERSION = 1
FORMAT = "jnx-set"
FILE_NAME = "manifest.json"

_LARGEST = (1 << 63) - 1
_SEGMENT = re.compile(r"[0-9]{8,18}-[0-9]{4}\.jnx(?:\.delta)?")
_MOST_SEGMENTS = 1 << 12


class BadManifestError(HeadraceError):
    """Never shown: a manifest is invalid; `newer` if another version of headrace wrote it."""

    reason: str
    newer: bool = False


@dataclass(frozen=True, slots=True)
class CoveredPart:
    """A part as it was when its rows were indexed, and its lines by kind."""

    path: str
    bytes: int
    logical_bytes: int
    digest: str
    mtime_ns: int
    lines: Lines

    def is_of(self, part: Part) -> bool:
        """Whether a part in the metadata of the set is this one."""
        named = (part.path, part.bytes, part.logical_bytes, part.digest)
        return named == (self.path, self.bytes, self.logical_bytes, self.digest)

    def is_unchanged(self, source: Source, *, prove: bool) -> bool:
        """Whether a file is this part; with `prove`, it may be read for that."""
        if source.size != self.bytes:
            return False
        if source.mtime_ns == self.mtime_ns:
            return True
        with reading(source.location):
            return prove and digest(File(source.location), self.bytes) == self.digest


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A set segment: the keys of some hashes. `build` is the id in its footer."""

    name: str
    bytes: int
    records: int
    keys: int
    build: str


@dataclass(frozen=True, slots=True)
class Layer:
    """The segments of the rows of some parts; their number is a power of two."""

    parts: int
    plain_numbers: bool
    segments: tuple[SegmentFile, ...]

    @property
    def records(self) -> int:
        """Rows that have a key."""
        return sum(segment.records for segment in self.segments)

    @property
    def keys(self) -> int:
        """Different keys."""
        return sum(segment.keys for segment in self.segments)

    @property
    def bytes(self) -> int:
        """Bytes of all files."""
        return sum(segment.bytes for segment in self.segments)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The index of a set: a base of its first parts, and a delta of later parts."""

    name: str
    edition: int
    key: tuple[str, ...]
    mode: str
    max_line: int
    max_depth: int
    parts: tuple[CoveredPart, ...]
    base: Layer
    delta: Layer | None = None

    @property
    def layers(self) -> Iterator[tuple[Layer, tuple[CoveredPart, ...]]]:
        """Each layer, and the parts that it covers."""
        at = 0
        for layer in (self.base, self.delta):
            if layer is not None:
                yield layer, self.parts[at : at + layer.parts]
                at += layer.parts

    @property
    def segments(self) -> Iterator[SegmentFile]:
        """All files."""
        for layer, _parts in self.layers:
            yield from layer.segments

    def without_delta(self) -> Manifest:
        """Return the index of its first parts alone."""
        return replace(self, parts=self.parts[: self.base.parts], delta=None)


def lines_of(parts: Iterable[CoveredPart]) -> Lines:
    """Return the lines of parts."""
    total = Lines()
    for part in parts:
        total = total.plus(part.lines)
    return total


def segment_name(edition: int, number: int, *, delta: bool) -> str:
    """Return the file name of a segment.

    >>> segment_name(3, 12, delta=False), segment_name(3, 0, delta=True)
    ('00000003-0012.jnx', '00000003-0000.jnx.delta')
    """
    return f"{edition:08}-{number:04}.jnx{'.delta' if delta else ''}"


def is_segment_name(name: str) -> bool:
    """Whether a file can be a segment."""
    return bool(_SEGMENT.fullmatch(name))


def encode(manifest: Manifest) -> bytes:
    """Return the content of the file, which ends with its own checksum."""
    facts: dict[str, object] = {
        "version": VERSION,
        "format": FORMAT,
        "name": manifest.name,
        "edition": manifest.edition,
        "key": list(manifest.key),
        "mode": manifest.mode,
        "hash": "xxh3_64",
        "maxLine": manifest.max_line,
        "maxDepth": manifest.max_depth,
        "base": _layer_json(manifest.base),
        "delta": None if manifest.delta is None else _layer_json(manifest.delta),
    }
    parts = (dumped(_part_json(part)) for part in manifest.parts)
    return encoded(facts, "parts", parts)


def _layer_json(layer: Layer) -> dict[str, object]:
    return {
        "parts": layer.parts,
        "plainNumbers": layer.plain_numbers,
        "segments": [asdict(segment) for segment in layer.segments],
    }


def _part_json(part: CoveredPart) -> dict[str, object]:
    return {
        "path": part.path,
        "bytes": part.bytes,
        "logicalBytes": part.logical_bytes,
        "digest": part.digest,
        "mtimeNs": part.mtime_ns,
        "lines": list(part.lines),
    }


def decode(content: bytes) -> Manifest:
    """Parse the content of a file, or raise `BadManifestError`."""
    if not has_checksum(content):
        raise BadManifestError("its checksum is wrong, so it was damaged or edited")
    try:
        found = cast("Any", parse(content))
    except InvalidJsonError as error:
        raise BadManifestError(f"not JSON: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise BadManifestError("not the manifest of an index")
    version = found.get("version")
    if version != VERSION or type(version) is not int:
        raise BadManifestError(f"an unknown version: {version!r}", newer=True)
    try:
        manifest = _manifest(found)
        _require(encode(manifest) == content)
    except (KeyError, TypeError, ValueError):
        raise BadManifestError("its content is not valid") from None
    return manifest


def _manifest(found: dict[str, Any]) -> Manifest:
    """Return a manifest; raises an error for invalid content. `decode` compares the rest."""
    parts = tuple(map(_part, found["parts"]))
    base = _layer(found["base"])
    delta = None if found["delta"] is None else _layer(found["delta"])
    covered = base.parts + (0 if delta is None else delta.parts)
    key = tuple(found["key"])
    _require(covered == len(parts))
    _require(delta is None or len(delta.segments) == len(base.segments))
    _require(key and all(isinstance(field, str) for field in key))
    _require(found["mode"] in ("multi", "unique"))
    manifest = Manifest(
        found["name"],
        _number(found["edition"]),
        key,
        found["mode"],
        _number(found["maxLine"]),
        _number(found["maxDepth"]),
        parts,
        base,
        delta,
    )
    for layer, of in manifest.layers:
        _require(layer.records == lines_of(of).records)
    return manifest


def _part(found: dict[str, Any]) -> CoveredPart:
    lines = Lines(*map(_number, found["lines"]))
    _require(lines.records >= 0)
    return CoveredPart(
        _text(found["path"]),
        _number(found["bytes"]),
        _number(found["logicalBytes"]),
        _text(found["digest"]),
        _number(found["mtimeNs"]),
        lines,
    )


def _layer(found: dict[str, Any]) -> Layer:
    segments = tuple(map(_segment, found["segments"]))
    count = len(segments)
    _require(0 < count <= _MOST_SEGMENTS and count & (count - 1) == 0)
    _require(isinstance(found["plainNumbers"], bool))
    return Layer(_number(found["parts"]), found["plainNumbers"], segments)


def _segment(found: dict[str, Any]) -> SegmentFile:
    name = _text(found["name"])
    _require(is_segment_name(name))
    return SegmentFile(
        name,
        _number(found["bytes"]),
        _number(found["records"]),
        _number(found["keys"]),
        _text(found["build"]),
    )


def _number(value: object) -> int:
    _require(type(value) is int and 0 <= value <= _LARGEST)
    return cast("int", value)


def _text(value: object) -> str:
    _require(isinstance(value, str))
    return cast("str", value)


def _require(condition: object) -> None:
    if not condition:
        raise ValueError
