"""The metadata of a set: the content of the file that commits a generation.

It is plain data without times: the same records and options give the same bytes. Reading trusts
nothing: every count must add up, and every path must be that of a part of this set. Format:
docs/formats/shards.md.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from headrace.errors import BadSetError, UsageError
from headrace.kernel.blocks import codecs
from headrace.kernel.values import InvalidJsonError, parse
from headrace.store.files.checked_json import dumped, encoded, has_checksum
from headrace.store.shards import names

VERSION = 1
FORMAT = "jsonl-sharded"
OFFSETS = {"version": 1, "format": "ckpt-blocks", "compression": "none"}

LONGEST = 256 << 20
"""Limit on the size of the file, for about a million parts: it is held in memory."""

_LARGEST = (1 << 63) - 1
_DIGEST = re.compile(r"xxh3:[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Compression:
    """The compression of all parts of a set."""

    codec: str
    level: int
    block_bytes: int


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on each part, None for no limit."""

    max_bytes: int | None = None
    max_records: int | None = None
    max_logical_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One file; `path` is relative to the directory of the set, with ``/``.

    `partition` is the key and the value of all its records, if the set is partitioned.
    """

    path: str
    records: int
    bytes: int
    logical_bytes: int
    first_row: int
    blocks: int
    digest: str
    partition: tuple[str, str | None] | None = None

    @property
    def ckpt(self) -> str:
        """The path of its block table, relative to the directory of the set."""
        return self.path + names.SIDECAR


@dataclass(frozen=True, slots=True)
class Metadata:
    """One generation of a set. `run` is an object of the writer, kept unchanged."""

    name: str
    generation: int
    compression: Compression
    limits: Limits
    parts: tuple[Part, ...]
    run: Mapping[str, object] | None = field(default=None)

    @property
    def total_records(self) -> int:
        """The rows of all parts."""
        return sum(part.records for part in self.parts)

    @property
    def total_bytes(self) -> int:
        """The bytes of all parts on disk."""
        return sum(part.bytes for part in self.parts)

    @property
    def total_logical_bytes(self) -> int:
        """The bytes of all rows with their newlines."""
        return sum(part.logical_bytes for part in self.parts)


def numbered(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield parts with the number of their first row in the set."""
    row = 0
    for part in parts:
        yield replace(part, first_row=row)
        row += part.records


def encode(metadata: Metadata) -> bytes:
    """Return the content of the file, which ends with its own checksum."""
    parts = (dumped(_part(part)) for part in metadata.parts)
    content = encoded(_head(metadata), "parts", parts)
    if len(content) > LONGEST:
        raise UsageError(
            f"{metadata.name}: {len(metadata.parts)} parts are more than a set can have; "
            "write larger ones"
        )
    return content


def _head(metadata: Metadata) -> dict[str, object]:
    """Return everything but the parts, in the order of the file."""
    compression, limits, parts = metadata.compression, metadata.limits, metadata.parts
    head = {
        "version": VERSION,
        "format": FORMAT,
        "name": metadata.name,
        "generation": metadata.generation,
        "compression": {
            "codec": compression.codec,
            "level": compression.level,
            "blockBytes": compression.block_bytes,
            "seekable": True,
        },
        "totalRecords": metadata.total_records,
        "totalBytes": metadata.total_bytes,
        "totalLogicalBytes": metadata.total_logical_bytes,
        "limits": {
            "maxBytes": limits.max_bytes,
            "maxRecords": limits.max_records,
            "maxLogicalBytes": limits.max_logical_bytes,
        },
        "maxPartBytes": max((part.bytes for part in parts), default=0),
        "maxPartRecords": max((part.records for part in parts), default=0),
        "offsets": OFFSETS,
    }
    return head if metadata.run is None else {**head, "run": dict(metadata.run)}


def _part(part: Part) -> dict[str, object]:
    partition: dict[str, object] = {}
    if part.partition is not None:
        key, value = part.partition
        partition = {"partition": {key: value}}
    return {
        "path": part.path,
        **partition,
        "records": part.records,
        "bytes": part.bytes,
        "logicalBytes": part.logical_bytes,
        "firstRow": part.first_row,
        "blocks": part.blocks,
        "digest": part.digest,
        "ckpt": part.ckpt,
    }


def decode(content: bytes, path: str, name: str, generation: int) -> Metadata:
    """Return the metadata in a complete file, or raise the error in it."""
    try:
        return _Decoder(path, name, generation).decode(content)
    except InvalidJsonError as error:
        raise BadSetError(path, f"not JSON: {error}") from None


