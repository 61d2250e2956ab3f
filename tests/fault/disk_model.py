"""Model of a disk that loses what was not synchronised.

`Recorder` makes the system calls of the log, and records them. `Disk` plays some of them
back and then cuts the power: the content of a file at its last sync survives; of later
writes any part may, in pieces of 512 bytes, and the rest is zeros or missing; a name
survives for certain only if its directory was synchronised since. Most file systems promise
more.
"""

from collections import defaultdict
from itertools import count
from pathlib import Path

from headrace.store.files.system import System

SECTOR = 512


class Recorder(System):
    """Makes calls and records them, with paths relative to a directory."""

    def __init__(self, root):
        self.root = Path(root)
        self.calls = []
        self._numbers = count()
        self._names = {}
        self._open = {}

    def _name(self, path):
        return path.relative_to(self.root).as_posix()

    def acknowledge(self, number):
        self.calls.append(("acknowledge", number))

    def removing(self, fewest, most):
        """Record how many lines are removed at least, and may be from now on."""
        self.calls.append(("removing", fewest, most))

    def create(self, path):
        descriptor = super().create(path)
        name = self._name(path)
        self._open[descriptor] = self._names[name] = next(self._numbers)
        self.calls.append(("link", name, self._names[name]))
        return descriptor

    def open(self, path, flags):
        descriptor = super().open(path, flags)
        name = self._name(path)
        if name not in self._names:
            self._names[name] = next(self._numbers)
            self.calls.append(("link", name, self._names[name]))
        self._open[descriptor] = self._names[name]
        return descriptor

    def pwrite(self, descriptor, data, offset):
        data = bytes(data)
        self.calls.append(("write", self._open[descriptor], offset, data))
        return super().pwrite(descriptor, data, offset)

    def truncate(self, descriptor, size):
        self.calls.append(("truncate", self._open[descriptor], size))
        super().truncate(descriptor, size)

    def sync_data(self, descriptor):
        self.calls.append(("sync", self._open[descriptor]))

    def rename(self, source, target):
        super().rename(source, target)
        old, new = self._name(source), self._name(target)
        self._names[new] = self._names.pop(old)
        self.calls.append(("rename", old, new, self._names[new]))

    def unlink(self, path):
        super().unlink(path)
        name = self._name(path)
        self._names.pop(name)
        self.calls.append(("unlink", name))

    def make_directory(self, path):
        super().make_directory(path)
        self.calls.append(("link", self._name(path), None))

    def sync_directory(self, path):
        self.calls.append(("sync names", self._name(path)))

    def adopt(self, found):
        """Register files and directories that exist already, as durable."""
        for name, content in sorted(found.items()):
            inode = None
            if content is not None:
                inode = self._names[name] = next(self._numbers)
                self.calls += [("write", inode, 0, content), ("sync", inode)]
            self.calls += [("link", name, inode), ("sync names", above(name))]


class Disk:
    """The durable state after some calls, and the changes that may survive as well."""

    def __init__(self, calls):
        self.acknowledged = 0
        self.removed = range(1)
        self._content = defaultdict(bytes)
        self._writes = defaultdict(list)
        self._names = {}
        self._changes = defaultdict(list)
        for name, *facts in calls:
            getattr(self, f"_{name.replace(' ', '_')}")(*facts)

    def _acknowledge(self, number):
        self.acknowledged = number

    def removable(self, _last):
        """Return how many lines may be removed."""
        return self.removed

    def _removing(self, fewest, most):
        self.removed = range(fewest, most + 1)

    def _link(self, name, inode):
        self._changes[above(name)].append({name: (inode,)})

    def _unlink(self, name):
        self._changes[above(name)].append({name: None})

    def _rename(self, old, new, inode):
        # Both names change atomically, or neither.
        change = {old: None, new: (inode,)}
        self._changes[above(new)].append(change)

    def _write(self, inode, offset, data):
        self._writes[inode].append((offset, data))

    def _truncate(self, inode, size):
        self._writes[inode].append((size, None))

    def _sync(self, inode):
        self._content[inode] = played(self._content[inode], self._writes.pop(inode, []))

    def _sync_names(self, directory):
        for change in self._changes.pop(directory, []):
            self._names.update(change)

    def cut(self, chance):
        """Return one possible state of files and directories after a power failure."""
        names = dict(self._names)
        for changes in self._changes.values():
            for change in some(changes, chance):
                names.update(change)
        files = {}
        for name, inode in names.items():
            if inode == (None,):
                files[name] = None
            elif inode is not None:
                files[name] = self._after(inode[0], chance)
        return {
            name: content
            for name, content in files.items()
            if all(directory in files for directory in parents(name))
        }

    def _after(self, inode, chance):
        content, writes = self._content[inode], self._writes[inode]
        if not writes:
            return content
        kind = chance.choice(["all", "none", "first", "some", "torn", "torn", "holes"])
        if kind == "all":
            return played(content, writes)
        if kind == "none":
            return content
        if kind == "first":
            return played(content, writes[: chance.randrange(len(writes) + 1)])
        if kind == "some":
            return played(content, some(writes, chance))
        whole = played(content, writes)
        if kind == "torn":
            return whole[: chance.randint(min(len(content), len(whole)), len(whole))]
        return with_holes(content, whole, chance)


def with_holes(old, new, chance):
    """Return `new` with some sectors of `old`; zeros after the end of `old`."""
    old = old.ljust(len(new), b"\0")
    pieces = (
        chance.choice([old, new])[at : at + SECTOR] for at in range(0, len(new), SECTOR)
    )
    return b"".join(pieces)


def some(things, chance):
    """Return all, none, the first, or any of them."""
    kind = chance.choice(["all", "none", "first", "any"])
    if kind == "any":
        return [thing for thing in things if chance.random() < 0.5]
    end = {"all": len(things), "none": 0}.get(kind, chance.randrange(len(things) + 1))
    return things[:end]


def played(content, writes):
    """Return the content of a file after some writes and truncations."""
    content = bytearray(content)
    for offset, data in writes:
        if data is None:
            content = content[:offset].ljust(offset, b"\0")
        else:
            content = content.ljust(offset + len(data), b"\0")
            content[offset : offset + len(data)] = data
    return bytes(content)


def above(name):
    """Return the directory of a file."""
    return Path(name).parent.as_posix()


def parents(name):
    """Return all directories above a file, except the root."""
    return [path.as_posix() for path in Path(name).parents if path != Path()]


def put(root, files):
    """Create files and directories."""
    for name, content in sorted(files.items()):
        path = Path(root) / name
        if content is None:
            path.mkdir(exist_ok=True)
        else:
            path.write_bytes(content)
