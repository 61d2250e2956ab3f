"""Resolution: from the tree of a query to the tree that is planned and compiled.

Both have the same meaning. In the second, arguments are in the order of their parameters, and
lambdas capture values explicitly. Planning, demand and compilation use the second one only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.language.bindings import UNBOUND
from headrace.language.parser import parse
from headrace.logical.encode.arguments import in_order
from headrace.logical.names.outer_names import with_outer_names

if TYPE_CHECKING:
    from headrace.language.ast import Node
    from headrace.language.bindings import Bindings


def read_query(query: str, bindings: Bindings = UNBOUND) -> Node:
    """Return the tree of a query, to plan and compile it.

    >>> from headrace.language.unparse import unparse
    >>> unparse(read_query("s.replace(with: '-', part: ' ') where s"))
    's.replace(" ", "-") if s else null'
    """
    return with_outer_names(in_order(query, parse(query, bindings=bindings)))
