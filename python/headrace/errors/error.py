"""The base of every exception, and bases that several exceptions share."""

from __future__ import annotations

from typing import ClassVar, dataclass_transform

_PACKAGE = "headrace.errors"
"""Where programs, tracebacks and pickles find the exceptions."""


@dataclass_transform(eq_default=False)
class HeadraceError(Exception):
    """The base of all of them.

    A class lists its fields as annotations, as a dataclass does. All of them go to
    ``Exception.__init__``, and the text is made of them when it is needed, so that an error
    survives pickling from a Spark executor to the driver. `WHAT` and `ADVICE` are templates
    that are filled with the fields.
    """

    __module__ = _PACKAGE

    FIELDS: ClassVar[tuple[str, ...]] = ()
    WHAT: ClassVar[str] = "{reason}"
    ADVICE: ClassVar[str] = ""

    has_lines: ClassVar[bool] = False
    """Whether the text has line breaks that must be kept."""

    def __init_subclass__(cls) -> None:
        own = [
            name for name, kind in cls.__annotations__.items() if "ClassVar" not in kind
        ]
        cls.FIELDS = tuple(dict.fromkeys([*cls.FIELDS, *own]))
        if cls.__module__.startswith(_PACKAGE):
            cls.__module__ = _PACKAGE

    def __init__(self, *values: object, **named: object) -> None:
        facts = {
            name: getattr(type(self), name)
            for name in self.FIELDS
            if hasattr(type(self), name)
        }
        facts |= dict(zip(self.FIELDS, values, strict=False)) | named
        if len(values) > len(self.FIELDS) or facts.keys() != set(self.FIELDS):
            raise TypeError(
                f"{type(self).__name__} has fields {', '.join(self.FIELDS)}"
            )
        super().__init__(*(facts[name] for name in self.FIELDS))
        for name in self.FIELDS:
            setattr(self, name, facts[name])

    @property
    def what(self) -> str:
        """What happened and where, without what to do about it."""
        return self.WHAT.format_map(vars(self))

    @property
    def advice(self) -> str:
        """What to do about it."""
        return self.ADVICE.format_map(vars(self))

    def __str__(self) -> str:
        return "; ".join(filter(None, (self.what, self.advice)))


class UsageError(HeadraceError):
    """The call itself is wrong; nothing was read."""

    reason: str


class PathError(HeadraceError):
    """Something is wrong with a file or directory."""

    WHAT = "{path}: {reason}"

    path: str
    reason: str


class ByteError(HeadraceError):
    """Something is wrong at a byte of a file."""

    WHAT = "{path}: {reason} (byte {offset})"

    path: str
    offset: int
    reason: str


class LockedError(HeadraceError):
    """Another process, the holder, has the lock."""

    WHAT = "{path}: {holder} has the lock"

    path: str
    holder: str


class HeadraceWarning(UserWarning):
    """Something the user should know, which does not stop the work."""

    __module__ = _PACKAGE


class MemoryWarning(HeadraceWarning):
    """A query holds most of the memory it may use."""

    __module__ = _PACKAGE
