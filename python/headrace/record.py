"""Records: classes of named fields that cost little to define.

A dataclass writes and compiles six methods for each class, and the start of a command defines a
hundred classes. Records share their methods. Otherwise a record is a dataclass with slots, and
`dataclasses.replace` and `fields`, patterns and pickles take it for one.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")

_MISSING: Any = object()


class _Field(SimpleNamespace):
    """What `field` says about a field."""


def field(
    *,
    default: Any = _MISSING,  # noqa: ANN401
    default_factory: Any = None,  # noqa: ANN401
    init: bool = True,
    compare: bool = True,
    repr: bool = True,  # noqa: A002, as `dataclasses.field`
    kw_only: bool = False,
) -> Any:  # noqa: ANN401
    """Describe a field, as `dataclasses.field` does."""
    return _Field(
        name="",
        default=default,
        factory=default_factory,
        init=init,
        compare=compare,
        repr=repr,
        kw_only=kw_only,
    )


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """Make a class a frozen record.

    >>> @record
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(x=1, y=0), replace(Point(1), y=2)
    (Point(x=1, y=0), True, Point(x=1, y=2))
    """
    return _made(cls, _FROZEN)


@dataclass_transform(field_specifiers=(field,))
def mutable_record(cls: type[T]) -> type[T]:
    """Make a class a record whose fields can be assigned; it has no hash."""
    return _made(cls, _MUTABLE)


def replace(value: T, /, **changes: Any) -> T:  # noqa: ANN401
    """Return a record with some fields changed."""
    given = {each.name: getattr(value, each.name) for each in _fields(value)}
    return type(value)(**(given | changes))


def field_names(value: object) -> list[str]:
    """Return the names of all fields of a record."""
    return [each.name for each in _fields(value)]


def _fields(value: Any) -> tuple[_Field, ...]:  # noqa: ANN401
    fields: tuple[_Field, ...] = type(value).__record_fields__
    return fields


def _made(cls: type[T], methods: dict[str, Any]) -> type[T]:
    namespace = dict(cls.__dict__)
    inherited: dict[str, _Field] = {}
    for base in cls.__mro__[:0:-1]:
        for each in base.__dict__.get("__record_fields__", ()):
            inherited[each.name] = each
    own = {
        name: _described(name, namespace.pop(name, _MISSING))
        for name, kind in namespace.get("__annotations__", {}).items()
        if not str(kind).partition("[")[0].endswith("ClassVar")
    }
    fields = tuple((inherited | own).values())
    positional = tuple(each.name for each in fields if each.init and not each.kw_only)
    for name in ("__dict__", "__weakref__"):
        namespace.pop(name, None)
    for name, method in methods.items():
        namespace.setdefault(name, method)
    if "__init__" not in cls.__dict__:
        namespace["__init__"] = _init_of(fields, positional)
    if methods is _MUTABLE:
        namespace["__hash__"] = None
    namespace["__slots__"] = tuple(name for name in own if name not in inherited)
    namespace["__record_fields__"] = fields
    namespace["__match_args__"] = positional
    namespace["__dataclass_fields__"] = _DataclassFields()
    kind: Any = type(cls)
    made: type[T] = kind(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    return made


def _described(name: str, given: Any) -> _Field:  # noqa: ANN401
    described = given if isinstance(given, _Field) else field(default=given)
    described.name = name
    return described


def _init_of(fields: tuple[_Field, ...], positional: tuple[str, ...]) -> Any:  # noqa: ANN401
    ordered = sorted(fields, key=lambda each: (not each.init, each.kw_only))
    put = object.__setattr__

    def __init__(self: Any, *args: Any, **given: Any) -> None:  # noqa: ANN401, N807
        if len(args) > len(positional):
            most = len(positional)
            raise TypeError(_call(self, f"takes {most} arguments, not {len(args)}"))
        for name, value in zip(positional, args, strict=False):
            put(self, name, value)
        taken = 0
        for each in ordered[len(args) :]:
            if each.init and each.name in given:
                value = given[each.name]
                taken += 1
            elif each.factory is not None:
                value = each.factory()
            else:
                value = each.default
                if value is _MISSING:
                    if not each.init:
                        continue
                    raise TypeError(_call(self, f"needs the argument {each.name!r}"))
            put(self, each.name, value)
        if taken < len(given):
            known = set(positional[len(args) :]) | {
                f.name for f in ordered if f.kw_only
            }
            surplus = next(name for name in given if name not in known)
            raise TypeError(_call(self, f"got an unexpected argument {surplus!r}"))

    return __init__


def _call(value: object, what: str) -> str:
    return f"{type(value).__qualname__}() {what}"


class _DataclassFields:
    """The fields for `dataclasses`, made when a caller first needs them."""

    def __get__(self, _value: object, owner: Any) -> object:  # noqa: ANN401
        import dataclasses

        described = []
        for each in owner.__record_fields__:
            options: dict[str, Any] = {
                name: getattr(each, name)
                for name in ("init", "compare", "repr", "kw_only")
            }
            if each.factory is not None:
                options["default_factory"] = each.factory
            elif each.default is not _MISSING:
                options["default"] = each.default
            described.append((each.name, Any, dataclasses.field(**options)))
        made: Any = dataclasses.make_dataclass(owner.__name__, described)
        owner.__dataclass_fields__ = made.__dataclass_fields__
        return made.__dataclass_fields__


def _compared(value: Any) -> tuple[object, ...]:  # noqa: ANN401
    fields = _fields(value)
    return tuple(getattr(value, each.name) for each in fields if each.compare)


def _eq(self: Any, other: object) -> Any:  # noqa: ANN401
    if other.__class__ is not self.__class__:
        return NotImplemented
    return _compared(self) == _compared(other)


def _hash(self: Any) -> int:  # noqa: ANN401
    return hash(_compared(self))


def _repr(self: Any) -> str:  # noqa: ANN401
    shown = (
        f"{each.name}={getattr(self, each.name)!r}"
        for each in _fields(self)
        if each.repr
    )
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_assignment(_self: object, name: str, _value: object = None) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _getstate(self: Any) -> list[object]:  # noqa: ANN401
    return [getattr(self, each.name) for each in _fields(self)]


def _setstate(self: Any, state: list[object]) -> None:  # noqa: ANN401
    for each, value in zip(_fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


_MUTABLE: dict[str, Any] = {
    "__eq__": _eq,
    "__repr__": _repr,
    "__getstate__": _getstate,
    "__setstate__": _setstate,
}

_FROZEN = _MUTABLE | {
    "__hash__": _hash,
    "__setattr__": _refuse_assignment,
    "__delattr__": _refuse_assignment,
}
