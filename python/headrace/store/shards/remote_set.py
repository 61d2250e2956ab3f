"""A set in an object store, as its readers see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import BadSetError, SourceNotFoundError, UsageError
from headrace.store.checked_json import is_whole
from headrace.store.object_store import ObjectDirectory
from headrace.store.shards import names as naming
from headrace.store.shards.metadata import LONGEST, decode

if TYPE_CHECKING:
    from headrace.store.shards.metadata import Metadata


def is_remote_set(url: str) -> bool:
    """Whether a URL can only mean a set: it ends with ``/``, or names metadata.

    Of the web, any URL may be a file, and nobody can list what is there.

    >>> is_remote_set("s3://bucket/set/"), is_remote_set("https://host/events/")
    (True, False)
    """
    if naming.meta_file(url.rpartition("/")[2]) is not None:
        return True
    return url.endswith("/") and not url.lower().startswith(("http://", "https://"))


def remote_parts(url: str) -> list[tuple[str, int, str]]:
    """Return URL, size and codec of each part of a set, as it was committed last."""
    directory, _slash, file = url.rpartition("/")
    place = ObjectDirectory(directory)
    named = naming.meta_file(file)
    metadata = _newest(place) if named is None else _load(place, *named)
    if metadata is None:
        if named is None and not place.names():
            raise SourceNotFoundError(url)
        raise BadSetError(url, "no set was ever committed there")
    codec = metadata.compression.codec
    return [(place.at(part.path), part.bytes, codec) for part in metadata.parts]


def _newest(place: ObjectDirectory) -> Metadata | None:
    found = [each for each in map(naming.meta_file, place.names()) if each is not None]
    several = sorted({name for name, _generation in found})
    if len(several) > 1:
        raise UsageError(
            f"{place.url}/: has several sets: {', '.join(several)}; name the metadata of "
            f"one: {place.at(f'{several[0]}.meta-00000001.json')}"
        )
    for name, generation in sorted(found, reverse=True):
        if (metadata := _load(place, name, generation)) is not None:
            return metadata
    return None


def _load(place: ObjectDirectory, name: str, generation: int) -> Metadata | None:
    file = f"{name}.meta-{generation:08}.json"
    content = place.content(file, LONGEST + 1)
    if content is None or not is_whole(content):
        return None
    if len(content) > LONGEST:
        raise BadSetError(place.at(file), f"it is longer than {LONGEST} bytes")
    return decode(content, place.at(file), name, generation)
