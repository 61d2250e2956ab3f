"""Records behave like the dataclasses that they replace."""

import copy
import dataclasses
import pickle
from typing import ClassVar

import pytest

from headrace.record import field, mutable_record, record, replace


@record
class Base:
    place: int = field(default=0, compare=False, repr=False, kw_only=True)


@record
class Edge(Base):
    to: str
    weight: float = 1.0
    notes: list[str] = field(default_factory=list)
    most: ClassVar[int] = 3


@dataclasses.dataclass(frozen=True, slots=True)
class PlainBase:
    place: int = dataclasses.field(default=0, compare=False, repr=False, kw_only=True)


@dataclasses.dataclass(frozen=True, slots=True)
class PlainEdge(PlainBase):
    to: str
    weight: float = 1.0
    notes: list[str] = dataclasses.field(default_factory=list)
    most: ClassVar[int] = 3


@mutable_record
class Run:
    rows: int
    stage: str = field(init=False)
    seen: int = 0


@record
class Other(Base):
    to: str
    weight: float = 1.0
    notes: list[str] = field(default_factory=list)


CALLS = [
    (("a",), {}),
    (("a", 2.0), {"place": 7}),
    ((), {"to": "b", "notes": ["n"]}),
    (("a", float("nan"), []), {}),
]


@pytest.mark.parametrize(("args", "given"), CALLS)
def test_a_record_behaves_like_the_dataclass_of_its_fields(args, given):
    ours, plain = Edge(*args, **given), PlainEdge(*args, **given)
    assert repr(ours) == repr(plain).replace("PlainEdge", "Edge")
    for name in ("place", "to", "weight", "notes"):
        assert repr(getattr(ours, name)) == repr(getattr(plain, name))
    assert Edge.__match_args__ == PlainEdge.__match_args__
    assert [each.name for each in dataclasses.fields(ours)] == [
        each.name for each in dataclasses.fields(plain)
    ]
    assert (ours == Edge(*args, **given)) == (plain == PlainEdge(*args, **given))


@pytest.mark.parametrize(
    ("args", "given"),
    [
        ((), {}),
        (("a", 1.0, [], 4), {}),
        (("a",), {"to": "b"}),
        (("a",), {"unknown": 1}),
        ((), {"place": 1}),
    ],
)
def test_a_wrong_call_is_a_type_error_as_of_a_dataclass(args, given):
    with pytest.raises(TypeError):
        PlainEdge(*args, **given)
    with pytest.raises(TypeError, match=r"Edge\(\)"):
        Edge(*args, **given)


def test_fields_that_are_not_compared_do_not_matter():
    assert Edge("a", notes=(), place=1) == Edge("a", notes=(), place=2)
    assert hash(Edge("a", notes=(), place=1)) == hash(Edge("a", notes=(), place=2))
    assert Edge("a") != Other("a")
    assert Edge("a") != Edge("b")
    assert Edge("a") != ("a", 1.0, [])


def test_a_record_is_frozen_and_has_slots():
    edge = Edge("a")
    with pytest.raises(dataclasses.FrozenInstanceError, match="'to'"):
        edge.to = "b"
    with pytest.raises(dataclasses.FrozenInstanceError):
        del edge.to
    assert not hasattr(edge, "__dict__")
    assert Edge.most == 3


def test_replacing_and_copying():
    edge = Edge("a", 2.0, ["n"], place=5)
    for change in (replace, dataclasses.replace):
        changed = change(edge, to="b")
        assert (changed.to, changed.weight, changed.place) == ("b", 2.0, 5)
    for same in (
        copy.copy(edge),
        copy.deepcopy(edge),
        pickle.loads(pickle.dumps(edge)),
    ):
        assert same == edge
        assert same.place == 5
    assert dataclasses.asdict(edge) == dataclasses.asdict(
        PlainEdge("a", 2.0, ["n"], place=5)
    )


def test_each_record_has_its_own_default_list():
    one, other = Edge("a"), Edge("a")
    one.notes.append("n")
    assert other.notes == []


def test_patterns():
    match Edge("a", 2.0):
        case Edge(to, weight):
            assert (to, weight) == ("a", 2.0)
        case _:
            pytest.fail("no match")


def test_a_mutable_record():
    run = Run(3)
    run.rows += 1
    run.stage = "scan"
    assert (run.rows, run.stage, run.seen) == (4, "scan", 0)
    with pytest.raises(TypeError):
        hash(run)
    with pytest.raises(TypeError):
        Run(1, stage="scan")
    with pytest.raises(AttributeError):
        run.other = 1
