"""Missing PySpark: an error that names the extra to install."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from headrace.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def needing_pyspark() -> Iterator[None]:
    """Raise `MissingExtraError` if an import in the block misses PySpark or Arrow."""
    try:
        import pyarrow  # noqa: F401

        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in {"pyspark", "pyarrow", "py4j"}:
            raise
        raise MissingExtraError("spark", package) from error
