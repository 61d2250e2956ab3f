"""The manifest of a log: which segments there are, and what of the last one is durable.

It is replaced as a whole when a writer opens or closes the log, when a segment is full, and
when one was compressed or removed; what was appended since is in the last segment alone.
*Sealed* segments are full, and their lines never change. Reading believes nothing that the checksum or another number contradicts.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from headrace.errors import LogDamagedError
from headrace.kernel.log import LogClock, Place
from headrace.kernel.values import DEEPEST, InvalidJsonError, parse
from headrace.store.files import system
from headrace.store.files.checked_json import has_checksum, with_checksum
from headrace.store.log import files
from headrace.store.log.names import CODECS, packed_name, segment_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from headrace.store.log.names import LogNames

FORMAT = "ndjson-partition"
VERSION = 1

Durability: TypeAlias = Literal["always", "data", "interval", "os"]
DURABILITIES: tuple[Durability, ...] = get_args(Durability)

LARGEST_RECORD = 1 << 30
"""The longest record that a writer can be told to take."""

_LARGEST = (1 << 63) - 1
_MOST_ROWS = (1 << 32) - 1
"""What an index can count, and files as well."""

_EARLIEST, _LATEST = -62_135_596_800_000, 253_402_300_799_999
"""The times that a line can have: the years 1 to 9999."""

_SALT = re.compile(r"[0-9a-f]{8}")
_DIGEST = re.compile(r"xxh3:[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Times:
    """The earliest and the latest time of the lines of a segment, if it has any."""

    earliest: int | None = None
    latest: int | None = None

    def covering(self, other: Times) -> Times:
        """Return times within which are those of both; none if it is not known of one.

        >>> Times(3, 5).covering(Times(4, 9)), Times(3, 5).covering(Times())
        (Times(earliest=3, latest=9), Times(earliest=None, latest=None))
        """
        known = (self.earliest, self.latest, other.earliest, other.latest)
        bounds = [each for each in known if each is not None]
        return Times(min(bounds), max(bounds)) if len(bounds) == len(known) else Times()


@dataclass(frozen=True, slots=True)
class Packed:
    """The file of blocks that a segment was compressed to: its bytes, and their digest."""

    codec: str
    bytes: int
    digest: str


@dataclass(frozen=True, slots=True)
class Sealed:
    """A full segment. It had lines up to `last_line`; `rows` fewer if some were lost.

    `bytes` are those of its lines, however they are stored.
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
        """The file that its lines are in."""
        packed = self.packed
        if packed is None:
            return segment_name(self.base)
        return packed_name(self.base, packed.codec)

    @property
    def bytes_on_disk(self) -> int:
        """Bytes of that file."""
        return self.bytes if self.packed is None else self.packed.bytes

    @property
    def damaged(self) -> bool:
        """Whether some of its lines were lost, and given up."""
        return self.base + self.rows != self.last_line


