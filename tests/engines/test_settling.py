"""The garbage collector in processes that run one task after the other."""

import subprocess
import sys

PROGRAM = """
import gc
import pickle
from headrace.engines.spark.session.version_guard import SameVersion

sent = pickle.dumps(SameVersion())
for _ in range(4):
    pickle.loads(sent)
    print(gc.get_freeze_count() > 0)
"""


def test_objects_loaded_by_the_first_task_are_frozen():
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["False", "True", "True", "True"]
