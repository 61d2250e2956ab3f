"""System calls of the log that fail, one at a time."""

import errno
import os

from headrace.store.log.files import System

CALLS = (
    "create",
    "open",
    "pwrite",
    "sync",
    "truncate",
    "rename",
    "unlink",
    "make_directory",
    "sync_directory",
)


class Killed(BaseException):
    """The process is no more: nothing it does from now on happens."""


class FailingSystem(System):
    """Counts calls; the one with the number `at` goes wrong as `fault` says.

    ``error``: it does nothing and fails with `number`. ``half``: a write does half, then
    that. ``short``: a write does half, and says so. ``before`` and ``after``: the process
    ends there; ``within``: in the middle of a write. `lasting`: all later calls of the same
    kind fail too, as on a disk that stays full.
    """

    def __init__(self, at, fault="error", number=errno.ENOSPC, *, lasting=False):
        self.at = at
        self.fault = fault
        self.number = number
        self.lasting = lasting
        self.made = 0
        self.failed = None
        self.log = []

    def call(self, name, *args):
        self.made += 1
        self.log.append(name)
        real = getattr(super(), name)
        if self.failed is not None and self.fault in ("before", "after", "within"):
            raise Killed
        due = self.made == self.at or (self.lasting and self.failed == name)
        if not due:
            return real(*args)
        self.failed = name
        return self._fail(name, real, args)

    def _fail(self, name, real, args):
        if name == "pwrite" and self.fault in ("half", "short", "within"):
            descriptor, data, offset = args
            written = real(descriptor, data[: len(data) // 2], offset)
            if self.fault == "short":
                return written
        elif self.fault == "short":
            return real(*args)
        elif self.fault == "after":
            real(*args)
        if self.fault in ("before", "after", "within"):
            raise Killed
        raise OSError(self.number, os.strerror(self.number))


def _method(name):
    def method(self, *args):
        return self.call(name, *args)

    return method


for _name in CALLS:
    setattr(FailingSystem, _name, _method(_name))
