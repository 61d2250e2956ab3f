"""Set index directories: how one is opened, and whether it fits the set.

An index is used for the parts that it is proven to cover. Parts are written once, so it is enough
that the set names the same parts, and that size and times of each are unchanged; otherwise the part
must have the digest in the metadata of the set. A set that has more parts has *grown*. Readers
delete nothing.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headrace.kernel.index_meta import SourceMark
from headrace.kernel.key_index import KeyIndex, Meta
from headrace.kernel.rows import SidecarError, reading
from headrace.store.index.catalog import Catalog
from headrace.store.index.key import Stored
from headrace.store.index.set.manifest import (
    FILE_NAME,
    BadManifestError,
    Manifest,
    decode,
    lines_of,
)
from headrace.store.index.stored_index import Delta, Freshness, Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.store.shards.opened_set import OpenedSet

TRIES = 5
"""Limit on attempts to open an index that is replaced meanwhile."""


@dataclass(frozen=True, slots=True)
class SetStored(Stored):
    """The opened index of a set. `path` is its directory."""

    manifest: Manifest = field(kw_only=True)

    @property
    def newest_path(self) -> Path:
        """The file that describes the latest state of the set."""
        return self.path / FILE_NAME

    def without_delta(self) -> SetStored:
        """Return the index of the first parts alone."""
        with reading(str(self.path)):
            return _opened(self.path, self.manifest.without_delta())


def read(path: Path) -> SetStored | Unreadable | None:
    """Open the index in a directory; None if there is none."""
    for attempt in range(TRIES):
        content = _content(path)
        if not isinstance(content, bytes):
            return content
        try:
            manifest = decode(content)
        except BadManifestError as error:
            fault = "newer" if error.newer else "corrupt"
            return Unreadable(path, fault, error.reason)  # type: ignore[arg-type]
        try:
            with reading(str(path)):
                return _opened(path, manifest)
        except SidecarError as error:
            return Unreadable(path, "corrupt", error.damage)
        except FileNotFoundError:
            # Another process replaced it meanwhile, or a file was removed.
            if attempt + 1 < TRIES and _content(path) != content:
                continue
            return Unreadable(path, "corrupt", "one of its segments is missing")
        except OSError as error:
            return Unreadable(path, "foreign", f"cannot be read: {error.strerror}")
    return Unreadable(path, "corrupt", "it is replaced faster than it can be opened")


def _content(path: Path) -> bytes | Unreadable | None:
    """Return the manifest in a directory, None if there is no directory."""
    try:
        if not stat.S_ISDIR(path.stat().st_mode):
            return Unreadable(path, "foreign", "not a directory")
        return (path / FILE_NAME).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        # A build that was killed leaves a directory without a manifest.
        return None
    except OSError as error:
        return Unreadable(path, "foreign", f"cannot be read: {error.strerror}")


def _opened(path: Path, manifest: Manifest) -> SetStored:
    layers = list(manifest.layers)
    files = [[path / each.name for each in layer.segments] for layer, _parts in layers]
    index = KeyIndex.in_segments(*files)
    named = [(int(each.build, 16), each.bytes) for each in manifest.segments]
    if index.segments != named:
        raise SidecarError(str(path), 0, "a segment does not match the manifest")
    metas = list(_metas(manifest))
    delta = None
    if len(metas) > 1:
        size = layers[1][0].bytes
        delta = Delta(path / FILE_NAME, metas[1], index.version, size)
    return SetStored(path, index, metas[0], delta, manifest=manifest)


def _metas(manifest: Manifest) -> Iterator[Meta]:
    """Yield the descriptions of base and delta, as if the set were one file of all its rows."""
    begins, on_disk = 0, 0
    for layer, parts in manifest.layers:
        end = begins + sum(part.logical_bytes for part in parts)
        on_disk += sum(part.bytes for part in parts)
        lines = lines_of(parts)
        base_is_plain = begins == 0 or manifest.base.plain_numbers
        yield Meta(
            key=manifest.key,
            mode=manifest.mode,
            records=lines.records,
            keys=layer.keys,
            lines=lines,
            plain_numbers=layer.plain_numbers and base_is_plain,
            max_line=manifest.max_line,
            max_depth=manifest.max_depth,
            logical_size=end,
            coverage_end=end,
            hashed=begins,
            source=source_mark(on_disk),
            covers=begins,
        )
        begins = end


def source_mark(size: int) -> SourceMark:
    """Return the mark of a set for the core, which is never compared."""
    return SourceMark(size, 0, 0, 0, 0, "", "", "none")


INDEXES = Catalog(SetStored, read, plain=None, named=True)


def fitting(
    stored: SetStored, opened: OpenedSet, *, prove: bool = True
) -> tuple[SetStored, Freshness]:
    """Compare the parts of a set with the parts that its index covers.

    `prove`: parts may be read for that; otherwise a difference in times means stale. If the delta
    does not fit, the base may: the index to use is returned too.
    """
    fresh = _freshness(stored.manifest, opened, prove=prove)
    if fresh.state == "stale" and stored.delta is not None:
        return fitting(stored.without_delta(), opened, prove=prove)
    return stored, fresh


def _freshness(manifest: Manifest, opened: OpenedSet, *, prove: bool) -> Freshness:
    covered = manifest.parts
    if len(opened.parts) < len(covered):
        return Freshness("stale", "set_replaced")
    for number, part in enumerate(covered):
        if not part.is_of(opened.parts[number]):
            return Freshness("stale", "set_replaced")
    for number, part in enumerate(covered):
        if not part.is_unchanged(opened.sources[number], prove=prove):
            reason = "part_modified" if prove else "source_unproven"
            return Freshness("stale", reason)
    if len(opened.parts) > len(covered):
        return Freshness("grown", "set_grown")
    return Freshness("fresh")


def restamped(manifest: Manifest, opened: OpenedSet) -> Manifest:
    """Return a manifest with the present times of the parts, which are proven to be the same."""
    pairs = zip(manifest.parts, opened.sources, strict=False)
    parts = tuple(replace(part, mtime_ns=source.mtime_ns) for part, source in pairs)
    return replace(manifest, parts=parts)
