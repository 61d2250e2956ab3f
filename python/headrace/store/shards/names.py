"""File names of a set, and the sets and parts that names tell.

Only files with exactly such names are ever written or removed; all other files in the directory
belong to other programs.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from headrace.errors import SourceNotFoundError, UsageError
from headrace.kernel.rows import reading
from headrace.record import record
from headrace.store.files import system

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The directory value of records without a value, as Hive and Spark write it."""

SIDECAR = ".ckpt"

_LONGEST = 255
"""Bytes of a file name, on about every file system."""

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_GENERATION = r"[0-9]{8}|[1-9][0-9]{8,17}"
_TEMPORARY = r"\.tmp-[0-9]+-[0-9a-f]{8}"
_PART = r"part-[0-9]{8,18}(?:-[0-9a-f]{16})?\.jsonl(?:\.[a-z0-9]+)?"

_VALID = re.compile(_NAME)
_META = re.compile(rf"({_NAME})\.meta-({_GENERATION})\.json")
_PARTS = re.compile(rf"({_NAME})\.parts-({_GENERATION})")
_LOCK = re.compile(rf"\.({_NAME})\.lock")
_META_TEMPORARY = re.compile(rf"\.({_NAME})\.meta-(?:{_GENERATION})\.json{_TEMPORARY}")
_PART_FILE = re.compile(_PART)
_INDEX = r"\.jnx(?:\.[^/]+)?"
_ANY_PART_FILE = re.compile(
    rf"(?P<of>{_PART})(?:\{SIDECAR}|{_INDEX})?"
    rf"|\.{_PART}(?:\{SIDECAR}|{_INDEX})?{_TEMPORARY}"
)
_PARTITION = re.compile(r"[^/=]+=[^/=]+")
_PROBE = re.compile(rf"\.({_NAME})\.probe")
_STAGING = re.compile(rf"\.({_NAME})\.staging-[0-9a-f]{{16}}")
_SUPERSEDED = re.compile(rf"\.({_NAME})\.superseded")
_ATTEMPT = re.compile(r"task-[0-9]{8,18}-[0-9a-f]{16}")

# What Hive and Spark escape in the names of partition directories.
_ESCAPED = re.compile(r"[\x00-\x1f\x7f\"#%'*/:=?\\{\[\]^]")


@record
class SetNames:
    """The names of one set's files.

    >>> str(SetNames(Path("out"), "rows").meta(7))
    'out/rows.meta-00000007.json'
    """

    directory: Path
    name: str

    @property
    def lock(self) -> Path:
        """The lock file, for one writer at a time."""
        return self.directory / f".{self.name}.lock"

    def meta(self, generation: int) -> Path:
        """Return the metadata file, which commits a generation."""
        return self.directory / meta_name(self.name, generation)

    def parts(self, generation: int) -> Path:
        """Return the directory of the parts of a generation."""
        return self.directory / parts_name(self.name, generation)

    def staging(self, token: str) -> Path:
        """Return the staging directory of a job."""
        return self.directory / f".{self.name}.staging-{token}"

    @property
    def superseded(self) -> Path:
        """The hidden directory of parts that the newest generation does not name."""
        return self.directory / f".{self.name}.superseded"

    def places(self, generation: int) -> tuple[Path, Path]:
        """Return the directories of a generation: before and after it was superseded."""
        return self.parts(generation), self.superseded / self.parts(generation).name

    @property
    def text(self) -> str:
        """The name of the set in messages."""
        return str(self.directory / self.name)


def part_of_set(location: str) -> tuple[SetNames, str] | None:
    """Return the set that a file may be a part of, and its path in the set.

    >>> part_of_set("out/rows.parts-00000001/part-00000000.jsonl")[1]
    'rows.parts-00000001/part-00000000.jsonl'
    """
    path = Path(location)
    for above in list(path.parents)[:2]:
        found = parts_directory(above.name)
        if found and not _SUPERSEDED.fullmatch(above.parent.name):
            inside = path.relative_to(above.parent).as_posix()
            return SetNames(above.parent, found[0]), inside
    return None


def is_part_of_set(location: str) -> bool:
    """Whether a file is a part of a set, by its path.

    >>> is_part_of_set("out/rows.parts-00000001/k=v/part-00000000.jsonl")
    True
    >>> is_part_of_set("out/part-00000000.jsonl")
    False
    """
    path = Path(location)
    above = (parent.name for parent in list(path.parents)[:2])
    return bool(_PART_FILE.fullmatch(path.name)) and any(map(parts_directory, above))


def superseded_path(location: str) -> Path | None:
    """Return the path of a part after it was superseded, None if it is not a part.

    >>> str(superseded_path("out/rows.parts-00000001/part-00000000.jsonl"))
    'out/.rows.superseded/rows.parts-00000001/part-00000000.jsonl'
    """
    found = part_of_set(location)
    return None if found is None else found[0].superseded / found[1]


def check_name(name: object) -> str:
    """Return `name` if a set can have it."""
    if not isinstance(name, str) or not _VALID.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a set; use at most 100 letters, digits, '.', "
            "'_' and '-', and begin with a letter or digit"
        )
    return name


def meta_name(name: str, generation: int) -> str:
    """Return the name of the metadata file of a generation.

    >>> meta_name("rows", 7), parts_name("rows", 7)
    ('rows.meta-00000007.json', 'rows.parts-00000007')
    """
    return f"{name}.meta-{generation:08}.json"


def parts_name(name: str, generation: int) -> str:
    """Return the name of the directory of parts of a generation."""
    return f"{name}.parts-{generation:08}"


