"""Missing PySpark: an error that names the extra to install."""

from collections.abc import Iterator
from contextlib import contextmanager

from headrace.errors import MissingExtraError


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
