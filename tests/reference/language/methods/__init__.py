"""The methods of the core subset, by name.

Each takes its receiver and its `Arguments`. Only those in `streams` get values that
are not computed yet.
"""

from __future__ import annotations

from tests.reference.language.methods.aggregates import AGGREGATES
from tests.reference.language.methods.conversion import CONVERSION
from tests.reference.language.methods.grouping import GROUPING
from tests.reference.language.methods.membership import MEMBERSHIP
from tests.reference.language.methods.objects import OBJECTS
from tests.reference.language.methods.plain_writes import PLAIN_WRITES
from tests.reference.language.methods.reducers import REDUCERS
from tests.reference.language.methods.streams import STREAMS, settled
from tests.reference.language.methods.texts import TEXTS
from tests.reference.language.methods.times import TIMES


def _on_values(method):
    """Compute the receiver before a method."""
    return lambda receiver, arguments: method(settled(receiver), arguments)


METHODS = {
    **STREAMS,
    **REDUCERS,
    **{
        name: _on_values(method)
        for table in (
            AGGREGATES,
            GROUPING,
            MEMBERSHIP,
            OBJECTS,
            TEXTS,
            TIMES,
            CONVERSION,
            PLAIN_WRITES,
        )
        for name, method in table.items()
    },
}