def probe_name(name: str) -> str:
    """Return the name of the file that tests what an object store supports."""
    return f".{name}.probe"


def meta_file(file_name: str) -> tuple[str, int] | None:
    """Return the set and the generation of a metadata file.

    >>> meta_file("rows.meta-00000007.json"), meta_file("model.meta-v1.json")
    (('rows', 7), None)
    """
    match = _META.fullmatch(file_name)
    return (match[1], int(match[2])) if match else None


def generations(file_names: Iterable[str], name: str) -> list[int]:
    """List the generations of a set by the names of their metadata files, newest first."""
    found = map(meta_file, file_names)
    return sorted((each[1] for each in found if each and each[0] == name), reverse=True)


def parts_directory(file_name: str) -> tuple[str, int] | None:
    """Return the set and the generation of a directory of parts."""
    match = _PARTS.fullmatch(file_name)
    return (match[1], int(match[2])) if match else None


def meta_temporary(file_name: str) -> str | None:
    """Return the set if the name is that of metadata that was never committed."""
    match = _META_TEMPORARY.fullmatch(file_name)
    return match[1] if match else None


def staging_directory(file_name: str) -> str | None:
    """Return the set if the name is that of a staging directory.

    >>> staging_directory(".rows.staging-0123456789abcdef")
    'rows'
    """
    match = _STAGING.fullmatch(file_name)
    return match[1] if match else None


def attempt_name(task: int, token: str) -> str:
    """Return the name of the directory of an attempt, in the staging directory of its job."""
    return f"task-{task:08}-{token}"


def is_attempt(file_name: str) -> bool:
    """Whether the name is that of the directory of an attempt."""
    return bool(_ATTEMPT.fullmatch(file_name))


def is_ours(file_name: str) -> bool:
    """Whether a name may be that of a file of a set, also one left by a dead writer."""
    patterns = (
        *(_META, _PARTS, _LOCK, _META_TEMPORARY, _STAGING, _PROBE),
        _SUPERSEDED,
    )
    return any(pattern.fullmatch(file_name) for pattern in patterns)


def part_name(number: int, suffix: str) -> str:
    """Return the name of a part.

    >>> part_name(3, ".zst")
    'part-00000003.jsonl.zst'
    """
    return f"part-{number:08}.jsonl{suffix}"


def suffix(file_name: str) -> str:
    """Return the suffix of a part for its codec.

    >>> suffix("part-00000003.jsonl.zst")
    '.zst'
    """
    return file_name.partition(".jsonl")[2]


def unique_part_name(file_name: str, token: str) -> str:
    """Return the name of a part if other parts may have its number.

    >>> unique_part_name("part-00000003.jsonl.zst", "0123456789abcdef")
    'part-00000003-0123456789abcdef.jsonl.zst'
    """
    stem, dot, suffix = file_name.partition(".")
    return f"{stem}-{token}{dot}{suffix}"


def is_part(file_name: str, suffix: str) -> bool:
    """Whether the name is that of a part with the suffix of its codec."""
    fits = file_name.endswith(f".jsonl{suffix}")
    return fits and bool(_PART_FILE.fullmatch(file_name))


def is_part_or_beside(file_name: str) -> bool:
    """Whether the name is that of a part, its sidecar or index, or a temporary file of these."""
    return bool(_ANY_PART_FILE.fullmatch(file_name))


def indexed_part(file_name: str) -> str | None:
    """Return the part if the name is that of an index of one.

    >>> indexed_part("part-00000003.jsonl.zst.jnx.id"), indexed_part("a.jsonl.jnx")
    ('part-00000003.jsonl.zst', None)
    """
    match = _ANY_PART_FILE.fullmatch(file_name)
    is_index = match and match["of"] and ".jnx" in file_name
    return match["of"] if match and is_index else None


def is_partition(file_name: str) -> bool:
    """Whether the name is that of the directory of a partition."""
    return bool(_PARTITION.fullmatch(file_name))


def partition_name(key: str, value: str | None) -> str | None:
    """Return the directory of the records with this value; None if it is too long.

    >>> partition_name("country", "a/b"), partition_name("country", None)
    ('country=a%2Fb', 'country=__HIVE_DEFAULT_PARTITION__')
    """
    name = f"{_escape(key)}={_escape(value or DEFAULT_PARTITION)}"
    return name if len(name.encode()) <= _LONGEST else None


def _escape(text: str) -> str:
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text)


def sets_in(directory: Path) -> list[str]:
    """List the names of all sets in a directory, also of sets that were never committed."""
    with reading(str(directory)):
        return sets_among(system.calls.list_directory(directory))


def sets_among(file_names: Iterable[str]) -> list[str]:
    """List the names of the sets that have a metadata file."""
    return sorted({each[0] for each in map(meta_file, file_names) if each is not None})


def is_superseded(part: str) -> bool:
    """Whether a part belongs to a generation with a newer one."""
    found = part_of_set(part)
    of = parts_directory(found[1].partition("/")[0]) if found else None
    if found is None or of is None:
        return False
    with suppress(OSError):
        committed = map(meta_file, system.calls.list_directory(found[0].directory))
        return any(each and each[0] == of[0] and each[1] > of[1] for each in committed)
    return False


def is_set(path: Path) -> bool:
    """Whether `path` names a set, or a directory with metadata of sets."""
    if path.is_dir():
        return bool(sets_in(path))
    if path.exists():
        return meta_file(path.name) is not None
    with suppress(OSError, SourceNotFoundError):
        return path.name in sets_in(path.parent)
    return False
