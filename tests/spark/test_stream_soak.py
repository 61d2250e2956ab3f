"""A short soak: a query that is killed and restarted loses and repeats no row.

The long one is ``python -m tests.fault.stream_soak 10 1``, on a cluster.
"""

import re
import sys

import pytest

from tests.fault.stream_soak import soak

pytestmark = [
    pytest.mark.spark,
    pytest.mark.sweep,
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
]


def test_a_query_that_is_killed_again_and_again():
    said = soak(0.1, 1, "local")
    assert re.search(r"each once and in order; killed: driver \d+, worker \d+;", said)
