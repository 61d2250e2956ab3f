"""A set as a whole in an object store: written by one, read by many, never half.

A publisher *claims* a generation by creating a file that must not be there, so that what
it uploads is its own; then it creates the metadata, which commits. Protocol:
docs/formats/shards.md.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.errors import SetLockedError, UnwritableError
from headrace.store.object_store import ObjectDirectory
from headrace.store.shards import names as naming
from headrace.store.shards.metadata import encode

if TYPE_CHECKING:
    from headrace.store.shards.metadata import Metadata, Part
    from headrace.store.shards.shard_set import ShardSet

_TRIES = 100
"""How many others may claim a generation at the same time."""


def publish(shards: ShardSet, url: str) -> str:
    """Copy a set to an object store as its next generation there; return its metadata."""
    shards.sources()  # raises unless each is there, and as long as it should be
    target = ObjectDirectory(url)
    generation = _claimed(target, shards.metadata.name)
    made = [_claim(shards.metadata.name, generation)]
    try:
        return _commit(target, _uploaded(shards, generation, target, made))
    except BaseException:
        for path in reversed(made):
            target.remove(path)
        raise


def _uploaded(
    shards: ShardSet, generation: int, target: ObjectDirectory, made: list[str]
) -> Metadata:
    """Upload the parts of a set; what was begun is put in `made`."""
    parts: list[Part] = []
    numbers: Counter[str] = Counter()
    for part in shards.metadata.parts:
        # Parts of several generations come into one directory.
        _old, *partition, file = part.path.split("/")
        directory = "/".join([_parts(shards.metadata.name, generation), *partition])
        suffix = file.partition(".jsonl")[2]
        path = f"{directory}/{naming.part_name(numbers[directory], suffix)}"
        numbers[directory] += 1
        made.append(path)
        target.upload(shards.directory / part.path, path, part.bytes)
        parts.append(replace(part, path=path))
    return replace(shards.metadata, generation=generation, parts=tuple(parts))


def _commit(target: ObjectDirectory, metadata: Metadata) -> str:
    file = f"{metadata.name}.meta-{metadata.generation:08}.json"
    if not target.create(file, encode(metadata)):
        holder = f"somebody who has not claimed generation {metadata.generation}"
        raise SetLockedError(target.at(metadata.name), holder)
    return target.at(file)


def _parts(name: str, generation: int) -> str:
    return f"{name}.parts-{generation:08}"


def _claim(name: str, generation: int) -> str:
    return f"{_parts(name, generation)}/_claim"


def _claimed(target: ObjectDirectory, name: str) -> int:
    """Return the number of a generation that is ours alone."""
    found = (
        naming.meta_file(each) or naming.parts_directory(each)
        for each in target.names()
    )
    taken = [each[1] for each in found if each is not None and each[0] == name]
    first = max(taken, default=0) + 1
    for generation in range(first, first + _TRIES):
        claim = _claim(name, generation)
        if target.create(claim, b""):
            # Some stores take the wish to create for a wish to write.
            if target.create(claim, b""):
                target.remove(claim)
                reason = (
                    "this store cannot create a file only if it is not there, so two "
                    "writers could destroy each other's sets; copy the set by other means"
                )
                raise UnwritableError(target.at(claim), reason, "nothing was committed")
            return generation
    raise SetLockedError(target.at(name), "many others who write it")
