"""Building, updating and compacting the index of a set; threads or tasks make its segments."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from headrace.engines.index.collect import Counted
from headrace.engines.index.kinds import COMPACT_FROM, Built, KeyBuild
from headrace.engines.index.set_slices import (
    SEGMENT_ROWS,
    KeptSegment,
    MadeSegment,
    MakeSegments,
    SetScan,
    Slice,
    SliceCounts,
    segments_for,
    slices,
)
from headrace.errors import KeyIndexError
from headrace.kernel.index_meta import Lines
from headrace.kernel.key_index import FewBitsError, Skipped, Written
from headrace.kernel.rows import SidecarError
from headrace.store.index.set import commit
from headrace.store.index.set.manifest import (
    CoveredPart,
    Layer,
    Manifest,
    SegmentFile,
)
from headrace.store.index.set.stored import SetStored, fitting, read, restamped
from headrace.store.index.stored_index import Freshness, Unreadable
from headrace.store.shards.opened_set import OpenedSet


@dataclass(frozen=True, slots=True)
class SetMade:
    """A written set index, and the lines that were read for it."""

    path: Path
    manifest: Manifest
    lines: Lines
    first_skipped: tuple[Skipped, ...]

    @property
    def built(self) -> Built[Written]:
        """The layer that was written last."""
        layer = self.manifest.delta or self.manifest.base
        written = Written(2, None, layer.records, layer.keys, layer.bytes)
        return Built(self.path, written, self.lines, self.first_skipped)


@dataclass(slots=True)
class _Counted:
    """The lines of all slices so far, and of each part."""

    lines: Counted
    of_part: dict[int, Lines] = field(default_factory=dict)

    def add(self, part: Slice, found: SliceCounts) -> None:
        known = self.of_part.get(part.part, Lines())
        self.of_part[part.part] = known.plus(found.lines)
        self.lines.add(part.end, found)


def build(
    opened: OpenedSet,
    path: Path,
    build: KeyBuild,
    make: MakeSegments,
    segment_rows: int = SEGMENT_ROWS,
) -> SetMade:
    """Build the index of a set in a directory; an old index is replaced atomically."""
    rows = sum(part.records for part in opened.parts)
    segments = segments_for(rows, segment_rows)
    with commit.writing(path) as edition:
        return _built(opened, path, build, make, segments, edition)


def _built(
    opened: OpenedSet,
    path: Path,
    build: KeyBuild,
    make: MakeSegments,
    segments: int,
    edition: int,
) -> SetMade:
    how = _scan_of(opened, build, len(opened.parts), segments)
    counted = _Counted(Counted(opened.path, build))
    nothing: list[KeptSegment | None] = [None] * how.segments
    cut = slices(opened.parts, build.bytes_at_once)
    made = make(how, cut, nothing, path, counted.add)
    base = _layer(path, edition, made, counted, len(opened.parts), delta=False)
    manifest = Manifest(
        opened.path.rpartition("/")[2],
        edition,
        build.fields,
        "unique" if build.unique else "multi",
        build.max_line,
        build.max_depth,
        tuple(_covered(opened, counted, 0)),
        base,
    )
    commit.publish(path, manifest)
    return SetMade(path, manifest, counted.lines.lines, tuple(counted.lines.skipped))


@dataclass(frozen=True, slots=True)
class SetUpdated:
    """The result of an update; see `headrace.api.index.update.Updated`."""

    made: SetMade | None = None
    revalidated: bool = False
    compacted: SetMade | None = None
    full_advised: str | None = None


def update(
    opened: OpenedSet, path: Path, build: KeyBuild, make: MakeSegments
) -> SetUpdated:
    """Index the parts that were added to a set since its index was written.

    Raises `KeyIndexError` if the index does not cover the first parts of the set.
    """
    with commit.writing(path) as edition:
        stored, fresh = _proven(opened, path)
        if fresh.state == "fresh":
            return _revalidated(opened, path, stored.manifest)
        made = _continued(opened, stored, build, make, edition)
        manifest = made.manifest
        assert manifest.delta is not None
        if manifest.delta.records <= COMPACT_FROM * manifest.base.records:
            return SetUpdated(made)
        try:
            again, _fresh = _proven(opened, path)
            compacted = _compacted(opened, again, make, edition + 1)
        except KeyIndexError as error:
            return SetUpdated(made, full_advised=error.reason)
        return SetUpdated(made, compacted=compacted)


def compact(opened: OpenedSet, path: Path, make: MakeSegments) -> SetMade | None:
    """Merge base and delta, without reading the set; None if there is no delta."""
    with commit.writing(path) as edition:
        stored, _fresh = _proven(opened, path)
        if stored.manifest.delta is None:
            return None
        return _compacted(opened, stored, make, edition)


def _proven(opened: OpenedSet, path: Path) -> tuple[SetStored, Freshness]:
    match read(path):
        case None:
            raise KeyIndexError(opened.path, str(path), "missing", "there is no index")
        case Unreadable(fault=fault, reason=reason):
            raise KeyIndexError(opened.path, str(path), fault, reason)
        case SetStored() as found:
            stored, fresh = fitting(found, opened)
            if fresh.state == "stale":
                raise KeyIndexError(opened.path, str(path), "stale", fresh.reason)
            return stored, fresh


def _revalidated(opened: OpenedSet, path: Path, manifest: Manifest) -> SetUpdated:
    """Write the present times of parts that are proven to be the same."""
    noted = restamped(manifest, opened)
    if noted == manifest:
        return SetUpdated()
    commit.publish(path, noted)
    return SetUpdated(revalidated=True)


def _continued(
    opened: OpenedSet,
    stored: SetStored,
    build: KeyBuild,
    make: MakeSegments,
    edition: int,
) -> SetMade:
    known = stored.manifest
    count = len(known.base.segments)
    how = _scan_of(opened, as_it_was(known, build), len(opened.parts), count)
    counted = _Counted(Counted(opened.path, build, stored.whole.lines.lines))
    cut = slices(opened.parts, build.bytes_at_once, len(known.parts))
    path = stored.path
    with _explaining(opened, path):
        made = make(how, cut, _kept(stored, whole=False), path, counted.add)
    if known.delta is not None:
        counted.lines.plain_numbers &= known.delta.plain_numbers
    parts = len(opened.parts) - known.base.parts
    delta = _layer(path, edition, made, counted, parts, delta=True)
    noted = restamped(known, opened).parts
    manifest = replace(
        known,
        edition=edition,
        parts=(*noted, *_covered(opened, counted, len(known.parts))),
        delta=delta,
    )
    commit.publish(path, manifest)
    return SetMade(path, manifest, counted.lines.lines, tuple(counted.lines.skipped))


def _compacted(
    opened: OpenedSet, stored: SetStored, make: MakeSegments, edition: int
) -> SetMade:
    known, path = stored.manifest, stored.path
    assert known.delta is not None
    build = as_it_was(known, KeyBuild(known.key))
    count = len(known.base.segments)
    how = _scan_of(opened, build, len(known.parts), count)
    counted = _Counted(Counted(opened.path, build))
    counted.lines.plain_numbers = known.base.plain_numbers and known.delta.plain_numbers
    with _explaining(opened, path):
        made = make(how, [], _kept(stored, whole=True), path, counted.add)
    base = _layer(path, edition, made, counted, len(known.parts), delta=False)
    manifest = replace(known, edition=edition, base=base, delta=None)
    commit.publish(path, manifest)
    return SetMade(path, manifest, stored.whole.lines, ())


def as_it_was(known: Manifest, build: KeyBuild) -> KeyBuild:
    """Return the build that updates an index, or makes the same index again."""
    return replace(
        build,
        fields=known.key,
        unique=known.mode == "unique",
        max_line=known.max_line,
        max_depth=known.max_depth,
    )


@contextmanager
def _explaining(opened: OpenedSet, path: Path) -> Iterator[None]:
    """Raise the error of an index that cannot be updated."""
    try:
        yield
    except FewBitsError:
        raise KeyIndexError(opened.path, str(path), "stale", "buckets_full") from None
    except SidecarError as error:
        # If a part was changed, that is the error, not the index.
        opened.check()
        raise KeyIndexError(opened.path, str(path), "corrupt", error.damage) from None


def _scan_of(opened: OpenedSet, build: KeyBuild, parts: int, segments: int) -> SetScan:
    return SetScan(
        opened.path,
        opened.parts[:parts],
        opened.sources[:parts],
        build.fields,
        build.unique,
        build.max_line,
        build.max_depth,
        segments,
        all_skipped=build.skipped is not None,
    )


def _kept(stored: SetStored, *, whole: bool) -> list[KeptSegment | None]:
    known = stored.manifest
    deltas: Sequence[SegmentFile | None] = [None] * len(known.base.segments)
    if known.delta is not None:
        deltas = known.delta.segments
    covers = stored.meta.coverage_end
    return [
        KeptSegment(base.name, None if delta is None else delta.name, whole, covers)
        for base, delta in zip(known.base.segments, deltas, strict=True)
    ]


def _layer(
    path: Path,
    edition: int,
    made: Sequence[MadeSegment],
    counted: _Counted,
    parts: int,
    *,
    delta: bool,
) -> Layer:
    """Rename the segments."""
    in_order = sorted(made)
    temporary = [each.temporary for each in in_order]
    names = commit.named(path, edition, temporary, delta=delta)
    segments = tuple(
        SegmentFile(name, each.bytes, each.records, each.keys, each.build)
        for name, each in zip(names, in_order, strict=True)
    )
    return Layer(parts, counted.lines.plain_numbers, segments)


def _covered(opened: OpenedSet, counted: _Counted, first: int) -> list[CoveredPart]:
    """Return the parts from number `first` on, which were scanned."""
    numbers = range(first, len(opened.parts))
    return [
        CoveredPart(
            part.path,
            part.bytes,
            part.logical_bytes,
            part.digest,
            opened.sources[number].mtime_ns,
            counted.of_part.get(number, Lines()),
        )
        for number in numbers
        for part in (opened.parts[number],)
    ]
