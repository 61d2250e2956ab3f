"""A writer of a set's index that is killed at any moment leaves one that gives right answers."""

from tests.fault.killing import killed


def test_a_killed_writer_leaves_an_index_that_is_right(quick_directory):
    kills, unfinished, deltas = killed("kill_set_indexes.py", quick_directory, 40)
    # Otherwise the moments were not those that matter.
    assert unfinished > kills / 20
    assert deltas > kills / 60
