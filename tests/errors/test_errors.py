"""Errors: their messages are complete, and they survive pickling from an executor."""

import pickle

import pytest

import headrace.errors
from headrace.errors import BadRowError, GraphIndexError, HeadraceError, KeyIndexError
from headrace.store.index.set.manifest import BadManifestError

EVERY = [
    kind
    for kind in (getattr(headrace.errors, name) for name in dir(headrace.errors))
    if isinstance(kind, type) and issubclass(kind, HeadraceError)
]
SAMPLES = {"str": "x", "int": 2, "int | None": 3, "range | None": range(4, 5)}


def _sample(kind):
    types = {}
    for each in reversed(kind.__mro__):
        types |= vars(each).get("__annotations__", {})
    if kind is headrace.errors.LineGivenUpError:
        return kind("x", 2, 3)
    return kind(*(SAMPLES[types[name]] for name in kind.FIELDS))


def test_there_are_errors():
    assert len(EVERY) > 60


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'NoSuchError'"):
        _ = headrace.errors.NoSuchError


@pytest.mark.parametrize("kind", EVERY)
def test_an_error_survives_pickling(kind):
    error = HeadraceError() if kind is HeadraceError else _sample(kind)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert again.args == error.args
    assert vars(again) == vars(error)


@pytest.mark.parametrize("kind", [kind for kind in EVERY if kind is not HeadraceError])
def test_a_message_says_what_happened_and_then_what_to_do(kind):
    error = _sample(kind)
    assert str(error).startswith(error.what)
    assert "{" not in str(error)


def test_fields_are_given_by_place_or_by_name():
    error = BadRowError("a", 1, offset=2, reason="bad")
    assert error.args == ("a", 1, 2, "bad")
    assert (error.path, error.line, error.offset, error.reason) == error.args
    assert BadManifestError("wrong").newer is False
    assert BadManifestError("wrong", newer=True).args == ("wrong", True)


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), (("a", 1, 2), {}), (("a", 1, 2, "bad", 5), {}), (("a",), {"lime": 1})],
)
def test_other_fields_are_refused(values, named):
    with pytest.raises(TypeError, match="BadRowError has fields path, line, offset"):
        BadRowError(*values, **named)


def test_an_index_error_names_the_build_command():
    assert KeyIndexError("a", "b", "stale", "c").build == "--on KEY"
    assert GraphIndexError("a", "b", "stale", "c").build.startswith("--graph")
    assert KeyIndexError("a", "b", "stale", "c", "--on id").build == "--on id"


def test_errors_are_known_by_their_package():
    assert {kind.__module__ for kind in EVERY} == {"headrace.errors"}
