"""Processes killed at random moments leave a state that readers and the next run can use.

Every system call is killed by number in `test_writer_calls`, `test_pipeline_calls` and
`test_log_calls`; these kill processes, and between calls too.
"""

import pytest

from tests.fault.killing import kill


@pytest.mark.parametrize("kind", ["keys", "graph"])
def test_a_killed_writer_leaves_an_index_that_is_right(quick_directory, kind):
    kill("kill_indexes.py", quick_directory, kind)


def test_a_killed_writer_leaves_an_index_of_a_set_that_is_right(quick_directory):
    kill("kill_set_indexes.py", quick_directory)


def test_a_killed_writer_leaves_one_whole_set(quick_directory):
    kill("kill_writers.py", quick_directory)


def test_the_run_after_a_killed_one_continues_and_loses_no_row(quick_directory):
    kill("kill_pipelines.py", quick_directory)
