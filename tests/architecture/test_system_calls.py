"""Writers make system calls only through `store/files/system.py`, where tests inject faults."""

import ast
import os
from pathlib import Path

import headrace

PACKAGE = Path(headrace.__file__).parent
OF_MODULES = {
    "os": {
        *("write", "writev", "pwrite", "pwritev", "sendfile", "copy_file_range"),
        *("fsync", "fdatasync", "truncate", "ftruncate", "posix_fallocate"),
        *("rename", "replace", "link", "symlink", "unlink", "remove"),
        *("mkdir", "makedirs", "rmdir", "removedirs"),
    },
    "shutil": {"rmtree", "move", "copy", "copy2", "copyfile", "copytree"},
}
OF_PATHS = {
    *("unlink", "mkdir", "rmdir", "touch", "write_bytes", "write_text"),
    *("hardlink_to", "symlink_to"),
}


def is_mode_of_writing(argument):
    match argument:
        case ast.Constant(str(mode)):
            return bool(set(mode) & set("wax+"))
    return False


def changes(path):
    """Yield the calls in a module that change files."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(module), attr=name)) if (
                module in OF_MODULES
            ):
                if name in OF_MODULES[module]:
                    yield f"{module}.{name}"
            # Strings have a `replace` with two arguments as well, but no `rename`.
            case ast.Call(func=ast.Attribute(attr=name), args=args):
                on_seam = ast.unparse(node.func).startswith("system.calls.")
                moves = name == "rename" or (name == "replace" and len(args) == 1)
                writes = name == "open" and any(map(is_mode_of_writing, args))
                if (name in OF_PATHS or moves or writes) and not on_seam:
                    yield name


def test_the_names_of_calls_are_those_of_python():
    assert all(hasattr(os, name) for name in OF_MODULES["os"])
    assert all(hasattr(Path, name) for name in OF_PATHS)


def test_only_one_module_of_the_store_and_of_pipelines_changes_files():
    seam = PACKAGE / "store" / "files" / "system.py"
    assert len(list(changes(seam))) > 5
    files = [*(PACKAGE / "store").rglob("*.py"), *(PACKAGE / "pipeline").rglob("*.py")]
    assert len(files) > 80
    found = {
        path.relative_to(PACKAGE).as_posix(): sorted(changes(path))
        for path in files
        if path != seam
    }
    assert {path: calls for path, calls in found.items() if calls} == {}
