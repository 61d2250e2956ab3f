"""Publish: copy a whole set to an object store.

The parts are uploaded and committed as those of a job. Protocol: docs/formats/shards.md.
"""

import random
import time
from collections import Counter
from dataclasses import replace

from headrace.errors import SetLockedError, UncertainCommitError
from headrace.store.shards import names as naming
from headrace.store.shards.job.object_store import RemoteAttempt, RemoteHome
from headrace.store.shards.metadata import Part
from headrace.store.shards.remote_set import RemoteSet
from headrace.store.shards.shard_set import ShardSet

_TRIES = 100
"""Limit on attempts to commit while other writers commit."""


def publish(shards: ShardSet, url: str) -> str:
    """Copy a set to an object store as its next generation there; return its metadata."""
    shards.sources()  # raises if a part is missing or has another size
    names = RemoteSet(url.rstrip("/"), shards.metadata.name)
    names.store.refuse_unless_creating(naming.probe_name(names.name))
    home = RemoteHome(names, max(names.committed(), default=0) + 1)
    attempt = home.attempt(0)
    try:
        parts = _uploaded(shards, attempt)
    except BaseException:
        attempt.discard()
        raise
    try:
        committed = _committed(shards, home, parts)
    except UncertainCommitError:
        raise  # readers may see the parts
    except Exception:
        attempt.discard()
        raise
    return names.store.at(names.meta(committed))


def _committed(shards: ShardSet, home: RemoteHome, parts: list[Part]) -> int:
    """Commit parts, after other writers; return the number of the generation."""
    for _ in range(_TRIES):
        generation = home.generation()
        taken = tuple(generation.take(parts))
        number = generation.number
        try:
            generation.commit(replace(shards.metadata, generation=number, parts=taken))
        except SetLockedError:
            time.sleep(
                random.uniform(0.01, 0.2)
            )  # so that two writers do not collide again
        else:
            return number
    raise SetLockedError(home.names.text, "many other writers")


def _uploaded(shards: ShardSet, attempt: RemoteAttempt) -> list[Part]:
    """Upload the parts of a set."""
    parts: list[Part] = []
    numbers: Counter[str] = Counter()
    for part in shards.metadata.parts:
        # Parts of several generations are copied into one directory.
        _old, *partition, file = part.path.split("/")
        directory = "/".join(partition)
        name = naming.part_name(numbers[directory], naming.suffix(file))
        numbers[directory] += 1
        inside = "/".join([*partition, name])
        path = attempt.upload(shards.directory / part.path, inside, part.bytes)
        parts.append(replace(part, path=path))
    return parts
