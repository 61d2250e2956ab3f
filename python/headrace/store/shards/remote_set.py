"""Sets in an object store, and the newest generation of each.

They have the file names and the metadata of sets on a file system. Format and protocol:
docs/formats/shards.md.
"""

from contextlib import suppress
from dataclasses import dataclass

from headrace.errors import (
    BadSetError,
    SourceNotFoundError,
    UnreadableError,
    UsageError,
)
from headrace.store.files.checked_json import is_whole
from headrace.store.files.object_store import ObjectDirectory
from headrace.store.files.remote import has_magic, is_web
from headrace.store.files.source import Source, is_url
from headrace.store.shards import names as naming
from headrace.store.shards.local_set import newest_of
from headrace.store.shards.metadata import LONGEST, Metadata, Part, decode


@dataclass(frozen=True, slots=True)
class RemoteSet:
    """One set, by the URL of its directory, without a final ``/``, and its name."""

    url: str
    name: str

    @property
    def text(self) -> str:
        """The name of the set in messages."""
        return f"{self.url}/{self.name}"

    @property
    def store(self) -> ObjectDirectory:
        """The directory of its files."""
        return ObjectDirectory(self.url)

    def at(self, path: str) -> str:
        """Return the path of a file of the set."""
        return f"{self.url}/{path}"

    def meta(self, generation: int) -> str:
        """Return the metadata file, which commits a generation."""
        return naming.meta_name(self.name, generation)

    def committed(self) -> list[int]:
        """List the numbers of all generations with a metadata file, newest first."""
        return naming.generations(self.store.names(), self.name)

    def load(self, generation: int) -> Metadata | None:
        """Return the metadata of a generation; None if it was never committed, or was removed."""
        file, store = self.meta(generation), self.store
        content = store.content(file, LONGEST + 1)
        if content is None or not is_whole(content):
            return None
        if len(content) > LONGEST:
            raise BadSetError(store.at(file), f"it is longer than {LONGEST} bytes")
        return decode(content, store.at(file), self.name, generation)

    def newest(self) -> Metadata | None:
        """Return the metadata of the present generation; None if none was committed."""
        return newest_of(self)

    def source(self, part: Part) -> Source:
        """Pin a part in its present state."""
        from headrace.store.files.source import remote_file  # imports this module

        try:
            return remote_file(self.at(part.path))
        except SourceNotFoundError:
            reason = "the metadata names it, but it is missing"
            raise BadSetError(self.at(part.path), reason) from None

    def vacuum(self, grace: float) -> list[int]:
        """Remove files that no reader needs; return the numbers of the removed generations."""
        from headrace.store.shards.vacuum.remote import vacuum

        return vacuum(self, grace)


def is_remote_set(url: str) -> bool:
    """Whether a URL can only name a set: it ends with ``/``, or names metadata.

    On a web server, any URL may be a file, and directories cannot be listed.

    >>> is_remote_set("s3://bucket/set/"), is_remote_set("https://host/events/")
    (True, False)
    """
    if naming.meta_file(url.rpartition("/")[2]) is not None:
        return True
    return url.endswith("/") and not is_web(url)


def may_be_set(url: str) -> bool:
    """Whether there seems to be a set at a URL that is no file."""
    if is_web(url) or has_magic(url):
        return False
    directory, _slash, name = url.rstrip("/").rpartition("/")
    with suppress(UnreadableError):
        return bool(_sets_in(url)) or name in _sets_in(directory)
    return False


def find_set(url: str, name: str | None = None) -> tuple[RemoteSet, int | None]:
    """Return the set that a URL names, and its generation if the URL names one.

    A set is named as on a file system: by its directory, if there is one set in it or `name`
    selects one, by directory and name, or by its metadata.
    """
    directory, _slash, last = url.rstrip("/").rpartition("/")
    if name is not None:
        return RemoteSet(url.rstrip("/"), name), None
    if (named := naming.meta_file(last)) is not None:
        return RemoteSet(directory, named[0]), named[1]
    place = ObjectDirectory(url)
    several = _sets_in(url)
    if len(several) > 1:
        raise UsageError(
            f"{place.url}/: has several sets: {', '.join(several)}; name one of them: "
            f"{place.at(several[0])}"
        )
    if several:
        return RemoteSet(place.url, several[0]), None
    if last in _sets_in(directory):
        return RemoteSet(directory, last), None
    if not place.names():
        raise SourceNotFoundError(url)
    raise BadSetError(url, "no set was ever committed there")


def _sets_in(url: str) -> list[str]:
    # The parent of a bucket is no URL.
    return naming.sets_among(ObjectDirectory(url).names() if is_url(url) else ())
