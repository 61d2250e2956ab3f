"""A writer that is killed at any moment leaves one whole set, the old or the new."""

from tests.fault.killing import killed


def test_a_killed_writer_leaves_one_whole_set(quick_directory):
    kills, unfinished, advanced = killed("kill_writers.py", quick_directory, 80)
    # Otherwise the moments were not those that matter.
    assert unfinished > kills / 4
    assert advanced > kills / 10
