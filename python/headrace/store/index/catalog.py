"""Index catalog: the index files of one source, and the paths for a new one.

There is a `Catalog` for each kind of index, which says how its files are named; the search is
the same. Of a kind without names, a source has one index; of a kind with names, one for each
key. A new index replaces one of the same fields, or a damaged one; any other index only if
forced, and other files never.

The first index of ``DATA`` by key is ``DATA.jnx``; those of other keys are ``DATA.jnx.KEY``.
Characters of a field name that have a meaning in a path, or in these names, are escaped as in
URLs.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast
from urllib.parse import quote

from headrace.errors import KeyIndexError, UsageError
from headrace.store.files import system
from headrace.store.files.sidecars import sidecar_places
from headrace.store.index.stored_index import Stored, Unreadable, Where, place_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SUFFIX = ".jnx"

_RESERVED = frozenset({"graph", "delta", "tmp", "lock"})
_LONGEST = 100
_MEANS_SOMETHING = re.compile(r"[%+/.~\x00-\x1f\x7f]")

S = TypeVar("S", bound=Stored[Any, Any])

Fields: TypeAlias = "Sequence[str | None]"
"""The fields of a key, or of edges; a graph may have no field for the predicate."""


@dataclass(frozen=True, slots=True)
class Catalog(Generic[S]):
    """The files of one kind of index.

    `plain` is the suffix of the first index of a source, whatever its fields; None if there is no
    such name. If the kind is `named`, an index may also have the name of its key.
    """

    stored: type[S]
    read: Callable[[Path], S | Unreadable | None]
    plain: str | None
    named: bool

    def find(
        self, location: str, where: Where, fields: Fields | None = None
    ) -> S | Unreadable | None:
        """Return the index of some fields, or the file in its place.

        Without `fields`, the source must have only one index.
        """
        unreadable = None
        found: dict[Fields, S] = {}
        for path in self._candidates(location, where, fields):
            match self.read(path):
                case None:
                    pass
                case Unreadable() as wrong:
                    unreadable = unreadable or wrong
                case stored if fields is None or stored.fields == tuple(fields):
                    found.setdefault(stored.fields, stored)
                    if not self.named:
                        break
                case _:
                    pass
        if len(found) > 1:
            keys = " ".join(map(_text, found))
            raise UsageError(f"{location}: has several indexes; name one of: {keys}")
        return next(iter(found.values()), unreadable)

    def required(
        self, location: str, where: Where, fields: Fields | None = None
    ) -> S | Unreadable:
        """Return what `find` does; raise if there is no file."""
        found = self.find(location, where, fields)
        if found is None:
            raise self.missing(location, where, fields)
        return found

    def destinations(
        self, location: str, where: Where, fields: Fields, *, force: bool = False
    ) -> Iterator[Path]:
        """Yield the paths where a new index may be written, the best one first.

        `force` replaces an index of other fields, but not one that has the name of its key.
        """
        if where.path is not None:
            groups: list[tuple[Path, ...]] = [(Path(where.path),)]
        else:
            suffixes = self._suffixes(fields)
            each = [sidecar_places(location, s, where.directory) for s in suffixes]
            groups = list(zip(*each, strict=True))
        for *named, last in groups:
            path = next((p for p in named if self._is_index(p)), None)
            if path is None and self._may_replace(last, fields, force=force):
                path = last
            if path is None:
                path = next((p for p in named if self._may_replace(p, fields)), None)
            if path is not None:
                yield path
            elif not self.named:
                # An index in another place would not be the first to be found.
                return

    def taken(self, location: str, where: Where, fields: Fields) -> KeyIndexError:
        """Return the error that a new index has no place."""
        path = self._first_path(location, where, fields)
        known = self.read(path)
        if isinstance(known, Stored) and self.plain is not None:
            reason = f"it is of the fields {_text(known.fields, ', ')}"
            return self.stored.ERROR(location, str(path), "taken", reason)
        reason = "something else is in its place"
        return self.stored.ERROR(location, str(path), "foreign", reason)

    def missing(
        self,
        location: str,
        where: Where,
        fields: Fields | None = None,
        options: str | None = None,
    ) -> KeyIndexError:
        """Return the error that there is no index; `options` of `headrace index build` make one."""
        path = self._first_path(location, where, fields)
        reason = f"there is no {self.stored.NAME}"
        if self.named and fields:
            reason += f" for {_text(fields)}"
            options = key_options(cast("Sequence[str]", fields), where)
        return self.stored.ERROR(
            location, str(path), "missing", reason, options or self.stored.ERROR.build
        )

    def _candidates(
        self, location: str, where: Where, fields: Fields | None
    ) -> Iterator[Path]:
        if where.path is not None:
            yield Path(where.path)
        elif fields is not None or not self.named:
            for suffix in self._suffixes(fields):
                yield from sidecar_places(location, suffix, where.directory)
        else:
            for place in sidecar_places(location, SUFFIX, where.directory):
                if self.plain is not None:
                    yield place
                yield from _named_beside(place)

    def _suffixes(self, fields: Fields | None) -> list[str]:
        """Return the suffixes that an index may have, that of its key first."""
        named = []
        if self.named and fields is not None:
            named = [suffix_of(cast("Sequence[str]", fields))]
        return named if self.plain is None else [*named, self.plain]

    def _first_path(self, location: str, where: Where, fields: Fields | None) -> Path:
        """Return the path to name where there is no index."""
        if where.path is not None:
            return Path(where.path)
        suffix = self.plain or [*self._suffixes(fields), SUFFIX][0]
        return next(sidecar_places(location, suffix, where.directory))

    def _is_index(self, path: Path) -> bool:
        return isinstance(self.read(path), Stored)

    def _may_replace(self, path: Path, fields: Fields, *, force: bool = False) -> bool:
        match self.read(path):
            case None:
                return True
            case Unreadable(fault=fault):
                return fault == "corrupt"
            case stored:
                return force or stored.fields == tuple(fields)


def key_options(fields: Sequence[str], where: Where) -> str:
    """Return the options of `headrace index build` for an index of a key.

    >>> from headrace.store.index.stored_index import Where
    >>> key_options(["id"], Where()), key_options(["a b", "c"], Where(path="x.jnx"))
    ('--on id', "--on 'a b,c' --index x.jnx")
    """
    return f"--on {shlex.quote(_text(fields))}{place_options(where)}"


def _text(fields: Fields, separator: str = ",") -> str:
    return separator.join(field for field in fields if field is not None)


def _named_beside(place: Path) -> Iterator[Path]:
    """Yield the paths that begin with the name of `place`, and end with the name of a key."""
    if not place.parent.is_dir():
        return
    prefix = f"{place.name}."
    for name in sorted(system.calls.list_directory(place.parent)):
        if name.startswith(prefix) and is_index_name(name.removeprefix(prefix)):
            yield place.with_name(name)


def suffix_of(fields: Sequence[str]) -> str:
    """Return the suffix of the index of a key if ``.jnx`` is taken.

    >>> suffix_of(["customer_id"]), suffix_of(["a.b", "c+d"]), suffix_of(["graph"])
    ('.jnx.customer_id', '.jnx.a%2Eb+c%2Bd', '.jnx.%67raph')
    """
    text = "+".join(_MEANS_SOMETHING.sub(_escaped, field) for field in fields)
    if text in _RESERVED or not text:
        text = f"%{ord(text[0]):02X}{text[1:]}" if text else "%"
    if len(text.encode()) > _LONGEST:
        # A file name has at most 255 bytes, and the name of the data comes first.
        text = "~" + hashlib.sha256(text.encode()).hexdigest()[:32]
    return f"{SUFFIX}.{text}"


def is_index_name(name: str) -> bool:
    """Whether the text after ``DATA.jnx.`` is the name of a key.

    >>> [is_index_name(name) for name in ("id", "a+b", "delta", "id.delta", "lock")]
    [True, True, False, False, False]
    """
    return name not in _RESERVED and "." not in name


def _escaped(found: re.Match[str]) -> str:
    special = {".": "%2E", "~": "%7E"}
    return special.get(found[0]) or quote(found[0], safe="")
