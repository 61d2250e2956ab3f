"""Manifest of a log: its segments, and how much of the last one is durable.

A writer replaces it as a whole when it opens or closes the log, when a segment is full, and
when a segment was compressed or removed; lines appended since are in the last segment only.
*Sealed* segments are full, and their lines never change. Reading trusts nothing that the
checksum or another number contradicts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from headrace.errors import LogDamagedError, SourceNotFoundError
from headrace.kernel.log import LogClock, Place
from headrace.kernel.rows import reading
from headrace.kernel.values import DEEPEST, InvalidJsonError, parse
from headrace.store.files import system
from headrace.store.files.checked_json import dumped, encoded, has_checksum
from headrace.store.log import files
from headrace.store.log.names import CODECS, LogNames, packed_name, segment_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

FORMAT = "ndjson-partition"
VERSION = 1

Durability: TypeAlias = Literal["always", "data", "interval", "os"]
DURABILITIES: tuple[Durability, ...] = get_args(Durability)

LARGEST_RECORD = 1 << 30
"""The largest limit for a record that a writer accepts."""

_LARGEST = (1 << 63) - 1
_MOST_ROWS = (1 << 32) - 1
"""The largest number of lines in an index, and of files."""

_EARLIEST, _LATEST = -62_135_596_800_000, 253_402_300_799_999
"""The valid times of a line: the years 1 to 9999."""

_SALT = re.compile(r"[0-9a-f]{8}")
_DIGEST = re.compile(r"xxh3:[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Times:
    """The earliest and the latest time of the lines of a segment, if it has any."""

    earliest: int | None = None
    latest: int | None = None

    def covering(self, other: Times) -> Times:
        """Return the range of both; unknown if one of them is.

        >>> Times(3, 5).covering(Times(4, 9)), Times(3, 5).covering(Times())
        (Times(earliest=3, latest=9), Times(earliest=None, latest=None))
        """
        known = (self.earliest, self.latest, other.earliest, other.latest)
        bounds = [each for each in known if each is not None]
        return Times(min(bounds), max(bounds)) if len(bounds) == len(known) else Times()

    @classmethod
    def known(cls, several: Collection[Times]) -> Times:
        """Return the range of all times that are known."""
        earliest = [each.earliest for each in several if each.earliest is not None]
        latest = [each.latest for each in several if each.latest is not None]
        return cls(min(earliest, default=None), max(latest, default=None))


@dataclass(frozen=True, slots=True)
class Packed:
    """The compressed file of a segment: its bytes, and their digest."""

    codec: str
    bytes: int
    digest: str


@dataclass(frozen=True, slots=True)
class Sealed:
    """A full segment.

    Its line numbers reach to `last_line`; it has fewer `rows` if lines were lost. `bytes`
    are those of its lines before compression.
    """

    file_number: int
    base: int
    rows: int
    last_line: int
    bytes: int
    times: Times
    packed: Packed | None = None

    @property
    def name(self) -> str:
        """The name of the file with its lines."""
        packed = self.packed
        if packed is None:
            return segment_name(self.base)
        return packed_name(self.base, packed.codec)

    @property
    def bytes_on_disk(self) -> int:
        """The bytes of that file."""
        return self.bytes if self.packed is None else self.packed.bytes

    @property
    def damaged(self) -> bool:
        """Whether lines of the segment were lost."""
        return self.base + self.rows != self.last_line


@dataclass(frozen=True, slots=True)
class Active:
    """The last segment, with the lines that were durable when the manifest was written.

    `last_time` and `latest_extracted` are those of the whole log. `begun` is the time of
    the first line, by the clock of the machine; None if unknown.
    """

    file_number: int
    base: int
    rows: int = 0
    bytes: int = 0
    times: Times = field(default_factory=Times)
    last_time: int | None = None
    latest_extracted: int | None = None
    begun: int | None = None

    @property
    def name(self) -> str:
        """The name of its file."""
        return segment_name(self.base)

    def clock(self, late: int | None) -> LogClock:
        """Return a clock that continues from here."""
        earliest, latest = self.times.earliest, self.times.latest
        known = None if earliest is None or latest is None else (earliest, latest)
        return LogClock(
            late,
            last=self.last_time,
            latest_extracted=self.latest_extracted,
            span=known,
        )

    def reached(self, place: Place, clock: LogClock) -> Active:
        """Return the segment with all lines before `place`."""
        last, latest_extracted, span, _fallbacks = clock.times
        times = Times() if span is None else Times(*span)
        return Active(
            place.file_number,
            place.base,
            place.rows,
            place.end,
            times,
            last,
            latest_extracted,
            self.begun,
        )

    def sealed(self) -> Sealed:
        """Return the segment as a full one."""
        last_line = self.base + self.rows
        return Sealed(
            self.file_number, self.base, self.rows, last_line, self.bytes, self.times
        )


@dataclass(frozen=True, slots=True)
class Timing:
    """The origin of times: an `expression` over records, or the time of writing if None.

    `late` is how many milliseconds a time may go back [default: 0]; None for any.
    """

    expression: str | None = None
    late: int | None = 0


@dataclass(frozen=True, slots=True)
class RecordLimits:
    """Limits on a record; recovery accepts no unindexed line beyond them."""

    max_record: int = LARGEST_RECORD
    max_depth: int = DEEPEST


@dataclass(frozen=True, slots=True)
class Manifest:
    """A state of the log.

    `durability`, `timing` and `limits` are those of the writer that wrote it. `removing`
    are the bases of removed segments whose files may still exist.
    """

    salt: int
    active: Active
    segments: tuple[Sealed, ...] = ()
    generation: int = 0
    epoch: int = 0
    durability: Durability = "data"
    timing: Timing = field(default_factory=Timing)
    limits: RecordLimits = field(default_factory=RecordLimits)
    removing: tuple[int, ...] = ()

    @property
    def first_line(self) -> int:
        """The number of the first line of the log, or of the next one if it is empty."""
        return self.all_segments[0].base + 1

    @property
    def next_file_number(self) -> int:
        """The file number of the next segment; no number is used twice."""
        return self.active.file_number + 1

    @property
    def all_segments(self) -> tuple[Sealed | Active, ...]:
        """All segments, in the order of their lines."""
        return (*self.segments, self.active)

    @property
    def mark(self) -> Place:
        """The place up to which the last segment was durable."""
        active = self.active
        return Place(
            self.salt, active.file_number, active.base, active.rows, active.bytes
        )

    def with_packed(self, segment: Sealed) -> Manifest:
        """Return the state in which a segment is compressed."""
        segments = tuple(
            segment if each.base == segment.base else each for each in self.segments
        )
        return replace(self, segments=segments)

    def without(self, count: int) -> Manifest:
        """Return the state without the first `count` segments."""
        gone = tuple(each.base for each in self.segments[:count])
        return replace(
            self, segments=self.segments[count:], removing=(*self.removing, *gone)
        )

    def without_files(self, bases: Collection[int]) -> Manifest:
        """Return the state in which the files of removed segments are gone."""
        left = tuple(base for base in self.removing if base not in bases)
        return replace(self, removing=left)

    def rotated(self, begun: int | None = None, full: Sealed | None = None) -> Manifest:
        """Return the state in which the last segment is `full`, and an empty one follows."""
        full = full or self.active.sealed()
        empty = replace(
            self.active,
            file_number=self.next_file_number,
            base=full.last_line,
            rows=0,
            bytes=0,
            times=Times(),
            begun=begun,
        )
        return replace(self, segments=(*self.segments, full), active=empty)

    def save(self, names: LogNames) -> Manifest:
        """Replace the manifest file durably, and return its new state."""
        newer = self.put(names)
        system.calls.sync_directory(names.directory)
        return newer

    def put(self, names: LogNames) -> Manifest:
        """Do the same, but leave the name for the caller to make durable."""
        newer = replace(self, generation=self.generation + 1)
        files.put_in_place(names.manifest, encode(newer))
        return newer


def encode(manifest: Manifest) -> bytes:
    """Return the content of the file, with its checksum at the end."""
    active = manifest.active
    head: dict[str, object] = {
        "format": FORMAT,
        "version": VERSION,
        "generation": manifest.generation,
        "writerEpoch": manifest.epoch,
        "nextFileNumber": manifest.next_file_number,
        "salt": f"{manifest.salt:08x}",
        "durability": manifest.durability,
        "time": {
            "expression": manifest.timing.expression,
            "late": manifest.timing.late,
        },
        "limits": {
            "maxRecord": manifest.limits.max_record,
            "maxDepth": manifest.limits.max_depth,
        },
        "active": {
            "fileNumber": active.file_number,
            "base": active.base,
            "path": active.name,
            "rows": active.rows,
            "bytes": active.bytes,
            **_times(active.times),
            "lastTime": active.last_time,
            "latestExtracted": active.latest_extracted,
            **({} if active.begun is None else {"begun": active.begun}),
        },
    }
    if manifest.removing:
        head["removing"] = manifest.removing
    return encoded(head, "segments", _encoded.lines(manifest.segments))


class _EncodedSegments:
    """Cache of the encoded segments: a rotation adds one to thousands."""

    def __init__(self) -> None:
        self._last: tuple[tuple[Sealed, ...], list[str]] = (), []

    def lines(self, segments: tuple[Sealed, ...]) -> list[str]:
        """Return the line of each segment; those of unchanged objects come from the cache."""
        before, known = self._last
        same = 0
        for one, other in zip(before, segments, strict=False):
            if one is not other:
                break
            same += 1
        new = [dumped(_sealed(each)) for each in segments[same:]]
        lines = known[:same] + new
        self._last = segments, lines  # replaced as a whole: other threads encode too
        return lines


_encoded = _EncodedSegments()


def _times(times: Times) -> dict[str, object]:
    return {"minTime": times.earliest, "maxTime": times.latest}


def _sealed(segment: Sealed) -> dict[str, object]:
    packed = segment.packed
    compressed: dict[str, object] = {}
    if packed is not None:
        compressed = {
            "logicalBytes": segment.bytes,
            "codec": packed.codec,
            "digest": packed.digest,
        }
    return {
        "fileNumber": segment.file_number,
        "base": segment.base,
        "path": segment.name,
        "rows": segment.rows,
        "lastGlobal": segment.last_line,
        "bytes": segment.bytes_on_disk,
        **compressed,
        **_times(segment.times),
        "state": "damaged" if segment.damaged else "sealed",
    }


def load(names: LogNames) -> Manifest | None:
    """Return the manifest of a log, None if it has none; raise if it is damaged."""
    try:
        content = files.read_content(names.manifest)
    except FileNotFoundError:
        return None
    return decode(content, str(names.manifest))


def existing(names: LogNames) -> Manifest:
    """Return the manifest of a log; raise if there is no log."""
    with reading(names.text):
        manifest = load(names)
    if manifest is None:
        raise SourceNotFoundError(names.text)
    return manifest


def decode(content: bytes, path: str) -> Manifest:
    """Decode a manifest; raise if it is damaged."""
    try:
        manifest = _Decoder(path).manifest(content)
    except InvalidJsonError as error:
        raise LogDamagedError(path, error.offset, f"not JSON: {error.reason}") from None
    if encode(manifest) != content:
        raise LogDamagedError(path, 0, "it is not as a manifest is written")
    return manifest


class _Decoder:
    """Decoder of a manifest; the caller encodes the result again to compare repeated facts."""

    def __init__(self, path: str) -> None:
        self._path = path

    def _require(self, condition: object, reason: str) -> None:
        if not condition:
            raise LogDamagedError(self._path, 0, reason)

    def manifest(self, content: bytes) -> Manifest:
        fields = self._object(parse(content), "the file")
        self._require(
            fields.get("format") == FORMAT,
            f"format {fields.get('format')!r} is not {FORMAT!r}; it is not a log's manifest",
        )
        self._require(
            fields.get("version") == VERSION,
            f"version {fields.get('version')!r}; this headrace reads version {VERSION}",
        )
        self._require(
            has_checksum(content), "its checksum is wrong, so it was damaged or edited"
        )
        salt = self._text(fields, "salt", _SALT.fullmatch)
        durability = self._text(fields, "durability", DURABILITIES.__contains__)
        manifest = Manifest(
            int(salt, 16),
            self._active(fields.get("active")),
            tuple(self._segments(fields.get("segments"))),
            self._number(fields, "generation"),
            self._number(fields, "writerEpoch"),
            cast("Durability", durability),
            self._timing(fields.get("time")),
            self._limits(fields.get("limits")),
            tuple(self._removing(fields.get("removing", []))),
        )
        self._check_order(manifest)
        return manifest

    def _check_order(self, manifest: Manifest) -> None:
        number, line = 0, None
        for segment in manifest.all_segments:
            self._require(
                segment.file_number > number and line in (None, segment.base),
                f"file {segment.file_number} does not go on where the one before ends",
            )
            number = segment.file_number
            line = segment.last_line if isinstance(segment, Sealed) else None
        self._require(
            all(base < manifest.first_line for base in manifest.removing),
            "a segment that is being removed is one of the log",
        )

    def _object(self, value: object, what: str) -> Mapping[str, Any]:
        self._require(isinstance(value, dict), f"{what} is not an object")
        return cast("Mapping[str, Any]", value)

    def _text(
        self, fields: Mapping[str, Any], key: str, is_valid: Callable[[str], object]
    ) -> str:
        value = fields.get(key)
        valid = isinstance(value, str) and is_valid(value)
        self._require(valid, f"no {key}: {value!r}")
        return cast("str", value)

    def _number(self, fields: Mapping[str, Any], key: str, most: int = _LARGEST) -> int:
        value = fields.get(key)
        self._require(
            type(value) is int and 0 <= value <= most,
            f"{key} is {value!r}, not a whole number up to {most}",
        )
        return cast("int", value)

    def _time(self, fields: Mapping[str, Any], key: str) -> int | None:
        value = fields.get(key)
        self._require(
            value is None or (type(value) is int and _EARLIEST <= value <= _LATEST),
            f"{key} is {value!r}, not a time",
        )
        return cast("int | None", value)

    def _times(self, fields: Mapping[str, Any]) -> Times:
        return Times(self._time(fields, "minTime"), self._time(fields, "maxTime"))

    def _active(self, value: object) -> Active:
        fields = self._object(value, "active")
        return Active(
            self._number(fields, "fileNumber", _MOST_ROWS),
            self._number(fields, "base"),
            self._number(fields, "rows", _MOST_ROWS),
            self._number(fields, "bytes"),
            self._times(fields),
            self._time(fields, "lastTime"),
            self._time(fields, "latestExtracted"),
            self._time(fields, "begun"),
        )

    def _segments(self, value: object) -> list[Sealed]:
        self._require(isinstance(value, list), "segments is not an array")
        return [
            self._segment(self._object(each, "a segment"))
            for each in cast("Sequence[object]", value)
        ]

    def _removing(self, value: object) -> list[int]:
        self._require(isinstance(value, list), "removing is not an array")
        bases = cast("Sequence[object]", value)
        return [self._number({"removing": base}, "removing") for base in bases]

    def _segment(self, fields: Mapping[str, Any]) -> Sealed:
        packed = self._packed(fields)
        segment = Sealed(
            self._number(fields, "fileNumber", _MOST_ROWS),
            self._number(fields, "base"),
            self._number(fields, "rows", _MOST_ROWS),
            self._number(fields, "lastGlobal"),
            self._number(fields, "bytes" if packed is None else "logicalBytes"),
            self._times(fields),
            packed,
        )
        self._require(
            segment.base + segment.rows <= segment.last_line,
            f"file {segment.file_number} has more rows than lines",
        )
        return segment

    def _packed(self, fields: Mapping[str, Any]) -> Packed | None:
        if fields.get("codec") is None:
            return None
        codec = self._text(fields, "codec", CODECS.__contains__)
        size = self._number(fields, "bytes")
        return Packed(codec, size, self._text(fields, "digest", _DIGEST.fullmatch))

    def _limits(self, value: object) -> RecordLimits:
        fields = self._object(value, "limits")
        return RecordLimits(
            self._number(fields, "maxRecord", LARGEST_RECORD),
            self._number(fields, "maxDepth", DEEPEST),
        )

    def _timing(self, value: object) -> Timing:
        fields = self._object(value, "time")
        expression = fields.get("expression")
        self._require(
            expression is None or isinstance(expression, str), "no time expression"
        )
        late = fields.get("late")
        return Timing(
            expression, None if late is None else self._number(fields, "late")
        )
