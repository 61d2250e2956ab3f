"""Sidecar paths: the places where derived files of a data file may be."""

import os
from collections.abc import Iterator
from pathlib import Path


def sidecar_places(
    location: str, suffix: str, directory: str | None = None
) -> Iterator[Path]:
    """Yield the paths where the sidecar of a file may be, the best path first.

    Beside the file, in the directory that ``HEADRACE_INDEX_DIR`` names, in the user's
    cache; with `directory`, only there.
    """
    data = Path(location)
    if directory is not None:
        yield _named_by_path(Path(directory), data, suffix)
        return
    yield data.with_name(data.name + suffix)
    if shared := os.environ.get("HEADRACE_INDEX_DIR"):
        yield _named_by_path(Path(shared), data, suffix)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    yield _named_by_path(Path(cache) / "headrace", data, suffix)


def _named_by_path(directory: Path, data: Path, suffix: str) -> Path:
    import hashlib

    digest = hashlib.sha256(os.fsencode(data.resolve())).hexdigest()[:16]
    return directory / f"{data.name}-{digest}{suffix}"
