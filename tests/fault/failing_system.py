"""System calls that fail, are cut short, or end the process, one at a time by number."""

import errno
import gc
import os
import sys
import traceback
import warnings
from contextlib import contextmanager
from pathlib import Path

from headrace.store.files import system
from headrace.store.files.system import System

CALLS = tuple(name for name in vars(System) if not name.startswith("_"))
WRITES = ("write", "pwrite")
OF_WRITES = ("half", "short", "within")
"""The faults that only a write can have."""
LISTS = ("list_directory",)
ENDS = ("before", "within")
"""The faults that end the process; ending after a call is ending before the next."""


ERRNOS = {
    **dict.fromkeys(("open", "rename", "unlink", "list_directory"), errno.EACCES),
    **dict.fromkeys(("remove_directory", "remove_tree"), errno.EACCES),
    **dict.fromkeys(("sync", "sync_data", "sync_directory", "truncate"), errno.EIO),
}
"""The error of a call; others report a full disk."""


class Killed(BaseException):
    """The process has ended: none of its later calls happens."""


class FailingSystem(System):
    """Counts the calls that can have a fault; the one with the number `at` has it.

    ``error``: the call does nothing and fails with `number` [default: an error that fits
    it]. ``before``: the process ends there; this counts calls that change something. The
    others count writes only. ``half``: the call writes half, then fails. ``short``: it
    writes half, and reports that. ``within``: the process ends in the middle. `lasting`:
    all later calls of the same kind fail too, as on a disk that stays full.
    """

    def __init__(self, at, fault="error", number=None, *, lasting=False):
        self.at = at
        self.fault = fault
        self.number = number
        self.lasting = lasting
        self.made = 0
        self.failed = None
        self.log = []

    def call(self, name, *args):
        self.log.append(name)
        real = getattr(super(), name)
        if self.failed is not None and self.fault in ENDS:
            raise Killed
        due = self.lasting and self.failed == name
        if can_have(name, self.fault):
            self.made += 1
            due = due or self.made == self.at
        if not due:
            return real(*args)
        self.failed = name
        return self._fail(real, args)

    def _fail(self, real, args):
        if self.fault in OF_WRITES:
            descriptor, data, *offset = args
            # At least one byte: a caller repeats a write of none for ever.
            written = real(descriptor, data[: -(-len(data) // 2)], *offset)
            if self.fault == "short":
                return written
        if self.fault in ENDS:
            raise Killed
        # Like the operating system, which has no name for a descriptor.
        names = [str(each) for each in args if isinstance(each, Path)]
        number = self.number or ERRNOS.get(self.failed, errno.ENOSPC)
        raise OSError(number, os.strerror(number), *names[:1])


def can_have(name, fault):
    """Whether a call can have a fault that no other call stands for."""
    if fault in OF_WRITES:
        return name in WRITES
    return fault not in ENDS or name not in LISTS


def _method(name):
    def method(self, *args):
        return self.call(name, *args)

    return method


for _name in CALLS:
    setattr(FailingSystem, _name, _method(_name))


@contextmanager
def using(calls):
    """Replace the system calls of all writers."""
    before, system.calls = system.calls, calls
    try:
        yield calls
    finally:
        system.calls = before


def forget_frames(error):
    """Clear the frames of an error, and of the errors before it."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__


@contextmanager
def dying(calls):
    """Replace the system calls by some that may end the process, and simulate its end.

    The objects of a killed writer are collected while the system still refuses all calls,
    so that no destructor cleans up.
    """

    def report(unraisable, usual=sys.unraisablehook):
        if unraisable.exc_type is not Killed:
            usual(unraisable)

    before, sys.unraisablehook = sys.unraisablehook, report
    gc.freeze()  # the collection below looks at new objects only
    try:
        with using(calls), warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            try:
                yield calls
            except Killed as death:
                forget_frames(death)
            if calls.failed is not None and calls.fault in ENDS:
                gc.collect()
    finally:
        gc.unfreeze()
        sys.unraisablehook = before
