"""A writer of an index that is killed at any moment leaves one that gives right answers."""

import pytest

from tests.fault.killing import killed


@pytest.mark.parametrize("kind", ["keys", "graph"])
def test_a_killed_writer_leaves_an_index_that_is_right(quick_directory, kind):
    kills, unfinished, deltas = killed("kill_indexes.py", quick_directory, 80, kind)
    # Otherwise the moments were not those that matter.
    assert unfinished > kills / 10
    assert deltas > kills / 50