@dataclass(frozen=True, slots=True)
class Active:
    """The last segment, with those of its lines that were durable at this time.

    `last_time` and `latest_extracted` are those of the whole log. `begun` is when its first
    line was written, by the clock of the machine; None if that is not known.
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
        """The file that it is in."""
        return segment_name(self.base)

    def clock(self, late: int | None) -> LogClock:
        """Return a clock that goes on from here."""
        earliest, latest = self.times.earliest, self.times.latest
        known = None if earliest is None or latest is None else (earliest, latest)
        return LogClock(
            late,
            last=self.last_time,
            latest_extracted=self.latest_extracted,
            span=known,
        )

    def reached(self, place: Place, clock: LogClock) -> Active:
        """Return it with all lines before `place`."""
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
        """Return it as a full segment."""
        last_line = self.base + self.rows
        return Sealed(
            self.file_number, self.base, self.rows, last_line, self.bytes, self.times
        )


@dataclass(frozen=True, slots=True)
class Timing:
    """Where times are from: asked of records by `expression`, or None.

    `late` is by how many milliseconds they may go back, None: by any.
    """

    expression: str | None = None
    late: int | None = 0


@dataclass(frozen=True, slots=True)
class RecordLimits:
    """What a writer takes for a record: lines without an entry are none beyond that."""

    max_record: int = LARGEST_RECORD
    max_depth: int = DEEPEST


@dataclass(frozen=True, slots=True)
class Manifest:
    """A state of the log.

    `durability`, `timing` and `limits` are those of the writer who wrote it. `removing` are
    the bases of segments that are no part of it any more, whose files may still be there.
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
        """The number of the first line that is still there, or will be the next."""
        return self.all_segments[0].base + 1

    @property
    def next_file_number(self) -> int:
        """What the next segment is called by; no number is ever used again."""
        return self.active.file_number + 1

    @property
    def all_segments(self) -> tuple[Sealed | Active, ...]:
        """All of them, in the order of their lines."""
        return (*self.segments, self.active)

    @property
    def mark(self) -> Place:
        """The place up to which the last segment was durable."""
        active = self.active
        return Place(
            self.salt, active.file_number, active.base, active.rows, active.bytes
        )

    def with_packed(self, segment: Sealed) -> Manifest:
        """Return the state in which a full segment is compressed."""
        segments = tuple(
            segment if each.base == segment.base else each for each in self.segments
        )
        return replace(self, segments=segments)

    def without(self, count: int) -> Manifest:
        """Return the state in which so many segments, the first ones, are removed."""
        gone = tuple(each.base for each in self.segments[:count])
        return replace(
            self, segments=self.segments[count:], removing=(*self.removing, *gone)
        )

    def without_files(self, bases: Collection[int]) -> Manifest:
        """Return the state in which the files of removed segments are gone."""
        left = tuple(base for base in self.removing if base not in bases)
        return replace(self, removing=left)

    def rotated(self, begun: int | None = None) -> Manifest:
        """Return the state in which the last segment is full, and an empty one follows."""
        old = self.active
        empty = replace(
            old,
            file_number=self.next_file_number,
            base=old.base + old.rows,
            rows=0,
            bytes=0,
            times=Times(),
            begun=begun,
        )
        return replace(self, segments=(*self.segments, old.sealed()), active=empty)

    def save(self, names: LogNames) -> Manifest:
        """Replace what is there, durably, and return what is there now."""
        newer = self.put(names)
        system.calls.sync_directory(names.directory)
        return newer

    def put(self, names: LogNames) -> Manifest:
        """Do the same, but leave it to the caller to make the name durable."""
        newer = replace(self, generation=self.generation + 1)
        files.put_in_place(names.manifest, encode(newer))
        return newer


def fresh_clock(late: int | None = 0) -> LogClock:
    """Return a clock that has seen no line."""
    return LogClock(late)


def encode(manifest: Manifest) -> bytes:
    """Return the content of the file, which ends with its own checksum."""
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
    lines = [f" {_json(key)}: {_json(value)},\n" for key, value in head.items()]
    sealed = ",\n".join(_encoded.lines(manifest.segments))
    array = f"[\n{sealed}\n ]" if sealed else "[]"
    lines.append(f' "segments": {array},\n')
    return with_checksum("".join(["{\n", *lines]).encode())


class _EncodedSegments:
    """The lines of segments as they were last encoded: a rotation adds one to thousands."""

    def __init__(self) -> None:
        self._last: tuple[tuple[Sealed, ...], list[str]] = (), []

    def lines(self, segments: tuple[Sealed, ...]) -> list[str]:
        """Return the line of each segment; those that are the same objects stay."""
        before, known = self._last
        same = 0
        for one, other in zip(before, segments, strict=False):
            if one is not other:
                break
            same += 1
        new = [f"  {_json(_sealed(each))}" for each in segments[same:]]
        lines = known[:same] + new
        self._last = segments, lines  # as a whole: other threads encode as well
        return lines


_encoded = _EncodedSegments()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


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
    """Return the manifest of a log, None if there is none; raise if it is damaged."""
    try:
        content = files.read_content(names.manifest)
    except FileNotFoundError:
        return None
    return decode(content, str(names.manifest))


def decode(content: bytes, path: str) -> Manifest:
    """Return what a manifest says, or raise what is wrong with it."""
    try:
        manifest = _Decoder(path).manifest(content)
    except InvalidJsonError as error:
        raise LogDamagedError(path, error.offset, f"not JSON: {error.reason}") from None
    if encode(manifest) != content:
        raise LogDamagedError(path, 0, "it is not as a manifest is written")
    return manifest


