"""Every exception that headrace raises on purpose; this package has no other public names.

Each says where, what, and what to do.
"""

from headrace.errors.cluster import *  # noqa: F403
from headrace.errors.data import *  # noqa: F403
from headrace.errors.error import *  # noqa: F403
from headrace.errors.index import *  # noqa: F403
from headrace.errors.log import *  # noqa: F403