class _Decoder:
    """Checks the content of a file against the set and the generation in its name."""

    def __init__(self, path: str, name: str, generation: int) -> None:
        self._path = path
        self._name = name
        self._generation = generation

    def _require(self, condition: object, reason: str) -> None:
        if not condition:
            raise BadSetError(self._path, reason)

    def decode(self, content: bytes) -> Metadata:
        self._require(
            has_checksum(content), "its checksum is wrong, so it was damaged or edited"
        )
        found = self._object(parse(content), "the file")
        version, kind = found.get("version"), found.get("format")
        self._require(
            version == VERSION and type(version) is int,
            f"version {version!r}; this headrace reads version {VERSION}",
        )
        self._require(kind == FORMAT, f"format {kind!r} is not {FORMAT!r}")
        compression = self._compression(found.get("compression"))
        metadata = Metadata(
            self._name,
            self._generation,
            compression,
            self._limits(found.get("limits")),
            tuple(self._parts(found.get("parts"), compression)),
            self._object(found["run"], "run") if "run" in found else None,
        )
        self._check_sums(found, metadata)
        return metadata

    def _check_sums(self, found: dict[str, Any], metadata: Metadata) -> None:
        """Compare redundant values with the computed ones."""
        expected = _head(metadata)
        for key, value in expected.items():
            self._require(
                key in found and _same(found[key], value),
                f"{key} is {_json_or_repr(found.get(key))}, but should be {dumped(value)}",
            )
        unknown = found.keys() - expected.keys() - {"parts", "crc32c"}
        self._require(not unknown, f"unknown keys: {', '.join(sorted(unknown))}")

    def _object(self, value: object, what: str) -> dict[str, Any]:
        self._require(isinstance(value, dict), f"{what} is not an object")
        return cast("dict[str, Any]", value)

    def _number(self, value: object, what: str, least: int = 0) -> int:
        self._require(
            type(value) is int and least <= value <= _LARGEST,
            f"{what} is {value!r}, not an integer of at least {least}",
        )
        return cast("int", value)

    def _compression(self, value: object) -> Compression:
        found = self._object(value, "compression")
        codec = found.get("codec")
        self._require(
            isinstance(codec, str) and codec in codecs(), f"unknown codec {codec!r}"
        )
        level = found.get("level")
        self._require(type(level) is int, f"level {level!r} is not an integer")
        block_bytes = self._number(found.get("blockBytes"), "blockBytes", 1)
        return Compression(cast("str", codec), cast("int", level), block_bytes)

    def _limits(self, value: object) -> Limits:
        found = self._object(value, "limits")
        values = [
            None if found.get(key) is None else self._number(found[key], key, 1)
            for key in ("maxBytes", "maxRecords", "maxLogicalBytes")
        ]
        return Limits(*values)

    def _parts(self, value: object, compression: Compression) -> Iterator[Part]:
        self._require(isinstance(value, list), "parts is not an array")
        suffix = codecs()[compression.codec].suffix
        seen: set[str] = set()
        row = 0
        for number, each in enumerate(cast("Sequence[object]", value)):
            found = self._object(each, f"part {number}")
            path = self._part_path(found.get("path"), suffix)
            self._require(path not in seen, f"{path} is listed twice")
            seen.add(path)
            part = self._part(path, found)
            self._require(
                part.first_row == row,
                f"{path}: firstRow is {part.first_row}, but should be {row}",
            )
            self._require(
                _same(found, _part(part)), f"{path}: its entry is not as it should be"
            )
            row += part.records
            yield part

    def _part(self, path: str, found: dict[str, Any]) -> Part:
        digest = found.get("digest")
        self._require(
            isinstance(digest, str) and _DIGEST.fullmatch(digest),
            f"{path}: {digest!r} is no digest",
        )
        return Part(
            path=path,
            records=self._number(found.get("records"), f"{path}: records", 1),
            bytes=self._number(found.get("bytes"), f"{path}: bytes", 1),
            logical_bytes=self._number(
                found.get("logicalBytes"), f"{path}: logicalBytes", 1
            ),
            first_row=self._number(found.get("firstRow"), f"{path}: firstRow"),
            blocks=self._number(found.get("blocks"), f"{path}: blocks", 1),
            digest=cast("str", digest),
            partition=self._partition(path, found),
        )

    def _part_path(self, value: object, suffix: str) -> str:
        """Return a path if it can be that of a part of this set.

        It is relative to the directory, and no step of it is empty, ``.`` or ``..``.
        """
        self._require(isinstance(value, str), f"the path {value!r} is not text")
        path = cast("str", value)
        first, *between, last = path.split("/") if "/" in path else ("", path)
        found = names.parts_directory(first)
        fits = (
            found is not None
            and found[0] == self._name
            and found[1] <= self._generation
            and len(between) <= 1
            and all(map(names.is_partition, between))
            and names.is_part(last, suffix)
        )
        self._require(fits, f"{path!r} is not the path of a part of this set")
        return path

    def _partition(
        self, path: str, found: dict[str, Any]
    ) -> tuple[str, str | None] | None:
        directories = path.split("/")[1:-1]
        if "partition" not in found:
            self._require(not directories, f"{path}: its partition is missing")
            return None
        partition = self._object(found["partition"], f"{path}: partition")
        values = [
            (key, value)
            for key, value in partition.items()
            if value is None or isinstance(value, str)
        ]
        expected = [names.partition_name(key, value) for key, value in values]
        self._require(
            len(expected) == len(partition) == 1 and expected == directories,
            f"{path}: lies in another partition than its entry says",
        )
        return values[0]


def _same(found: object, expected: object) -> bool:
    """Whether two values are equal as JSON: ``true`` is not 1, nor is ``1.0``."""
    if isinstance(found, dict) and isinstance(expected, dict):
        return found.keys() == expected.keys() and all(
            _same(value, expected[key]) for key, value in found.items()
        )
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(_same, found, expected))
    return type(found) is type(expected) and found == expected


def _json_or_repr(value: object) -> str:
    try:
        return dumped(value)
    except (TypeError, ValueError):
        return repr(value)
