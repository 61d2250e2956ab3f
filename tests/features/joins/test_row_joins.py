"""A join by an index, a join in memory and two loops over texts give the same bytes."""

import warnings

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import headrace
from headrace.engines.index.kinds import KeyBuild
from headrace.engines.local.index_build import build
from headrace.errors import HeadraceWarning
from headrace.physical import joins
from headrace.store.index.subject import one_source
from tests.reference import slow_row_joins

KEYS = [
    "1",
    "1.0",
    "10e-1",
    '"1"',
    '"007"',
    "7",
    "9007199254740993",
    "9007199254740992",
    '"a"',
    '"\\u0061"',
    '"\\ud83d\\ude00"',
    '"😀"',
    "true",
    '"true"',
    '""',
    "null",
    "[1]",
    '{"k":1}',
]
VALUES = ["1.50", '"x, \\"y\\": }"', '[1, {"k": 2}]', "{ }", "null", "1E2", '"é"']
NAMES = ['"k"', '"l"', '"n"', '"\\u006e"', '"m"', '"t"', '"é"', '"a\\"b"']
SPACE = st.sampled_from(["", "", "", " ", "\t "])
MEMBER = st.tuples(
    st.sampled_from(NAMES), SPACE, SPACE, st.sampled_from([*KEYS, *VALUES]), SPACE
)
NO_ROWS = ["", " ", "{}", " { } ", "[1]", "7", "null", '{"k":01}', '{"k"', '{"k":1}}']


def _object(parts):
    first, key, others, last = parts
    texts = [
        f"{name}{one}:{two}{value}{three}" for name, one, two, value, three in others
    ]
    keyed = [f'"k":{key[0]}', f'"l":{key[1]}'] if key else []
    return f"{first}{{{last}{','.join([*keyed, *texts])}}}{last}"


ROW = st.tuples(
    SPACE,
    st.none() | st.tuples(st.sampled_from(KEYS), st.sampled_from(KEYS)),
    st.lists(MEMBER, max_size=4),
    SPACE,
).map(_object)
LINES = st.lists(ROW | ROW | ROW | st.sampled_from(NO_ROWS), max_size=15)
ON = st.sampled_from(
    [(["k"], ["k"]), (["k"], ["l"]), (["k", "l"], ["k", "l"]), (["k", "l"], ["l", "k"])]
)
# No row has these fields: the join refuses to overwrite one.
FIELD = st.sampled_from(["T", "u", "ö", 'ö"x'])
FORM = st.fixed_dictionaries(
    {},
    optional={
        "how": st.just("left"),
        "target": FIELD,
        "pick": st.lists(st.sampled_from(["k", "l", "n", "m", "é"]), max_size=3),
        "prefix": st.sampled_from(["r_", '"\n', "n"]),
        "indicator": FIELD,
        "text_keys": st.booleans(),
    },
).filter(
    lambda form: form.get("target") != form.get("indicator") or not form.get("target")
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("joins")


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch):
    monkeypatch.setattr(joins, "SMALL_BYTES", -1)


def written(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def joined(left, right, on, form, *, strategy, **options):
    """Join two files, and check the counts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadraceWarning)
        result = headrace.open(left).join(
            right,
            left_on=on[0],
            right_on=on[1],
            on_error="skip",
            **form,
            **options,
        )
        assert result.plan.strategy == strategy
        lines = b"".join(result.lines()).split(b"\n")[:-1]
    counts = result.stats.counts
    assert counts.rows == (
        counts.emitted + counts.filtered + counts.skipped + counts.blank
    )
    assert counts.lines == len(lines)
    assert counts.hits <= counts.lookups
    assert (result.stats.mode == "hash") == (strategy == "hash")
    return lines, result.stats


def expected(left, right, on, form):
    how = dict(form)
    how["inner"] = how.pop("how", "inner") == "inner"
    how["typed"] = not how.pop("text_keys", False)
    return slow_row_joins.join(
        [line.encode() for line in left], [line.encode() for line in right], *on, **how
    )


@given(left=LINES, right=LINES, on=ON, form=FORM, version=st.sampled_from([1, 2]))
@example(
    left=['{"k":1,"n":0}'],
    right=['{"k":1,"n":1}', '{"k":1.0,"m":2}', '{"k":"1","n":3}'],
    on=(["k"], ["k"]),
    form={},
    version=2,
)
def test_all_strategies_give_the_same_rows(directory, left, right, on, form, version):
    left_file = written(directory / "left.jsonl", left)
    right_file = written(directory / "right.jsonl", right)
    index = directory / "right.jnx"
    build(one_source(right_file), index, KeyBuild(tuple(on[1]), version=version))
    rows, bad = expected(left, right, on, form)
    for strategy, wanted in (("hash", False), ("index", index)):
        lines, stats = joined(
            left_file, right_file, on, form, strategy=strategy, index=wanted
        )
        assert lines == rows, strategy
        assert stats.bad == stats.counts.skipped == bad


@given(
    left=LINES,
    right=LINES,
    more=st.lists(LINES, min_size=1, max_size=2),
    on=ON,
    form=FORM,
    version=st.sampled_from([1, 2]),
    torn=st.sampled_from(["", '{"k":', '{"k":1}']),
    updates=st.booleans(),
)
def test_rows_that_came_later_are_joined(
    directory, left, right, more, on, form, version, torn, updates
):
    left_file = written(directory / "left.jsonl", left)
    right_file = written(directory / "right.jsonl", right)
    with right_file.open("a") as file:
        file.write(torn)
    index = directory / "right.jnx"
    # The delta of an earlier index may be beside it.
    headrace.KeyIndex.build(
        right_file, on[1], index_version=version, index=index, force=True
    )
    lines = [*right, torn]
    for last, added in enumerate(more, start=1):
        first = "9}" if lines[-1] == '{"k":' else ""
        with right_file.open("a") as file:
            file.write("".join(f"{line}\n" for line in [first, *added]))
        lines[-1] += first
        lines += [*added, ""]
        if updates and last < len(more):
            headrace.KeyIndex.update(right_file, on[1], index=index)
    rows, _bad = expected(left, lines, on, form)
    found, _stats = joined(
        left_file, right_file, on, form, strategy="index", index=index
    )
    assert found == rows


@given(
    left=LINES,
    right=LINES,
    form=FORM,
    version=st.sampled_from([1, 2]),
    damage=st.integers(0, 10_000),
    bit=st.integers(0, 7),
)
def test_a_damaged_index_never_changes_a_row(
    directory, left, right, form, version, damage, bit
):
    left_file = written(directory / "left.jsonl", left)
    right_file = written(directory / "right.jsonl", right)
    index = directory / "right.jnx"
    build(one_source(right_file), index, KeyBuild(("k",), version=version))
    content = bytearray(index.read_bytes())
    content[damage % len(content)] ^= 1 << bit
    index.write_bytes(content)
    on = (["k"], ["k"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadraceWarning)
        result = headrace.open(left_file).join(
            right_file, "k", index=index, on_error="skip", **form
        )
        lines = b"".join(result.lines()).split(b"\n")[:-1]
    assert lines == expected(left, right, on, form)[0]