class _Decoder:
    """Takes a manifest apart; what is said twice is compared when it is put together again."""

    def __init__(self, path: str) -> None:
        self._path = path

    def _require(self, condition: object, reason: str) -> None:
        if not condition:
            raise LogDamagedError(self._path, 0, reason)

    def manifest(self, content: bytes) -> Manifest:
        told = self._object(parse(content), "the file")
        self._require(
            told.get("format") == FORMAT,
            f"format {told.get('format')!r} is not {FORMAT!r}; it is not a log's manifest",
        )
        self._require(
            told.get("version") == VERSION,
            f"version {told.get('version')!r}; this headrace reads version {VERSION}",
        )
        self._require(
            has_checksum(content), "its checksum is wrong, so it was damaged or edited"
        )
        salt, durability = told.get("salt"), told.get("durability")
        self._require(
            isinstance(salt, str) and _SALT.fullmatch(salt), f"no salt: {salt!r}"
        )
        self._require(durability in DURABILITIES, f"no durability: {durability!r}")
        manifest = Manifest(
            int(cast("str", salt), 16),
            self._active(told.get("active")),
            tuple(self._segments(told.get("segments"))),
            self._number(told, "generation"),
            self._number(told, "writerEpoch"),
            cast("Durability", durability),
            self._timing(told.get("time")),
            self._limits(told.get("limits")),
            tuple(self._removing(told.get("removing", []))),
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

    def _number(self, told: Mapping[str, Any], key: str, most: int = _LARGEST) -> int:
        value = told.get(key)
        self._require(
            type(value) is int and 0 <= value <= most,
            f"{key} is {value!r}, not a whole number up to {most}",
        )
        return cast("int", value)

    def _time(self, told: Mapping[str, Any], key: str) -> int | None:
        value = told.get(key)
        self._require(
            value is None or (type(value) is int and _EARLIEST <= value <= _LATEST),
            f"{key} is {value!r}, not a time",
        )
        return cast("int | None", value)

    def _times(self, told: Mapping[str, Any]) -> Times:
        return Times(self._time(told, "minTime"), self._time(told, "maxTime"))

    def _active(self, value: object) -> Active:
        told = self._object(value, "active")
        return Active(
            self._number(told, "fileNumber", _MOST_ROWS),
            self._number(told, "base"),
            self._number(told, "rows", _MOST_ROWS),
            self._number(told, "bytes"),
            self._times(told),
            self._time(told, "lastTime"),
            self._time(told, "latestExtracted"),
            self._time(told, "begun"),
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

    def _segment(self, told: Mapping[str, Any]) -> Sealed:
        packed = self._packed(told)
        segment = Sealed(
            self._number(told, "fileNumber", _MOST_ROWS),
            self._number(told, "base"),
            self._number(told, "rows", _MOST_ROWS),
            self._number(told, "lastGlobal"),
            self._number(told, "bytes" if packed is None else "logicalBytes"),
            self._times(told),
            packed,
        )
        self._require(
            segment.base + segment.rows <= segment.last_line,
            f"file {segment.file_number} has more rows than lines",
        )
        return segment

    def _packed(self, told: Mapping[str, Any]) -> Packed | None:
        codec, digest = told.get("codec"), told.get("digest")
        if codec is None:
            return None
        self._require(codec in CODECS, f"no codec: {codec!r}")
        self._require(
            isinstance(digest, str) and _DIGEST.fullmatch(digest),
            f"no digest: {digest!r}",
        )
        return Packed(
            cast("str", codec), self._number(told, "bytes"), cast("str", digest)
        )

    def _limits(self, value: object) -> RecordLimits:
        told = self._object(value, "limits")
        return RecordLimits(
            self._number(told, "maxRecord", LARGEST_RECORD),
            self._number(told, "maxDepth", DEEPEST),
        )

    def _timing(self, value: object) -> Timing:
        told = self._object(value, "time")
        expression = told.get("expression")
        self._require(
            expression is None or isinstance(expression, str), "no time expression"
        )
        late = told.get("late")
        return Timing(expression, None if late is None else self._number(told, "late"))
