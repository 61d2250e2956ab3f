"""What a `with` closes at its end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """Something that is open until it is closed; a `with` does so."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what it has; again, this does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
