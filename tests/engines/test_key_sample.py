"""Samples of keys, and the bounds computed from them."""

from itertools import pairwise

from headrace.engines.spark.shuffle.key_sample import KeySampler, bounds, merged
from headrace.kernel.sort_keys import KeyedRows
from tests.reference.keyed_rows import batch_of, code, elements


def sample(numbers, *, at_a_time):
    sampling = KeySampler()
    rows = KeyedRows(code("$"))
    for start in range(0, len(numbers), at_a_time):
        lines = [b"%d" % number for number in numbers[start : start + at_a_time]]
        sampling.add(rows.of(batch_of(*lines)))
    return sampling.sample()


def test_a_sample_has_every_nth_key_for_any_batch_size():
    numbers = range(5000)
    keys = [
        element.key
        for element in elements(
            KeyedRows(code("$")).of(batch_of(*(b"%d" % number for number in numbers)))
        )
    ]
    for at_a_time in (5000, 1000, 77):
        assert sample(numbers, at_a_time=at_a_time) == (32, keys[::32])
    assert sample(range(200), at_a_time=50) == (1, keys[:200])


def test_each_key_of_merged_samples_has_the_same_weight():
    few, many = sample(range(100), at_a_time=9), sample(range(5000), at_a_time=999)
    assert merged([few, many]) == few.keys[::32] + many.keys
    assert merged([]) == []


def test_bounds_divide_evenly_and_rise():
    keys = [b"%05d" % (number * 7919 % 1000) for number in range(1000)]
    found = bounds(keys, 4)
    assert found == [b"00250", b"00500", b"00750"]
    assert bounds(reversed(keys), 4) == found
    assert bounds([b"a"] * 50 + [b"b"], 8) == []
    assert bounds([b"a"] * 5 + [b"b"] * 5, 8) == [b"b"]
    assert bounds([], 8) == []
    (long,) = bounds([b"a", b"x" * 10_000], 2)
    assert long == b"x" * 256
    assert all(low < high for low, high in pairwise(bounds(keys, 300)))
