"""A choice between strategies, with the reason that ``--explain`` prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

S = TypeVar("S", bound=str)


# No slots: `Choice[Strategy](...)` would set an attribute of a generic class and fail.
@dataclass(frozen=True)
class Choice(Generic[S]):
    """The strategy, and why it was chosen."""

    strategy: S
    reason: str
