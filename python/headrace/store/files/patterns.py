"""Glob patterns of paths.

As `glob.glob(pattern, recursive=True)`, but ``**`` does not follow links to directories, as in
shells: a link to a parent directory would list its files again and again.
"""

import glob
import os
from collections.abc import Iterator

_DEEP = "**"


def matches(pattern: str) -> list[str]:
    """List the paths that match a pattern, sorted and without duplicates."""
    return sorted(set(_matches(pattern)))


def _matches(pattern: str) -> Iterator[str]:
    parts = pattern.split("/")
    if _DEEP not in parts:
        yield from glob.iglob(pattern)  # noqa: PTH207, a Path has no globs that begin at the root
        return
    at = parts.index(_DEEP)
    above, below = "/".join(parts[:at]), "/".join(parts[at + 1 :])
    if at + 1 == len(parts):
        below = "*"  # the walk yields directories, and this lists their entries
    for top in _tops(above, at):
        if at + 1 == len(parts) and os.path.isdir(top):  # noqa: PTH112, a Path loses the slash
            yield top
        for directory in _directories(top):
            yield from _matches(f"{glob.escape(directory)}{below}")


def _tops(above: str, at: int) -> Iterator[str]:
    """Yield the directories to begin in, with a slash at the end, or an empty text for this one."""
    if at == 0:
        yield ""
    elif not above:
        yield "/"
    else:
        yield from (f"{top.rstrip('/')}/" for top in matches(above))


def _directories(top: str) -> Iterator[str]:
    """Yield a directory and all directories below it, without hidden ones and links."""
    yield top
    try:
        with os.scandir(top or ".") as entries:
            below = sorted(
                entry.name
                for entry in entries
                if entry.is_dir(follow_symlinks=False)
                and not entry.name.startswith(".")
            )
    except OSError:
        return  # not a directory, or not readable: `glob` treats both as empty
    for name in below:
        yield from _directories(f"{top}{name}/")
