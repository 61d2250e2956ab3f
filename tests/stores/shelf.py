"""An object store for several processes: files on a disk, with the rules of a store.

A file appears whole; of several creators of one name, one succeeds; no file is renamed, and
directories are nothing but names. `shelf:///a/b` is what the directory `/a/b` has.
"""

import os
import tempfile
from pathlib import Path

import fsspec
from fsspec.implementations.local import LocalFileSystem

_HIDDEN = ".in-the-making-"


class Shelf(LocalFileSystem):
    protocol = "shelf"

    def ls(self, path, detail=False, **more):
        found = super().ls(path, detail=detail, **more)
        return [
            each for each in found if _HIDDEN not in (each["name"] if detail else each)
        ]

    def pipe_file(self, path, value, mode="overwrite", **_more):
        self._put(Path(self._strip_protocol(path)), value, new=mode == "create")

    def put_file(self, lpath, rpath, callback=None, mode="overwrite", **_more):
        assert callback is None
        self.pipe_file(rpath, Path(lpath).read_bytes(), mode=mode)

    def mv(self, *_arguments, **_more):
        raise NotImplementedError("a store has no rename")

    def _put(self, path, value, *, new):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, made = tempfile.mkstemp(prefix=_HIDDEN, dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(value)
            if new:
                os.link(made, path)
            else:
                os.link(made, f"{made}-2")
                Path(f"{made}-2").replace(path)
        finally:
            Path(made).unlink()


def shelf(directory):
    """Return the URL of a directory as one of the store."""
    fsspec.register_implementation("shelf", Shelf, clobber=True)
    return f"shelf://{directory}"


def stored(directory):
    """Return the names of all files, except those that probe the features of the store."""
    return {
        path.relative_to(directory).as_posix()
        for path in Path(directory).rglob("*")
        if path.is_file() and not path.name.endswith(".probe")
    }
