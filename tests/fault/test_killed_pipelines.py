"""A run of a pipeline that is killed at any moment is gone on with, and no row is lost."""

from tests.fault.killing import killed


def test_a_killed_run_is_gone_on_with(quick_directory):
    kills, ended = killed("kill_pipelines.py", quick_directory, 40)
    # Otherwise the moments were not those that matter.
    assert kills / 10 < ended < kills * 9 / 10
